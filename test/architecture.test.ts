import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readFunctionSources } from '#src/database/function-sources.ts';
import { listMigrations, readMigration } from '#src/database/migrate.ts';
import { SCHEMA } from '#src/database/schema-number.ts';
import { FOREIGN_TABLES } from './harness/foreign-tables.ts';
import { readSources } from './harness/read-sources.ts';
import { literalsOf, STATEMENTS_OVER_EVENTS } from './harness/statements-over-events.ts';
import { MONEY } from './mutants/money.ts';
import { PROMISES } from './mutants/promises.ts';

const SOURCE = path.resolve(import.meta.dirname, '../src');

/** The rooms from the ground up: one imports from those above it in this list, and never from those below. */
const ROOMS = [
  'platform',
  'payment-providers',
  'database',
  'embedded-postgres',
  'http',
  'server',
  'reference',
  'jobs',
  'mail',
  'accounts',
  'webhooks',
  'voting-events',
  'ballot-definition',
  'voters',
  'payments',
  'credits',
  'ballots',
  'ballot-log',
  'service-log',
  'tally',
  'results',
  'letters',
  'console',
  'demo',
  'cells',
  'commands',
];
/** A slice's own business: other slices meet it at its verbs and types. */
const CLOSED = /^(?:(?:[\w-]+-)?routes|repository|tables)\.ts$/;
/** Doors that stay open for a stated reason. */
const OPEN_DOORS = new Map([
  [
    'voting-events/repository.ts',
    'every slice below stands on events: their row is looked up, locked and versioned here',
  ],
  ['accounts/repository.ts', 'plan counters are taken and given back by the slices that count'],
]);

/** The lines of each room, SQL and scripts included. Raise one on purpose, and say in the commit what was taken away instead. */
const LINES_OF_ROOM: Readonly<Record<string, number>> = {
  platform: 2171,
  'payment-providers': 2014,
  database: 2443,
  'embedded-postgres': 849,
  http: 4311,
  server: 1025,
  reference: 2766,
  jobs: 642,
  mail: 617,
  accounts: 1023,
  webhooks: 2647,
  'voting-events': 5435,
  'ballot-definition': 3927,
  voters: 5771,
  payments: 4136,
  credits: 709,
  ballots: 3163,
  'ballot-log': 4796,
  'service-log': 696,
  tally: 2554,
  results: 6355,
  letters: 1049,
  console: 1140,
  demo: 435,
  cells: 1467,
  commands: 4517,
};
/** All of src; what stands in no room included. */
const LINES_OF_ALL = 69_377;
/** Files of src with fewer than 25 lines: each is a place to look into for little. */
const SMALL_FILES = 23;

/** What commands run besides their own room. */
const COMMANDS_ELSEWHERE = [
  'ballot-log/service-identity.ts',
  'database/postgres-programs.ts',
  'payments/connect-business.ts',
  'run-command.ts',
  'voting-events/key-places.ts',
];

/** Where a provider's name stands as an example, and decides nothing. */
const PROVIDERS_NAMED = [
  "http/example-values.ts: provider: 'provider_a',",
  "demo/create-demo.ts: provider: 'provider_a',",
  'commands/payment-businesses.ts: ',
];

/** A table of the migrations, with its columns; and what the columns of a table of an event hold. */
const TABLE = /^CREATE TABLE "?(\w+)"? \(\n(.*?)\n\);$/gms;
const OF_AN_EVENT = /^\s*"?voting_event_id"? text (?:PRIMARY KEY )?(?:NOT NULL|REFERENCES)/m;
/** A condition on the event, or a row of it. */
const NAMES_EVENT =
  /(?:voting_event_id"?|\bid|source_id)\s*=\s*(?:'?\$\{|\$\d|p_event|NEW\.|OLD\.)|INSERT INTO \w+ (?:AS \w+ )?\(\s*voting_event_id/;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
  /** Loaded only when it is needed. */
  readonly lazy?: true;
}

const files = readSources('src', /\.ts$/);
const statements = [...files, ...readSources('src', /\.sql$/)];

const imports: Import[] = files.flatMap(({ name, text }) => [
  ...[...text.matchAll(/^(?:import|export)\s(type\s)?[^;]*?from '([^']+)'/gms)].map((match) => ({
    from: name,
    to: match[2] ?? '',
    typeOnly: match[1] !== undefined,
  })),
  ...[...text.matchAll(/\bimport\('([^']+)'\)/g)].map((match) => ({
    from: name,
    to: match[1] ?? '',
    typeOnly: false,
    lazy: true as const,
  })),
]);

const roomOf = (file: string): string | undefined => (file.includes('/') ? file.split('/')[0] : undefined);
const internal = imports
  .filter(({ to }) => to.startsWith('#src/'))
  .map((one) => ({ ...one, to: one.to.slice('#src/'.length) }));

describe('the house', () => {
  test('has no room that the plan does not name', () => {
    const rooms = new Set(files.flatMap(({ name }) => roomOf(name) ?? []));
    expect([...rooms].filter((room) => !ROOMS.includes(room))).toEqual([]);
  });

  test('lets a room import only from rooms above it', () => {
    const wrong = internal.filter(({ from, to }) => {
      const own = roomOf(from);
      const other = roomOf(to);
      return own !== undefined && other !== undefined && ROOMS.indexOf(other) > ROOMS.indexOf(own);
    });
    expect(wrong).toEqual([]);
  });

  test('lets no room import the files that put the house together, but for the types of config and deps', () => {
    const wrong = internal.filter(({ from, to, typeOnly }) => {
      const root = roomOf(from) !== undefined && roomOf(to) === undefined;
      return root && !(typeOnly && (to === 'deps.ts' || to === 'config.ts'));
    });
    expect(wrong).toEqual([]);
  });

  test('imports in no circle: where a file is read does not depend on which one is read first', () => {
    const next = new Map<string, string[]>();
    for (const { from, to, typeOnly, lazy } of imports) {
      const target = to.startsWith('#src/') ? to.slice('#src/'.length) : path.join(path.dirname(from), to);
      if (!typeOnly && lazy === undefined && /^(?:#src|\.)/.test(to))
        next.set(from, [...(next.get(from) ?? []), target]);
    }
    const reach = (start: string): Set<string> => {
      const seen = new Set<string>();
      const waiting = [start];
      for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
        for (const target of next.get(at) ?? []) if (!seen.has(target) && seen.add(target)) waiting.push(target);
      return seen;
    };
    expect([...next.keys()].filter((file) => reach(file).has(file)).toSorted()).toEqual([]);
  });

  test('keeps counting free of everything but numbers, and the shape of results', () => {
    const foreign = imports.filter(
      ({ from, to, typeOnly }) =>
        roomOf(from) === 'tally' &&
        !(typeOnly && to === '#src/ballot-definition/types.ts') &&
        from !== 'tally/position-result.ts' &&
        !to.startsWith('./') &&
        !to.startsWith('#src/platform/') &&
        to !== 'node:crypto',
    );
    expect(foreign).toEqual([]);
    // Counts know the types of that file alone.
    const loads = imports.filter(
      ({ from, to, typeOnly }) => roomOf(from) === 'tally' && to === './position-result.ts' && !typeOnly,
    );
    expect(loads).toEqual([]);
  });

  test('closes routes, repositories and tables of a slice to other slices', () => {
    const wrong = internal.filter(({ from, to }) => {
      const own = roomOf(from);
      const [room, file = ''] = to.split('/');
      if (own === undefined || own === room || !CLOSED.test(file)) return false;
      return (
        !from.endsWith('/tables.ts') &&
        own !== 'results' &&
        !OPEN_DOORS.has(to) &&
        !(file === 'tables.ts' && room === 'voting-events')
      );
    });
    expect(wrong).toEqual([]);
  });

  test('imports within a room by a relative path, and across rooms by name', () => {
    const climbing = imports.filter(
      ({ from, to }) => to.startsWith('../') && roomOf(path.join(path.dirname(from), to)) !== roomOf(from),
    );
    const roundabout = internal.filter(({ from, to }) => roomOf(from) !== undefined && roomOf(from) === roomOf(to));
    expect([...climbing, ...roundabout]).toEqual([]);
  });

  test('speaks to providers from payment-providers alone, and outward over undici from there, the webhook sender and the client of witnesses', () => {
    const wrong = imports.filter(({ from, to }) => {
      if (to === 'stripe') return !from.startsWith('payment-providers/');
      const speaks = from.startsWith('payment-providers/') || /^(webhooks\/|service-log\/ask-witness)/.test(from);
      return to === 'undici' && !speaks;
    });
    expect(wrong).toEqual([]);
  });

  test('reads the environment in config.ts alone', () => {
    const readers = files
      .filter(({ name, text }) => name !== 'config.ts' && /process\.env\b/.test(text))
      .map(({ name }) => name);
    // Samples are programs that read their own.
    expect(readers).toContain('reference/call-samples.ts');
    // The embedded database passes its child the variables that a program needs to run at all.
    expect(
      readers.filter((name) => !name.startsWith('embedded-postgres/') && name !== 'reference/call-samples.ts'),
    ).toEqual([]);
  });

  test('begins transactions in database/client.ts alone, where no connection is lost', () => {
    const users = files
      .filter(({ text }) => /\bdb\.transaction\(|\$client\.connect\(/.test(text))
      .map(({ name }) => name);
    expect(users).toEqual(['database/client.ts']);
  });

  test('asks for the name of a payment provider in its adapter and its registration alone: what differs is its kind', () => {
    const named = statements
      .filter(({ name }) => !name.startsWith('payment-providers/'))
      .flatMap(({ name, text }) =>
        text
          .split('\n')
          .filter((line) => /provider_?[ab]\b/i.test(line))
          .map((line) => `${name}: ${line.trim()}`),
      )
      .filter((line) => !PROVIDERS_NAMED.some((allowed) => line.startsWith(allowed)));
    expect(named).toEqual([]);
  });

  test('takes the clock from Deps', () => {
    const readers = files
      .filter(({ name, text }) => /\bDate\.now\(\)|new Date\(\)/.test(text) && !name.startsWith('embedded-postgres/'))
      .map(({ name }) => name);
    expect(readers).toEqual(['platform/clock.ts', 'platform/log.ts']);
  });

  test('makes the refusals that have a reason from their one table; commands have reasons of their own', () => {
    const makers = files
      .filter(({ text }) => /\bnew ApiError\(\s*'(?:forbidden|conflict)'|\bconflict\(\s*['\w]/.test(text))
      .map(({ name }) => name)
      .filter((name) => name !== 'platform/errors.ts' && name !== 'http/refusals.ts' && roomOf(name) !== 'commands');
    expect(makers.toSorted()).toEqual(COMMANDS_ELSEWHERE);
  });

  test('lists the middlewares of every request in app.ts: those of a router would run for its neighbours too', () => {
    const users = files.filter(({ text }) => /\b(?:app|router|new Hono\S*)\.use\(/.test(text)).map(({ name }) => name);
    expect(users).toEqual(['app.ts']);
  });

  test('declares a scope on every operation', () => {
    const declaring = files.filter(({ text }) => /\boperation\(/.test(text));
    const undeclared = declaring.flatMap(({ name, text }) => {
      const operations = text.match(/\boperation\(/g)?.length ?? 0;
      const scopes = text.match(/\bscope:/g)?.length ?? 0;
      return operations > scopes ? [`${name}: ${operations} operations, ${scopes} scopes`] : [];
    });
    expect(declaring.length).toBeGreaterThan(15);
    expect(undeclared).toEqual([]);
  });

  test('declares an operation in the block that answers it: nothing else names it', () => {
    const apart = files
      .filter(({ text }) => /^(?:export )?const \w+ = operation\(/m.test(text))
      .map(({ name }) => name);
    expect(apart).toEqual([]);
  });

  test('keeps the sandbox a program of its own: it takes text and currencies of the service, which starts it and knows its keys', () => {
    const sandbox = readSources('sandbox', /\.ts$/);
    const taken = sandbox.flatMap(({ text }) => [...text.matchAll(/from '#src\/([^']+)'/g)].map((match) => match[1]));
    expect([...new Set(taken)].toSorted()).toEqual(['payment-providers/currencies.ts', 'platform/text.ts']);
    const users = imports.filter(({ to }) => to.startsWith('#sandbox/')).map(({ from }) => from);
    expect([...new Set(users)].toSorted()).toEqual([
      'commands/connect-payment-business.ts',
      'demo/create-demo.ts',
      'run-command.ts',
      'run-main.ts',
    ]);
  });

  test('names tables of another room only where a reason is stated, and states no reason in vain', () => {
    const described = files.flatMap(({ name, text }) =>
      [...text.matchAll(/pgTable\(\s*'(\w+)'/g)].map(([, table = '']): [string, string | undefined] => [
        table,
        roomOf(name),
      ]),
    );
    // The room stands in the first comment of a table that only statements use.
    const tables = readFileSync(path.resolve(SOURCE, '../migrations/0000_tables.sql'), 'utf8');
    const commented = [...tables.matchAll(/^-- ([\w-]+)(?::.*)?\n(?:--.*\n)*CREATE (?:UNLOGGED )?TABLE (\w+)/gm)].map(
      ([, room, table = '']): [string, string | undefined] => [table, room],
    );
    const owners = new Map([...described, ...commented]);
    const made = [...tables.matchAll(/^CREATE (?:UNLOGGED )?TABLE "?(\w+)/gm)].map(([, table = '']) => table);
    expect(made.filter((table) => !owners.has(table))).toEqual([]);
    expect(commented.filter(([, room]) => !ROOMS.includes(room ?? ''))).toEqual([]);
    const named = statements.flatMap(({ name, text }) => {
      const room = roomOf(name);
      if (room === undefined) return [];
      const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*(?:\/\/|--).*$/gm, '');
      return [...code.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING|COPY)\s+(?:ONLY\s+)?"?(\w+)"?/g)]
        .map(([, table = '']) => table)
        .filter((table) => owners.has(table) && owners.get(table) !== room && table !== 'voting_events')
        .map((table) => `${room}: ${table}`);
    });
    const allowed = Object.entries(FOREIGN_TABLES).flatMap(([room, reasons]) =>
      reasons.flatMap(({ tables }) => tables.map((table) => `${room}: ${table}`)),
    );
    expect(owners.size).toBeGreaterThan(30);
    expect([...new Set(named)].toSorted()).toEqual(allowed.toSorted());
  });

  test('names the event in a statement over tables of an event, but where a reason is stated', () => {
    const tables = [...readFileSync(path.resolve(SOURCE, '../migrations/0000_tables.sql'), 'utf8').matchAll(TABLE)]
      .filter(([, name, columns = '']) => name === 'voting_events' || OF_AN_EVENT.test(columns))
      .map(([, name]) => name);
    const overEvents = new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE|USING|COPY)\\s+(?:ONLY\\s+)?(?:${tables.join('|')})\\b`);
    const found = [
      ...readFunctionSources().flatMap(({ name, text }) =>
        text
          .replace(/^\s*--.*$/gm, '')
          .split(';')
          .map((statement) => ({ name, statement })),
      ),
      ...files.flatMap(({ name, text }) =>
        overEvents.test(text)
          ? literalsOf(text).map((literal) => ({ name: `${name} ${literal.owner}`, statement: literal.text }))
          : [],
      ),
    ].filter(({ statement }) => overEvents.test(statement));
    expect(found.length).toBeGreaterThan(200);
    const without = found.filter(({ statement }) => !NAMES_EVENT.test(statement)).map(({ name }) => name);
    expect([...new Set(without)].toSorted()).toEqual(Object.keys(STATEMENTS_OVER_EVENTS).toSorted());
  });

  test('names the tables, triggers and functions of the schema number by their digest', () => {
    const texts = [...listMigrations().map(readMigration), ...readFunctionSources().map(({ text }) => text)];
    const digest = createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 16);
    const change = `the schema changed: put the digest ${digest} into src/database/schema-number.ts, and raise the number where it was released`;
    expect(SCHEMA.digest, change).toBe(digest);
  });

  test('says in comments who does what, in words that every reader knows', () => {
    const verifier = readSources('verifier', /\.ts$/);
    const dialect = [...statements, ...verifier].flatMap(({ name, text }) =>
      text
        .split('\n')
        .filter((line) => /^\s*(?:\/\/|\*|\/\*|--)/.test(line))
        .filter(
          (line) =>
            /\b(?:told|tells?|anew|whoever|nobody|shall|hungry|doubtful)\b/i.test(line) ||
            /^\s*(?:\/\/|\/\*\*?|\*|--) (?:Of|Who|Whoever) /.test(line),
        )
        .map((line) => `${name}: ${line.trim()}`),
    );
    expect(dialect).toEqual([]);
  });

  test('weighs no more than its budget: a room, all of src, and files too small to be worth opening', () => {
    const weighed = readSources('src', /\.(?:ts|sql|js)$/).map(({ name, text }) => ({
      room: roomOf(name),
      lines: text.split('\n').length - 1,
    }));
    const linesOf = (room: string) => weighed.reduce((sum, one) => sum + (one.room === room ? one.lines : 0), 0);
    const heavier = ROOMS.filter((room) => linesOf(room) > (LINES_OF_ROOM[room] ?? 0)).map(
      (room) => `${room}: ${linesOf(room)} lines, ${LINES_OF_ROOM[room]} allowed`,
    );
    expect(heavier).toEqual([]);
    expect(weighed.reduce((sum, { lines }) => sum + lines, 0)).toBeLessThanOrEqual(LINES_OF_ALL);
    expect(weighed.filter(({ lines }) => lines < 25).length).toBeLessThanOrEqual(SMALL_FILES);
    // The page about the layout names the same figure.
    const page = readFileSync(path.resolve(SOURCE, '../docs/architecture.md'), 'utf8');
    expect(page).toContain(`, ${LINES_OF_ALL.toLocaleString('en')}: the budget`);
  });

  test('has the text that each broken build replaces, once, and the test that is red on it', () => {
    const read = (file: string): string => readFileSync(path.resolve(SOURCE, '..', file), 'utf8');
    const wrong = [...MONEY, ...PROMISES].filter(
      ({ file, find, test: red }) =>
        read(file).split(find).length !== 2 || (red !== undefined && !read(red.file).includes(red.title)),
    );
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });
});
