import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '#sdk/operations.ts';
import { LANGUAGES, type Language, samplesOf } from '#src/reference/call-samples.ts';
import type { ReferenceDocument } from '#src/reference/document-shape.ts';
import type { PlacedOperation } from '#src/reference/operation-parts.ts';
import { sectionsOf } from '#src/reference/reference-content.ts';
import { createExampleWorld, type ExampleWorld, planOf } from '#test/harness/example-world.ts';
import { type PaidTestService, startPaidTestService } from '#test/harness/payments.ts';
import { freePort } from '#test/harness/started-service.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const hasProgram = (name: string): boolean => spawnSync(name, ['--version']).status === 0;

interface PrintedSample {
  readonly name: string;
  readonly placed: PlacedOperation;
  readonly texts: Readonly<Record<Language, string>>;
}

let paid: PaidTestService;
let folder: string;
let samples: PrintedSample[];

beforeAll(async () => {
  // Files are redirected to, by the address that the service is known by.
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  paid = await startPaidTestService({ environment: { PORT: String(port), BASE_URL: address } });
  const document = (await (await fetch(`${address}/openapi.json`)).json()) as ReferenceDocument;
  samples = sectionsOf(document).flatMap(({ operations }) =>
    operations.flatMap((placed) =>
      samplesOf(placed, document).map(({ texts }, index) => {
        const kind =
          Object.keys(placed.operation.requestBody?.content['application/json']?.examples ?? {})[index] ?? '';
        return { name: `${placed.operation.operationId} ${kind}`.trim(), placed, texts };
      }),
    ),
  );
  folder = mkdtempSync(path.join(tmpdir(), 'voting-samples-'));
  const modules = path.join(folder, 'node_modules/voting-service');
  mkdirSync(modules, { recursive: true });
  const sdk = path.join(ROOT, 'sdk/typescript/src/index.ts');
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(path.join(modules, 'package.json'), '{ "type": "module", "exports": "./index.js" }');
  writeFileSync(path.join(modules, 'index.js'), `export * from ${JSON.stringify(`file://${sdk}`)};`);
  // curl ends with 0 whatever is answered, unless it is asked to fail.
  writeFileSync(path.join(folder, '.curlrc'), 'silent\nshow-error\nfail-with-body\n');
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await paid.stop();
});

const fileOf = (name: string, text: string): string => {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
};

describe('the samples of the reference', () => {
  test('are written in every language for every operation, with the names that all of them share', () => {
    expect(samples.length).toBeGreaterThan(110);
    const names = /\b(?:API|WRITE_KEY|READ_KEY|VOTE_KEY|EVENT|POLL)\b/g;
    const wrong = samples.flatMap(({ name, texts }) =>
      LANGUAGES.flatMap(({ name: language }) => {
        const [text, curl] = [texts[language], texts.curl];
        const used = (one: string) => [...new Set(one.match(names))].toSorted().join();
        return used(text) === used(curl) && /\bAPI\b/.test(text) && !/CLUB2026|\{idOrCode\}\/?"/.test(curl)
          ? []
          : [`${name} in ${language}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('call the SDK by noun and verb where a key is needed; files come by their path', () => {
    const callOf = ({ placed: { method, path: address, operation }, texts: { typescript } }: PrintedSample) => {
      const [, noun = '', verb = ''] = /await voting\.(\w+)\.(\w+)\(/.exec(typescript) ?? [];
      const named = Reflect.get(Object(Reflect.get(OPERATIONS, noun)), verb);
      const isFile = typescript.includes('arrayBuffer');
      const [isKeyed, call] = [operation.security.length > 0, `${method.toLowerCase()} ${address}`];
      return { named, due: isKeyed && !isFile ? call : undefined };
    };
    expect(samples.filter((sample) => callOf(sample).due !== undefined).length).toBeGreaterThan(90);
    expect(samples.map((sample) => callOf(sample).named)).toEqual(samples.map((sample) => callOf(sample).due));
  });

  test('compile: TypeScript strictly, Python and the shell by themselves, PHP where the machine has it', async () => {
    const files = samples.map(({ texts }, index) => fileOf(`all-${index}.ts`, `${texts.typescript}\nexport {};\n`));
    const options = {
      ...{ target: 'esnext', module: 'nodenext', moduleResolution: 'nodenext', lib: ['esnext'], strict: true },
      ...{ noEmit: true, allowImportingTsExtensions: true, skipLibCheck: true, exactOptionalPropertyTypes: true },
      ...{ types: ['node'], typeRoots: [path.join(ROOT, 'node_modules/@types')] },
      paths: { 'voting-service': [path.join(ROOT, 'sdk/typescript/src/index.ts')] },
    };
    fileOf('tsconfig.json', JSON.stringify({ compilerOptions: options, files }));
    const tsc = spawnSync(path.join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
    expect([tsc.stdout, tsc.status]).toEqual(['', 0]);
    const shell = samples.map(({ texts }) => texts.curl).join('\n');
    expect(spawnSync('bash', ['-n', fileOf('all.sh', shell)], { encoding: 'utf8' }).stderr).toBe('');
    if (hasProgram('python3')) {
      const texts = fileOf('all.json', JSON.stringify(samples.map(({ texts }) => texts.python)));
      const check = `import json\nfor text in json.load(open(${JSON.stringify(texts)})): compile(text, text, 'exec')`;
      expect(spawnSync('python3', ['-c', check], { encoding: 'utf8' }).stderr).toBe('');
    }
    if (hasProgram('php'))
      for (const { name, texts } of samples)
        expect([name, spawnSync('php', ['-l'], { input: texts.php }).status]).toEqual([name, 0]);
  });
});

/** Needs more than an event of its own: test/api/examples.test.ts sends it. */
const LEFT_OUT =
  /^(?:replaceDefinition|acceptInvite|receiveProviderEvent|rehearsePayment|getRehearsedPayment|downloadLetters)$|Payment/;

/** Samples that are written alike: one of them is run. */
function kindOf({ placed: { method, operation }, texts }: PrintedSample): string {
  const answer = /\.json\(\)|\{ data \}|arrayBuffer|\.text\(\)|console\.log/.exec(texts.typescript)?.[0];
  const [isRead, hasQuery, hasKey] = [method === 'GET', /\?\w+=/.test(texts.curl), operation.security.length > 0];
  return [isRead ? method : '', answer, hasQuery, hasKey, operation.requestBody !== undefined].join();
}

const RUNNERS = [
  { language: 'curl', program: 'bash', ending: 'sh' },
  { language: 'typescript', program: process.execPath, ending: 'ts' },
  { language: 'python', program: pythonProgram(), ending: 'py' },
  { language: 'php', program: 'php', ending: 'php' },
] as const;
type Runner = (typeof RUNNERS)[number];

/** The interpreter itself: what stands in PATH may be a script that looks for it, and takes longer than a sample. */
function pythonProgram(): string {
  return spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).stdout?.trim() ?? '';
}

/** A sample that is ready to run: with real names in the place of its examples. */
async function prepare(sample: PrintedSample, runner: Runner, world: ExampleWorld) {
  const noPayment = () => Promise.reject(new Error('no sample here pays'));
  return { sample, runner, world, text: await world.fill(sample.texts[runner.language], noPayment) };
}

type ReadySample = Awaited<ReturnType<typeof prepare>>;

/** Runs a sample as its reader would. @returns what went wrong, if anything */
async function runSample({ sample, runner, world, text }: ReadySample): Promise<string | undefined> {
  const { language, program, ending } = runner;
  const { account, eventCode } = world;
  const env = {
    ...{ PATH: process.env['PATH'], HOME: folder, API: paid.service.deps.config.baseUrl },
    ...{ WRITE_KEY: account.write, READ_KEY: account.read, VOTE_KEY: account.vote },
    ...{ EVENT: eventCode, POLL: eventCode, NODE_COMPILE_CACHE: path.join(folder, 'compiled') },
  };
  const cwd = mkdtempSync(path.join(folder, `${language}-`));
  writeFileSync(path.join(cwd, `sample.${ending}`), text);
  try {
    await run(program, [`sample.${ending}`], { cwd, env });
  } catch (fault) {
    return `${sample.name} in ${language}: ${inspect(fault)}`;
  }
  const [, kept] = /writeFile\('([^']+)'/.exec(sample.texts.typescript) ?? [];
  const isKept = kept === undefined || (existsSync(path.join(cwd, kept)) && statSync(path.join(cwd, kept)).size > 0);
  return isKept ? undefined : `${sample.name} in ${language} keeps no ${kept}`;
}

test('samples of every kind do their work against a service, in every language that this machine runs', async () => {
  const chosen = new Map<string, PrintedSample>();
  for (const sample of samples)
    if (!LEFT_OUT.test(sample.name) && !chosen.has(kindOf(sample))) chosen.set(kindOf(sample), sample);
  expect(chosen.size).toBeGreaterThan(8);
  const runners = RUNNERS.filter(({ program }) => hasProgram(program));
  const failed: (string | undefined)[] = [];
  for (const sample of chosen.values()) {
    const worldOf = () => createExampleWorld(paid.service, planOf(sample.name, sample.placed.path));
    // What only reads can be read in every language.
    const shared = sample.placed.method === 'GET' ? await worldOf() : undefined;
    const ready: ReadySample[] = [];
    // One after the other: a voter's key is found by the newest mail.
    for (const runner of runners) ready.push(await prepare(sample, runner, shared ?? (await worldOf())));
    failed.push(...(await Promise.all(ready.map(runSample))));
  }
  expect(failed.filter((why) => why !== undefined)).toEqual([]);
});
