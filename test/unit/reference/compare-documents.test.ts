import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brokenBy } from '#test/harness/compare-documents.ts';
import { brokenSince, latestRelease } from '#test/harness/compare-with-release.ts';

const json = (schema: object): object => ({ 'application/json': { schema } });

/** An API of one operation with a body, a list and a message. */
const released = () => ({
  paths: {
    '/votes/{id}': {
      post: {
        operationId: 'castVote',
        security: [{ bearer: [] }],
        'x-required-scope': ['read', 'vote'],
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'seed', in: 'query', required: false, schema: { type: 'integer', minimum: 0, maximum: 9 } },
        ],
        requestBody: { required: true, content: json({ $ref: '#/components/schemas/VoteBody' }) },
        responses: {
          '201': {
            headers: { 'X-Request-Id': {} },
            content: json({ type: 'object', properties: { data: { $ref: '#/components/schemas/Vote' } } }),
          },
          '409': { $ref: '#/components/responses/Conflict' },
        },
      },
      get: { operationId: 'readVote', security: [], responses: { '200': { content: { 'text/csv': {} } } } },
    },
  },
  webhooks: { 'vote.cast': { post: { requestBody: { content: json({ $ref: '#/components/schemas/Vote' }) } } } },
  components: {
    responses: { Conflict: { 'x-codes': ['conflict'], 'x-reasons': ['already_voted', 'busy'] } },
    schemas: {
      VoteBody: {
        type: 'object',
        properties: {
          title: { type: 'string', minLength: 1, maxLength: 20 },
          method: { type: 'string', enum: ['plurality', 'score'] },
          note: { type: ['string', 'null'] },
          weight: { anyOf: [{ type: 'integer' }, { type: 'string', pattern: '^[0-9]+$' }] },
          marks: { type: 'array', items: { type: 'object', properties: { rank: { type: 'integer' } } }, maxItems: 5 },
          labels: { type: 'object', additionalProperties: { type: 'string' } },
        },
        required: ['title'],
        additionalProperties: false,
      },
      Vote: {
        type: 'object',
        properties: {
          id: { type: 'string', maxLength: 20 },
          state: { type: 'string', enum: ['open', 'closed'] },
          at: { type: ['integer', 'null'] },
          marks: {
            type: 'array',
            items: { type: 'object', properties: { rank: { type: 'integer' } }, required: ['rank'] },
          },
          earlier: { $ref: '#/components/schemas/Vote' },
        },
        required: ['id', 'state'],
      },
    },
  },
});
type Released = ReturnType<typeof released>;

/** Where the parts of the document stand that are changed below. */
function partsOf(document: Released) {
  const { post, get } = document.paths['/votes/{id}'];
  const { VoteBody, Vote } = document.components.schemas;
  return {
    ...{ document, post, get, body: VoteBody, sent: VoteBody.properties, vote: Vote, got: Vote.properties },
    conflict: document.components.responses.Conflict,
  };
}
type Change = (parts: ReturnType<typeof partsOf>) => unknown;

function faultsOf(change: Change): string[] {
  const document = released();
  change(partsOf(document));
  return brokenBy(released(), document);
}

const without = (object: object, ...names: string[]): void => {
  for (const name of names) Reflect.deleteProperty(object, name);
};
const add = (object: object, parts: object): void => {
  Object.assign(object, parts);
};

const BREAKING: readonly [fault: string, change: Change][] = [
  ['POST /votes/{id} is gone', ({ document }) => without(document.paths['/votes/{id}'], 'post')],
  ['GET /votes/{id}: operation readVote is gone', ({ get }) => add(get, { operationId: 'getVote' })],
  ['GET /votes/{id} needs a key now', ({ get }) => add(get, { security: [{ bearer: [] }] })],
  ['GET /votes/{id} needs a body now', ({ get }) => add(get, { requestBody: { required: true } })],
  ['GET /votes/{id}, 200: text/csv is gone', ({ get }) => add(get.responses['200'], { content: json({}) })],
  ['POST /votes/{id} needs another scope now', ({ post }) => post['x-required-scope'].pop()],
  ['POST /votes/{id}: query parameter seed is gone', ({ post }) => post.parameters.pop()],
  [
    'POST /votes/{id}: query parameter seed is required now',
    ({ post }) => add(post.parameters[1] ?? {}, { required: true }),
  ],
  [
    'POST /votes/{id}: query parameter new is required now',
    ({ post }) => post.parameters.push({ name: 'new', in: 'query', required: true, schema: { type: 'string' } }),
  ],
  [
    'POST /votes/{id}, query parameter seed: maximum is 8 now',
    ({ post }) => add(post.parameters[1]?.schema ?? {}, { maximum: 8 }),
  ],
  [
    'POST /votes/{id}, query parameter seed: minimum is 1 now',
    ({ post }) => add(post.parameters[1]?.schema ?? {}, { minimum: 1 }),
  ],
  ['POST /votes/{id}: 201 is gone', ({ post }) => without(post.responses, '201')],
  ['POST /votes/{id}, 201: X-Request-Id is gone', ({ post }) => without(post.responses['201'].headers, 'X-Request-Id')],
  ['POST /votes/{id}, 409: reasons busy is gone', ({ conflict }) => conflict['x-reasons'].pop()],
  ['POST /votes/{id}, 409: codes conflict is gone', ({ conflict }) => conflict['x-codes'].pop()],
  ['VoteBody (request).note is gone', ({ sent }) => without(sent, 'note')],
  ['VoteBody (request).note is required now', ({ body }) => body.required.push('note')],
  [
    'VoteBody (request).new is required now',
    ({ body, sent }) => {
      add(sent, { new: { type: 'string' } });
      body.required.push('new');
    },
  ],
  ['VoteBody (request).note: the type null is gone', ({ sent }) => add(sent.note, { type: 'string' })],
  ['VoteBody (request).title: maxLength is 19 now', ({ sent }) => add(sent.title, { maxLength: 19 })],
  ['VoteBody (request).title: minLength is 2 now', ({ sent }) => add(sent.title, { minLength: 2 })],
  ['VoteBody (request).title: pattern is "^[a-z]+$" now', ({ sent }) => add(sent.title, { pattern: '^[a-z]+$' })],
  ['VoteBody (request).title: not is {"const":"x"} now', ({ sent }) => add(sent.title, { not: { const: 'x' } })],
  ['VoteBody (request).title: other values are refused now', ({ sent }) => add(sent.title, { enum: ['a'] })],
  ['VoteBody (request).method: the value score is gone', ({ sent }) => sent.method.enum.pop()],
  ['VoteBody (request).weight: the type string is gone', ({ sent }) => sent.weight.anyOf.pop()],
  ['VoteBody (request).marks: maxItems is 4 now', ({ sent }) => add(sent.marks, { maxItems: 4 })],
  ['VoteBody (request).marks[].rank is gone', ({ sent }) => without(sent.marks.items.properties, 'rank')],
  [
    'VoteBody (request).labels: fields without a name are refused now',
    ({ sent }) => add(sent.labels, { additionalProperties: false }),
  ],
  [
    'VoteBody (request).labels[]: maxLength is 9 now',
    ({ sent }) => add(sent.labels.additionalProperties, { maxLength: 9 }),
  ],
  ['Vote (answer).id is gone', ({ got }) => without(got, 'id')],
  ['Vote (answer).id may be absent now', ({ vote }) => vote.required.shift()],
  ['Vote (answer).id: the type integer is new', ({ got }) => add(got.id, { type: 'integer' })],
  ['Vote (answer).id: the type null is new', ({ got }) => add(got.id, { type: ['string', 'null'] })],
  ['Vote (answer).state: the value closed is gone', ({ got }) => got.state.enum.pop()],
  ['Vote (answer).at: the type number is new', ({ got }) => add(got.at, { type: ['number', 'null'] })],
  ['Vote (answer).marks[].rank may be absent now', ({ got }) => got.marks.items.required.pop()],
  ['message vote.cast is gone', ({ document }) => without(document.webhooks, 'vote.cast')],
  [
    'schema Vote is gone',
    ({ document }) => {
      const text = JSON.stringify(document)
        .replaceAll('schemas/Vote"', 'schemas/Ballot"')
        .replace('"Vote":', '"Ballot":');
      add(document, JSON.parse(text));
    },
  ],
];

const ADDING: readonly [what: string, change: Change][] = [
  ['nothing', () => undefined],
  ['an operation', ({ document }) => add(document.paths, { '/new': { get: { operationId: 'new', responses: {} } } })],
  [
    'a parameter',
    ({ post }) => post.parameters.push({ name: 'new', in: 'query', required: false, schema: { type: 'string' } }),
  ],
  [
    'a refusal',
    ({ post, conflict }) => {
      add(post.responses, { '403': {} });
      conflict['x-reasons'].push('new');
    },
  ],
  ['a scope that does, too', ({ post }) => post['x-required-scope'].push('write')],
  ['a field of a body', ({ sent }) => add(sent, { new: { type: 'string' } })],
  [
    'a field of an answer',
    ({ got, vote }) => {
      add(got, { new: { type: 'string' } });
      vote.required.push('new');
    },
  ],
  [
    'a value',
    ({ sent, got }) => {
      sent.method.enum.push('approval');
      got.state.enum.push('draft');
    },
  ],
  [
    'wider bounds',
    ({ sent, got }) => {
      add(sent.title, { maxLength: 21 });
      add(got.id, { maxLength: 21 });
    },
  ],
  ['a type that may be sent', ({ sent }) => add(sent.title, { type: ['string', 'null'] })],
  ['an answer that is never null any more', ({ got }) => add(got.at, { type: 'integer' })],
  ['a body that may be left out', ({ post }) => add(post.requestBody, { required: false })],
  ['other words', ({ sent }) => add(sent.title, { description: 'Other words.', examples: ['Ada'] })],
  ['a message', ({ document }) => add(document.webhooks, { 'vote.read': {} })],
];

describe('two API documents', () => {
  test.each(BREAKING)('differ so that clients break: %s', (fault, change) => {
    expect(faultsOf(change)).toContain(fault);
  });

  test('are said to differ by what has changed alone', () => {
    const alone = BREAKING.filter(([fault]) => !/is gone$|the type/.test(fault));
    for (const [fault, change] of alone) expect(faultsOf(change)).toEqual([fault]);
  });

  test.each(ADDING)('differ so that no client breaks: %s', (_what, change) => {
    expect(faultsOf(change)).toEqual([]);
  });
});

const ROOT = path.resolve(import.meta.dirname, '../../..');

describe('the API (contract, "Versioning")', () => {
  const release = latestRelease(ROOT);
  if (release === undefined)
    test('has no release tag to be compared with yet', () => {
      process.stdout.write('There is no tag v<major>.<minor>.<patch>: the API document is compared with no release.\n');
      expect(latestRelease(ROOT)).toBeUndefined();
    });
  else
    test(`only adds to that of the release ${release}`, async () => {
      expect(await brokenSince(release, ROOT)).toEqual([]);
    });
});

describe('a checkout with releases', () => {
  let checkout: string;
  const git = (...words: string[]): void => {
    const settings = ['user.name=Ada', 'user.email=ada@shop.example', 'commit.gpgsign=false', 'core.hooksPath=none'];
    const person = settings.flatMap((one) => ['-c', one]);
    execFileSync('git', [...person, ...words], { cwd: checkout, stdio: 'ignore' });
  };
  const write = (...paths: string[]): void => {
    const operation = { operationId: 'read', responses: { 200: {} } };
    const document = { paths: Object.fromEntries(paths.map((name) => [name, { get: operation }])) };
    writeFileSync(path.join(checkout, 'document.json'), JSON.stringify(document));
  };

  beforeAll(() => {
    checkout = mkdtempSync(path.join(tmpdir(), 'voting-checkout-'));
    git('init', '-q');
    expect(latestRelease(checkout)).toBeUndefined();
    const scripts = { 'api-document': 'cat document.json' };
    writeFileSync(path.join(checkout, 'package.json'), JSON.stringify({ name: 'checkout', scripts }));
    for (const [tag, ...paths] of [
      ['v1.9.0', '/first'],
      ['v1.10.0', '/first', '/second'],
      ['v2.0.0-rc.1'],
      ['vNext'],
    ]) {
      write(...paths);
      git('add', '.');
      git('commit', '-q', '--allow-empty', '--message', 'A release');
      git('tag', tag ?? '');
    }
  });
  afterAll(() => rmSync(checkout, { recursive: true }));

  test('is compared with the newest of them, by number', async () => {
    expect(latestRelease(checkout)).toBe('v1.10.0');
    write('/first');
    expect(await brokenSince('v1.10.0', checkout)).toEqual(['GET /second is gone']);
    write('/first', '/second', '/third');
    expect(await brokenSince('v1.10.0', checkout)).toEqual([]);
  });
});
