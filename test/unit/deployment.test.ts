import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '#src/config.ts';
import { PROVIDER_NAMES } from '#src/payment-providers/registered.ts';
import { createLog, onAlarm } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { FACE_NAMES, fontPath } from '#src/results/report/font-shelf.ts';
import { ALARMS, createMetrics } from '#src/server/metrics.ts';
import { readSources } from '#test/harness/read-sources.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(path.join(ROOT, name), 'utf8');

/** The settings that the service knows, from the one place that reads them. */
const SETTINGS = [
  ...[...read('src/config.ts').matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map((match) => match[1] ?? ''),
  ...PROVIDER_NAMES.map((name) => `${name.toUpperCase()}_API_URL`),
];

/** The lines of a block of compose.yaml: those below its name that stand further in. */
function blockOf(text: string, name: RegExp): string[] {
  const lines = text.split('\n');
  const at = lines.findIndex((line) => name.test(line));
  const indent = /^ */.exec(lines[at] ?? '')?.[0].length ?? 0;
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && (/^ */.exec(line)?.[0].length ?? 0) <= indent);
  return end < 0 ? rest : rest.slice(0, end);
}

/** What a container gets, with every value that has to be given. */
function environmentOf(block: readonly string[], given: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = block.flatMap((line) => {
    const match = /^ +([A-Z][A-Z_]+): (.*)$/.exec(line);
    return match === null ? [] : [[match[1] ?? '', (match[2] ?? '').replace(/^"|"$/g, '')] as const];
  });
  const fill = (text: string): string =>
    text.replace(/\$\{([A-Z_]+):([-?])([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
      const value = given[name] ?? (kind === '-' ? rest : undefined);
      if (value === undefined) throw new Error(`compose.yaml asks for ${name}`);
      return value;
    });
  return Object.fromEntries(pairs.map(([name, value]) => [name, fill(value)]));
}

const GIVEN = {
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  ...{
    POSTGRES_PASSWORD: 'secret-1',
    OWNER_PASSWORD: 'secret-2',
    APP_PASSWORD: 'secret-3',
    BACKUP_PASSWORD: 'secret-4',
  },
};
/** What belongs to a container, or to the commands of organizers, and is not passed on. */
const NOT_PASSED_ON = ['NODE_ENV', 'HOST', 'PORT', 'VOTING_API', 'VOTING_API_KEY'];

const SOURCES = readSources('src', /\.ts$/).map(({ text }) => text);

describe('deployment', () => {
  test('has a line of .env.example for every setting, and none that the service does not know', () => {
    const named = [...read('.env.example').matchAll(/^([A-Z][A-Z_]+)=/gm)].map((match) => match[1] ?? '');
    expect(SETTINGS.length).toBeGreaterThan(20);
    expect(named.toSorted()).toEqual(SETTINGS.filter((name) => name !== 'NODE_ENV').toSorted());
  });

  test('gives containers settings that the service starts with: API processes without jobs, one process with them', () => {
    const compose = read('compose.yaml');
    const shared = environmentOf(blockOf(compose, /^ {2}environment: &environment$/), GIVEN);
    expect(Object.keys(shared).toSorted()).toEqual(SETTINGS.filter((name) => !NOT_PASSED_ON.includes(name)).toSorted());
    const api = readConfig({ ...shared, NODE_ENV: 'production' });
    expect(api).toMatchObject({ worker: false, trustProxy: 1, metricsPort: 9_100, dataDir: '/data', production: true });
    const worker = { ...shared, ...environmentOf(blockOf(compose, /^ {2}worker:$/), GIVEN) };
    expect(readConfig(worker)).toMatchObject({ worker: true, webConcurrency: 1 });
    expect(() => environmentOf(blockOf(compose, /^ {2}environment: &environment$/), {})).toThrow(
      'asks for APP_PASSWORD',
    );
    for (const name of ['api-1', 'api-2'])
      expect([
        name,
        blockOf(compose, new RegExp(`^ {2}${name}:$`))
          .join('')
          .trim(),
      ]).toEqual([name, '<<: *service']);
    expect(compose).toMatch(/reverse_proxy api-1:3000 api-2:3000/);
  });

  test('runs the service as the lesser role, and only `migrate` as the owner; the superuser is the database’s alone', () => {
    const compose = read('compose.yaml');
    const userOf = (block: readonly string[]): string =>
      new URL(environmentOf(block, GIVEN)['DATABASE_URL'] ?? 'postgres://none@nowhere').username;
    expect(userOf(blockOf(compose, /^ {2}environment: &environment$/))).toBe('voting_app');
    expect(userOf(blockOf(compose, /^ {2}migrate:$/))).toBe('voting_owner');
    for (const name of ['api-1', 'api-2', 'worker', 'proxy'])
      expect([name, userOf(blockOf(compose, new RegExp(`^ {2}${name}:$`)))]).toEqual([name, 'none']);
    expect(compose).toMatch(/roles:\n {4}file: \.\/deploy\/roles\.sql/);
    for (const role of ['voting_owner', 'voting_app', 'voting_backup'])
      expect([
        role,
        read('deploy/roles.sql').includes(`CREATE ROLE ${role} LOGIN`),
        compose.includes(`ALTER ROLE ${role} PASSWORD`),
      ]).toEqual([role, true, true]);
    // Whatever else connects to the database.
    expect(
      [...compose.matchAll(/postgres:\/\/(\w+):|"-U", "(\w+)"/g)].map(([, one, other]) => one ?? other).toSorted(),
    ).toEqual([...['voting_app', 'voting_owner', 'voting_owner']]);
    const services = blockOf(compose, /^services:$/).join('\n');
    for (const block of services.split(/\n(?= {2}[\w-]+:\n)/))
      expect(block).toMatch(/logging: \*logging|<<: \*service/);
    expect(blockOf(compose, /^x-service: &service$/).join('\n')).toContain('logging: *logging');
    expect(compose).toMatch(/driver: json-file\n {2}options: \{ max-size: \d+m, max-file: "\d+" \}/);
  });

  test('archives the write-ahead log as the page for operators says', () => {
    const line = /archive_command = ('.+')/;
    expect(line.exec(read('compose.yaml'))?.[1]).toBe(line.exec(read('docs/operations.md'))?.[1]);
  });

  test('waits longer for a container to stop than the service takes for requests and webhooks under way', () => {
    const seconds = Number(/stop_grace_period: (\d+)s/.exec(read('compose.yaml'))?.[1]);
    expect(seconds * 1_000).toBeGreaterThan(TIME_LIMITS.shutdownGraceMs + 3_000);
  });

  test('builds an image that holds the face of every script, and at most 40 MB of fonts', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'voting-image-'));
    try {
      const fonts = ['@embedpdf', '@fontsource'].map((scope) => path.join('node_modules', scope));
      for (const scope of fonts) cpSync(path.join(ROOT, scope), path.join(folder, scope), { recursive: true });
      const run = /^RUN (find node_modules(?:.*\\\n)*.*)$/m.exec(read('Dockerfile'))?.[1] ?? '';
      expect(spawnSync('sh', ['-c', run], { cwd: folder }).status).toBe(0);
      const inImage = (file: string): string => path.join(folder, path.relative(ROOT, file));
      const faces = FACE_NAMES.flatMap((name) => [fontPath(name, false), fontPath(name, true)]);
      expect(faces.filter((file) => !existsSync(inImage(file)))).toEqual([]);
      const left = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
        /\.(woff2?|[ot]tf)$/.test(name),
      );
      const bytes = left.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
      expect(bytes).toBeLessThan(40_000_000);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('builds an image that holds every folder the service reads, runs as an ordinary user and says whether it is well', () => {
    const dockerfile = read('Dockerfile');
    const image = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    const copied = [...image.matchAll(/^COPY (?:--from=\w+ \/app\/)?(\w+)[\w/]* /gm)].map((match) => match[1] ?? '');
    const read_ = SOURCES.flatMap((text) => [
      ...text.matchAll(/import\.meta\.(?:dirname|url)[^;\n]*?'(?:\.\.\/)+(\w+)(?![\w.])/g),
      ...text.matchAll(/new URL\('(?:\.\.\/)+(\w+)[^']*', import\.meta\.url/g),
    ]).map((match) => match[1] ?? '');
    expect(read_).toEqual(expect.arrayContaining(['migrations', 'build']));
    expect(read_.filter((folder) => !copied.includes(folder))).toEqual([]);
    const given = [...dockerfile.matchAll(/^COPY (\w+)[\w/]* /gm)].map((match) => match[1] ?? '');
    for (const folder of given) expect(read('.dockerignore')).toContain(`!${folder}\n`);
    expect(dockerfile).toMatch(/\nUSER node\n(.*\n)*HEALTHCHECK .*\/health\/live'/);
  });

  test('names every image by a digest, and builds on the Node that the tests run on', () => {
    const dockerfile = read('Dockerfile');
    const images = [
      ...dockerfile.matchAll(/^ARG NODE=(\S+)$/gm),
      ...read('compose.yaml').matchAll(/^ {4}image: (?:&\w+ )?([^*\s]+)$/gm),
    ].map((match) => match[1] ?? '');
    expect(images.map((image) => image.replace(/@sha256:[0-9a-f]{64}$/, ' by digest'))).toEqual([
      `node:${JSON.parse(read('package.json')).devDependencies.node}-slim by digest`,
      expect.stringMatching(/^postgres:18\.\d+ by digest$/),
      expect.stringMatching(/^caddy:2[.\d]+ by digest$/),
    ]);
    expect(dockerfile.match(/^FROM (?!\$\{NODE\})/gm)).toBeNull();
  });

  test('builds the verifier and the SDK from their sources in a stage of its own: the image gets no tool that builds', () => {
    const [dependencies = '', assets = '', image = ''] = read('Dockerfile')
      .split(/^(?=FROM )/m)
      .slice(1);
    expect(dependencies).toMatch(/^RUN npm ci --omit=dev /m);
    expect(assets).toMatch(/^FROM \S+ AS assets\n(?:.*\n)*RUN node scripts\/build-assets\.ts\n/);
    for (const source of ['scripts', 'sdk', 'src', 'verifier']) expect(assets).toContain(`COPY ${source} ${source}\n`);
    expect(image).toContain('COPY --from=assets /app/build build\n');
    const taken = [...image.matchAll(/^COPY --from=(\S+) \/app\/(\S+) /gm)].map((match) => match.slice(1));
    expect(taken).toEqual([...[['dependencies', 'node_modules']], ...[['assets', 'build']]]);
    expect(image).not.toMatch(/^COPY scripts |^RUN npm/m);
  });
});

/** The metrics of a process that nobody asks for figures. */
const metricsAlone = () => createMetrics(() => Promise.reject(new Error('no database here')), '1.0.0');

describe('the runbook', () => {
  test('names only metrics that are served, and has a line for each of ours', () => {
    const { registry } = metricsAlone();
    const served = registry.getMetricsAsArray().map(({ name }) => name);
    const operations = read('docs/operations.md');
    const named = [...operations.matchAll(/`(voting_(?!event)[a-z_]+)/g)];
    const roles = read('deploy/roles.sql');
    const unknown = named.map((match) => match[1] ?? '').filter((name) => !served.includes(name));
    expect(unknown.filter((name) => !roles.includes(`CREATE ROLE ${name} LOGIN`))).toEqual([]);
    const ours = served.filter((name) => !/^voting_(nodejs|process)_/.test(name));
    expect(ours.filter((name) => !operations.includes(`\`${name}`))).toEqual([]);
  });

  test('hears of every alarm through a metric as well as through the log', async () => {
    const lines: string[] = [];
    const log = createLog('error', { write: (line) => lines.push(line) });
    const { registry, alarm } = metricsAlone();
    onAlarm(log, alarm);
    log.error({ alarm: 'refund_refused', attempt: 'pay_1' }, 'a refund is refused');
    log.error({ attempt: 'pay_2' }, 'no alarm');
    expect(lines.map((line) => JSON.parse(line).alarm)).toEqual(['refund_refused', undefined]);
    const counted = await registry.getSingleMetric('voting_alarms_total')?.get();
    const values = new Map(counted?.values.map(({ labels, value }) => [labels['alarm'], value]));
    // Each is there from the start, so that a rule sees the first step.
    expect([...values.keys()].toSorted()).toEqual([...ALARMS].toSorted());
    expect([values.get('refund_refused'), values.get('payment_mismatch')]).toEqual([1, 0]);
  });

  test('has a line for each alarm that the service raises', () => {
    const raised = new Set(
      SOURCES.flatMap((text) => [
        ...text.matchAll(/\balarm(?:: |\()'([a-z_]+)'/g),
        ...text.matchAll(/\balarm = [^;]*?'([a-z_]+)'(?: : '([a-z_]+)')?/g),
      ]).flatMap((match) => match.slice(1).filter((name) => name !== undefined)),
    );
    const operations = read('docs/operations.md');
    expect(raised.size).toBeGreaterThanOrEqual(4);
    expect([...raised].filter((name) => !ALARMS.some((known) => known === name))).toEqual([]);
    expect(ALARMS.filter((name) => !operations.includes(`\`${name}\``))).toEqual([]);
  });
});

const PROMTOOL = '/usr/bin/promtool';
const RULES = 'deploy/prometheus-rules.yml';

describe('rules and dashboard', () => {
  test.each([RULES, 'deploy/dashboard.json'])('%s asks only for figures that are served', (file) => {
    const served = metricsAlone()
      .registry.getMetricsAsArray()
      .map(({ name }) => name);
    const asked = new Set([...read(file).matchAll(/\bvoting_[a-z0-9_]+/g)].map(([name]) => name));
    expect(asked.size).toBeGreaterThan(10);
    const parts = /_(bucket|count|sum)$/;
    expect([...asked].filter((name) => !served.includes(name) && !served.includes(name.replace(parts, '')))).toEqual(
      [],
    );
  });

  test('wake somebody for every figure that says that something is wrong', () => {
    const rules = read(RULES);
    const figures = [
      'alarms_total',
      'ballot_log_alarms',
      'log_close_due_seconds',
      'witness_lag_seconds',
      'jobs_failed',
      'jobs_oldest_seconds',
    ];
    for (const name of [...figures, 'mails_oldest_seconds', 'webhooks_oldest_seconds', 'refusals_total'])
      expect(rules).toContain(`voting_${name}`);
  });

  test('have a case that fires and a day that is silent for each rule', () => {
    const names = [...read(RULES).matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    const cases = read('deploy/prometheus-rules.test.yml');
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      expect(cases).toMatch(new RegExp(`alertname: ${name}\\n\\s+exp_alerts:\\n`));
      expect(cases).toContain(`alertname: ${name}, exp_alerts: []`);
    }
  });

  test.skipIf(!existsSync(PROMTOOL) && process.env['REQUIRE_PROMTOOL'] === undefined)(
    'fire when they should and are silent when they should, as Prometheus itself says',
    () => {
      const run = (...words: string[]) =>
        spawnSync(PROMTOOL, words, { cwd: path.join(ROOT, 'deploy'), encoding: 'utf8' });
      const checked = run('check', 'rules', 'prometheus-rules.yml');
      expect([checked.status, checked.stderr]).toEqual([0, '']);
      const tested = run('test', 'rules', 'prometheus-rules.test.yml');
      expect([tested.status, tested.stdout + tested.stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
    },
  );
});
