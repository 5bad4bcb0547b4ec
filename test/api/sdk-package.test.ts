import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { visitor } from '#test/harness/elections.ts';
import { readGuideCode, readGuideText } from '#test/harness/guides.ts';
import { useService } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const MODULES = path.join(ROOT, 'node_modules');
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'sdk/typescript/package.json'), 'utf8'));
const FILE = `voting-service-${version}.tgz`;
/** A registry that does not answer. */
const NO_REGISTRY = ['--registry=http://127.0.0.1:1', '--fetch-retries=0', '--no-update-notifier', '--no-audit'];
/** A Node that is older than the one that the service runs on, where the machine has one. */
const SYSTEM_NODE = '/usr/bin/node';

const run = promisify(execFile);

const download = async (): Promise<Buffer> => Buffer.from(await (await fetch(address)).arrayBuffer());

/** An empty folder in which npm has installed the package. */
async function install(name: string, what: string, ...words: string[]): Promise<string> {
  const cwd = path.join(folder, name);
  mkdirSync(cwd);
  writeFileSync(path.join(cwd, 'package.json'), '{ "name": "shop", "private": true, "type": "module" }');
  const cache = `--cache=${path.join(folder, 'cache')}`;
  await run('npm', ['install', what, cache, ...NO_REGISTRY, ...words], { cwd });
  return cwd;
}

const service = await useService();
const folder = useFolder('voting-sdk-package-');
const address = `${service.url}/sdk/${FILE}`;

describe('the package that the service serves', () => {
  test('is an archive of the program, its types and its README, the same whenever it is made', async () => {
    const { status, headers } = await service.call('GET', `/sdk/${FILE}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/gzip']);
    const archive = path.join(folder, FILE);
    writeFileSync(archive, await download());
    const { stdout } = await run('tar', ['-tvzf', archive]);
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ').at(-1)?.replace('package/', '') ?? '');
    expect(names.toSorted()).toEqual(
      ['README.md', 'package.json', 'index.js', 'schema.d.ts']
        .concat('client.d.ts', 'errors.d.ts', 'index.d.ts', 'operations.d.ts', 'types.d.ts', 'voting-service.d.ts')
        .concat('webhooks.d.ts')
        .toSorted(),
    );
    const { body: document } = await service.call('GET', '/openapi.json');
    const { stdout: types } = await run('tar', ['-xzOf', archive, 'package/schema.d.ts']);
    const keyed = Object.entries(document.paths).filter(([, methods]) =>
      Object.values(methods as Record<string, { security: unknown[] }>).some(({ security }) => security.length > 0),
    );
    expect(keyed.map(([name]) => name).filter((name) => !types.includes(`"${name}": {`))).toEqual([]);
    expect(keyed.length).toBeGreaterThan(60);
    const { stdout: operations } = await run('tar', ['-xzOf', archive, 'package/operations.d.ts']);
    const calls = keyed.flatMap(([name, methods]) =>
      Object.entries(methods as Record<string, { security: unknown[] }>)
        .filter(([, { security }]) => security.length > 0)
        .map(([method]) => `'${method} ${name}'`),
    );
    expect(calls.filter((call) => !operations.includes(call))).toEqual([]);
    const other = await service.another();
    const again = await fetch(`${other.url}/sdk/${FILE}`);
    expect(Buffer.from(await again.arrayBuffer()).equals(readFileSync(archive))).toBe(true);
    await other.stop();
  });

  test.each(['voting-service-0.0.1.tgz', 'package.json', '..%2fpackage.json'])('is the only one: %s', async (name) => {
    expect((await service.call('GET', `/sdk/${name}`)).status).toBe(404);
  });

  test('installs by its address where no registry answers', async () => {
    const cwd = await install('by-address', address);
    const { stdout } = await run('npm', ['ls', '--all', '--parseable'], { cwd });
    expect(stdout.trim().split('\n')).toEqual([cwd, path.join(cwd, 'node_modules/voting-service')]);
  });

  test('installs offline from its file, compiles strictly with two compilers, and runs on two versions of Node', {
    timeout: 300_000,
  }, async () => {
    const archive = path.join(folder, `offline-${FILE}`);
    writeFileSync(archive, await download());
    const cwd = await install('offline', archive, '--offline');
    writeFileSync(path.join(cwd, 'vote.ts'), PROGRAM);
    mkdirSync(path.join(cwd, 'node_modules/@types'));
    for (const name of ['@types/node', 'undici-types'])
      symlinkSync(path.join(MODULES, name), path.join(cwd, 'node_modules', name));
    // The compiler that customers have today, and the project's own.
    const older = path.join(
      path.dirname(createRequire(createRequire(import.meta.url).resolve('oazapfts')).resolve('typescript')),
      'tsc.js',
    );
    for (const compiler of [[path.join(MODULES, 'typescript/bin/tsc')], [older]])
      for (const [modules, environment] of [
        ['nodenext', { types: ['node'], lib: ['es2022'] }],
        ['bundler', { types: [], lib: ['es2022', 'dom', 'dom.iterable'] }],
      ] as const)
        expect(await compile(cwd, compiler, environment, modules, 'vote.ts')).toBe('');
    const account = await service.account();
    for (const node of [process.execPath, SYSTEM_NODE].filter((program) => existsSync(program))) {
      const event = await account.event({ results: { visibility: 'live' } });
      const words = [service.url, account.vote, event.code, visitor()];
      const { stdout } = await run(node, ['vote.js', ...words], { cwd });
      expect(JSON.parse(stdout)).toEqual(['already_voted', 1, [expect.stringMatching(/Ada|Bea/)]]);
    }
  });

  test('compiles the samples of the guide, which names its version', async () => {
    expect(readGuideText('sdk')).toContain(`$API/sdk/${FILE}\n`);
    for (const text of ['README.md', 'docs/guides/changelog.md'])
      expect(readFileSync(path.join(ROOT, text), 'utf8')).toContain(`/sdk/${FILE}`);
    const cwd = await install('guide', address);
    mkdirSync(path.join(cwd, 'node_modules/@types'));
    for (const name of ['@types/node', 'undici-types'])
      symlinkSync(path.join(MODULES, name), path.join(cwd, 'node_modules', name));
    const { files } = readGuideCode('sdk');
    expect([...files.keys()].length).toBeGreaterThan(4);
    for (const [name, text] of files) writeFileSync(path.join(cwd, name), text);
    const tsc = [path.join(MODULES, 'typescript/bin/tsc')];
    const environment = { types: ['node'], lib: ['es2022'] };
    expect(await compile(cwd, tsc, environment, 'nodenext', ...files.keys())).toBe('');
  });
});

/** @returns what the compiler has to say */
async function compile(cwd: string, compiler: string[], environment: object, modules: string, ...files: string[]) {
  const compilerOptions = {
    ...environment,
    ...{ target: 'es2022', module: modules === 'bundler' ? 'esnext' : modules, moduleResolution: modules },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
  };
  writeFileSync(path.join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const [program = '', ...words] = compiler;
  return run(process.execPath, [program, ...words, '--project', '.'], { cwd }).then(
    ({ stdout }) => stdout,
    (fault: { stdout: string }) => fault.stdout,
  );
}

/** A customer's program. The lines below `@ts-expect-error` compile only where the types find the mistake. */
const PROGRAM = `import { ConflictError, type Reasons, type Resources, VotingService } from 'voting-service';

declare const process: { argv: string[]; stdout: { write(text: string): void } };
const [, , baseUrl = '', key = '', idOrCode = '', visitorId = ''] = process.argv;
const voting = new VotingService({ baseUrl, key });
const path = { idOrCode };

const { data: ballot } = await voting.get('/public/voting-events/{idOrCode}/ballot', { path, query: { seed: visitorId } });
const [position] = ballot.positions;
const candidate = ballot.candidates.find(({ positionIds }) => positionIds.includes(position?.id ?? ''));
if (position === undefined || candidate === undefined) throw new Error('an empty ballot');
const body = { visitorId, votes: [{ positionId: position.id, candidateId: candidate.id }] };
const cast = await voting.castOrPay(idOrCode, body);
if (cast.status !== 'cast') throw new Error(cast.checkoutUrl);
const { confirmationCode } = cast.ballot;
const confirmed = await voting.ballots.confirm(idOrCode, { confirmationCode });
const again = await voting.castOrPay(idOrCode, body).catch((error: unknown) => error);
const { data: results }: { data: Resources['Results'] } = await voting.get('/public/voting-events/{idOrCode}/results', { path });
process.stdout.write(
  JSON.stringify([
    again instanceof ConflictError && again.reason,
    results.stats.ballots,
    confirmed.data.votes.map(({ candidateName }) => candidateName),
  ]),
);

// The reasons of an operation are known; one that a newer service has compiles, too.
const why: Reasons['ballots']['cast'] = 'already_voted';
export const isNew = again instanceof ConflictError && (again.reason === why || again.reason === 'of_a_newer_service');

export const mistakes = async (): Promise<void> => {
  // @ts-expect-error no reason of this operation
  const other: Reasons['ballots']['confirm'] = 'group_in_use';
  // @ts-expect-error no such verb
  await voting.ballots.list(other);
  // @ts-expect-error without its event
  await voting.events.get();
  // @ts-expect-error a body without its title
  await voting.events.create({ type: 'poll' });
  // @ts-expect-error no such query
  await voting.voters.list(idOrCode, { state: 'open' });
  // @ts-expect-error not a list
  for await (const row of voting.me.get()) row;
  // @ts-expect-error no such path
  await voting.get('/voting-event');
  // @ts-expect-error no such method there
  await voting.post('/me');
  // @ts-expect-error a path without its parameter
  await voting.get('/voting-events/{idOrCode}');
  // @ts-expect-error no such query
  await voting.get('/voting-events', { query: { state: 'open' } });
  // @ts-expect-error a body without its title
  await voting.post('/voting-events', { body: { type: 'poll' } });
  // @ts-expect-error not a list
  for await (const row of voting.rows('/me')) row;
  // @ts-expect-error no such field
  confirmed.data.code;
};
`;
