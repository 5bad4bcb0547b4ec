import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import type { Operation } from '#src/http/operation.ts';
import { REFUSALS } from '#src/http/refusals.ts';
import { sectionOf } from '#src/reference/api-sections.ts';
import { documentPath } from '#src/reference/describe-operation.ts';
import { webhookMessages } from '#src/webhook-messages.ts';
import { EVENT_TYPE_NAMES } from '#src/webhooks/record-event.ts';
import { readContract, type SentAnswer } from '#test/harness/api-document.ts';
import { visitor } from '#test/harness/elections.ts';
import { listOperations } from '#test/harness/operations.ts';
import { useService } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const service = await useService();
const contract = await readContract(service.port);
const routes = listOperations(service.deps);

const operationOf = (route: Operation) =>
  contract.document.paths[documentPath(route.path)]?.[route.method.toLowerCase()];

/** Statuses of answers that have no body by their nature. */
const BARE = new Set(['204', '302', '303', '304']);

describe('the API document', () => {
  test('describes every route, with what it answers when all is well, in a section of the reference', () => {
    const missing = routes.flatMap((route) => {
      const good = Object.entries(route.answers).filter(([status]) => Number(status) < 400);
      const bare = good.some(
        ([status, shape]) => shape?.schema === undefined && shape?.contentType === undefined && !BARE.has(status),
      );
      const faults = [
        operationOf(route)?.operationId === route.operationId ? [] : ['is not in the document'],
        good.length > 0 && !bare ? [] : ['lacks an answer shape'],
        sectionOf(route.path) === undefined ? ['belongs to no section: see src/reference/api-sections.ts'] : [],
        route.bodyFor !== undefined && route.body === undefined && route.bodies === undefined ? ['lacks bodies'] : [],
        route.body !== undefined && route.example === undefined ? ['lacks an example'] : [],
      ].flat();
      return faults.map((fault) => `${route.operationId} ${fault}`);
    });
    expect(missing).toEqual([]);
  });

  test('gives every operation a name of its own', () => {
    const names = routes.map((route) => route.operationId);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test('calls no schema what generators of clients call a part of an operation', () => {
    const parts = /(?:Body|Request|Responses?|Params|Data|Errors?|Headers|Query|Variables|Options)$/;
    const operations = new Set(routes.map(({ operationId }) => operationId.toLowerCase()));
    const clashes = Object.keys(contract.document.components.schemas).filter(
      (name) => /Body$/.test(name) || operations.has(name.replace(parts, '').toLowerCase()),
    );
    expect(clashes).toEqual([]);
  });

  test('says the scope that the key of each operation needs', () => {
    for (const route of routes) {
      const operation = operationOf(route) as unknown as { security: unknown; 'x-required-scope'?: unknown };
      const scopes = route.scope === 'any' || route.scope === 'none' ? [] : [route.scope].flat();
      expect([route.operationId, [operation['x-required-scope'] ?? []].flat()]).toEqual([route.operationId, scopes]);
      expect(Array.isArray(operation.security) && operation.security.length > 0).toBe(route.scope !== 'none');
    }
  });

  test('has an example for every body, and each one passes the schema that requests are held to', () => {
    const wrong = routes.flatMap((route) => {
      const examples: [string, unknown][] = [
        ...(route.body === undefined ? [] : [[route.operationId, route.example] as [string, unknown]]),
        ...Object.entries(route.bodies ?? {}).map(([name, { example }]): [string, unknown] => [name, example]),
      ];
      return examples.flatMap(([name, example]) => {
        const schema = route.body ?? route.bodies?.[name]?.schema;
        const parsed = schema?.safeParse(example);
        const fault = contract.requestFault(documentPath(route.path), route.method, example);
        return parsed?.success === true && fault === undefined ? [] : [`${name}: ${fault ?? parsed?.error?.message}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  test('has an example for every answer with a body, and each one fits its schema', () => {
    const wrong: string[] = [];
    for (const [path, methods] of Object.entries(contract.document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        for (const [status, answer] of Object.entries(operation.responses)) {
          if ('$ref' in answer) continue;
          const content = answer.content?.['application/json'] as { example?: unknown } | undefined;
          if (content === undefined) continue;
          const sent = { method: method.toUpperCase(), target: path, status: Number(status), body: content.example };
          const headers = new Headers({ 'content-type': 'application/json' });
          const fault = content.example === undefined ? 'has no example' : contract.faultOf({ ...sent, headers });
          if (fault !== undefined) wrong.push(`${method} ${path} ${status}: ${fault}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('names every message that webhook endpoints may get, with an example that fits', () => {
    expect(Object.keys(contract.document.webhooks)).toEqual(webhookMessages().map(({ type }) => type));
    expect(Object.keys(contract.document.webhooks)).toEqual(EVENT_TYPE_NAMES);
    for (const [type, { post }] of Object.entries(contract.document.webhooks)) {
      const example = post.requestBody?.content['application/json']?.example;
      expect([type, contract.messageFault(type, example)]).toEqual([type, undefined]);
    }
  });

  test('holds JSON Schemas of 2020-12 and refers to nothing that is missing', () => {
    const ajv = new Ajv2020({ strict: false });
    const text = JSON.stringify(contract.document);
    for (const [name, schema] of Object.entries(contract.document.components.schemas))
      expect([name, ajv.validateSchema(schema)]).toEqual([name, true]);
    const missing = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].filter(([, pointer = '']) => {
      let value: unknown = contract.document;
      for (const part of pointer.split('/')) value = (value as Record<string, unknown> | undefined)?.[part];
      return value === undefined;
    });
    expect(missing.map(([ref]) => ref)).toEqual([]);
    expect(text).not.toMatch(/"\$defs"|"shownAs"|"id":"[A-Z]\w+","type":"object"/);
  });

  test('declares every reason that the program can give for a refusal', () => {
    const declared = new Set(routes.flatMap((route) => route.refusals ?? []));
    const general = [
      ...['rate_limited', 'idempotency_in_progress', 'role', 'not_found'],
      ...['plan_limit', 'overloaded', 'busy', 'too_many_at_once'],
    ];
    const unused = Object.keys(REFUSALS).filter(
      (name) => !declared.has(name as keyof typeof REFUSALS) && !general.includes(name),
    );
    expect(unused).toEqual([]);
  });

  test('lists the reasons of each refusal as an enum, for the types of clients', () => {
    const wrong = Object.entries(contract.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        Object.entries(responses).flatMap(([status, response]) => {
          const { components } = contract.document;
          const answer = '$ref' in response ? components.responses[response.$ref.split('/').at(-1) ?? ''] : response;
          const reasons = answer?.['x-reasons'] ?? [];
          const listed = JSON.stringify(answer?.content?.['application/json']?.schema ?? {}).match(/"enum":(\[.*?\])/);
          const same = JSON.stringify(reasons) === (listed?.[1] ?? '[]');
          return Number(status) < 400 || same ? [] : [`${method} ${path} ${status}: ${reasons} but ${listed?.[1]}`];
        }),
      ),
    );
    expect(wrong).toEqual([]);
  });

  test('is public, may be cached, and is the same to the byte each time', async () => {
    const read = () => fetch(`${service.url}/openapi.json`);
    const [first, second] = [await read(), await read()];
    expect(first.headers.get('content-type')).toBe('application/json');
    expect(first.headers.get('cache-control')).toBe('public, max-age=300');
    expect(await first.text()).toBe(await second.text());
  });
});

describe('holding answers against the document', () => {
  const answer = (changes: Partial<SentAnswer>): SentAnswer => ({
    method: 'GET',
    target: '/health/live',
    status: 200,
    headers: new Headers({ 'content-type': 'application/json' }),
    body: { data: { status: 'ok' } },
    ...changes,
  });
  const refusal = (code: string, reason: string) => ({
    error: { code, message: 'x', details: { reason }, requestId: 'r', docUrl: 'https://x.example/errors#x' },
  });

  test('lets a documented answer pass', () => {
    expect(contract.faultOf(answer({}))).toBeUndefined();
  });

  test.each([
    ['a field that is not documented', { body: { data: { status: 'ok', more: 1 } } }],
    ['a field that is missing', { body: { data: {} } }],
    ['a status that is not documented', { status: 418 }],
    ['another type of content', { headers: new Headers({ 'content-type': 'text/plain' }) }],
    ['a body without its envelope', { body: { status: 'ok' } }],
    [
      'a reason that the route does not declare',
      { method: 'DELETE', target: '/voting-events/x', status: 409, body: refusal('conflict', 'code_in_use') },
    ],
    [
      'a code that does not belong to the status',
      { method: 'DELETE', target: '/voting-events/x', status: 409, body: refusal('forbidden', 'event_has_ballots') },
    ],
    ['an unknown path without the envelope', { target: '/nowhere', status: 404, body: { error: 'no' } }],
  ])('finds %s', (_what, changes) => {
    expect(contract.faultOf(answer(changes))).toEqual(expect.any(String));
  });
});

const MODULES = path.resolve(import.meta.dirname, '../../node_modules');
const run = promisify(execFile);

const folder = useFolder('voting-client-');
symlinkSync(MODULES, path.join(folder, 'node_modules'));
const document = await fetch(`${service.url}/openapi.json`);
writeFileSync(path.join(folder, 'openapi.json'), await document.text());
writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');

/** A customer's program on a client that a public generator made of the document. */
const PROGRAM = `import { castBallot, confirmBallot, defaults, getBallot, getPublicResults } from './client.ts';

const [baseUrl = '', key = '', event = '', visitorId = ''] = process.argv.slice(2);
defaults.baseUrl = baseUrl;
defaults.headers = { Authorization: \`Bearer \${key}\` };

const ballot = await getBallot(event);
if (ballot.status !== 200) throw new Error(ballot.data.error.message);
const [position] = ballot.data.data.positions;
const candidate = ballot.data.data.candidates.find(({ positionIds }) => positionIds.includes(position?.id ?? ''));
if (position === undefined || candidate === undefined) throw new Error('an empty ballot');

const votes = [{ positionId: position.id, candidateId: candidate.id }];
const cast = await castBallot(event, { visitorId, votes }, { idempotencyKey: visitorId });
if (cast.status !== 201) throw new Error(\`cast answered \${cast.status}\`);
const confirmed = await confirmBallot(event, { confirmationCode: cast.data.data.confirmationCode });
if (confirmed.status !== 200) throw new Error(confirmed.data.error.code);
const again = await castBallot(event, { visitorId, votes });
if (again.status !== 409) throw new Error('voted twice');

const results = await getPublicResults(event);
if (results.status !== 200) throw new Error(results.data.error.code);
process.stdout.write(JSON.stringify([confirmed.data.data.votes, again.data.error.details?.reason, results.data.data.stats.ballots]));
`;

const CONFIG = {
  compilerOptions: {
    ...{ target: 'esnext', module: 'nodenext', moduleResolution: 'nodenext', lib: ['esnext', 'dom'], types: ['node'] },
    ...{ strict: true, noUncheckedIndexedAccess: true, noEmit: true },
    ...{ allowImportingTsExtensions: true, skipLibCheck: true },
  },
  files: ['vote.ts'],
};

describe('the API document as public tools see it', () => {
  test('passes every rule of a public linter, warnings included', async () => {
    const { body } = await service.call('GET', '/openapi.json');
    // The service under test is at this machine's own address, which the linter rightly refuses in a published document.
    const published = { ...body, servers: [{ url: 'https://vote.example' }] };
    const config = await createConfig({ extends: ['recommended-strict'] });
    const problems = await lintFromString({ source: JSON.stringify(published), config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  test('makes a client that compiles in strict mode and casts, confirms and counts a vote', async () => {
    const account = await service.account();
    const event = await account.event({ results: { visibility: 'live' } });
    const generator = path.join(MODULES, 'oazapfts/dist/cli.js');
    await run(process.execPath, [generator, 'openapi.json', 'client.ts'], { cwd: folder });
    writeFileSync(path.join(folder, 'vote.ts'), PROGRAM);
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
    const compiling = run(path.join(MODULES, '.bin/tsc'), ['--project', '.'], { cwd: folder });
    const compiled = await compiling.catch((fault: unknown) => fault);
    expect(compiled).toEqual({ stdout: '', stderr: '' });
    const words = [service.url, account.vote, event.code, visitor()];
    const { stdout } = await run(process.execPath, ['vote.ts', ...words], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual([
      [{ positionName: 'By plurality', candidateName: expect.stringMatching(/^Ada|Bea$/) }],
      'already_voted',
      1,
    ]);
  });
});
