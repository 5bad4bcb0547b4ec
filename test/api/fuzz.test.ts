import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { EXAMPLE } from '#src/http/example-values.ts';
import { readContract } from '#test/harness/api-document.ts';
import { fieldOf, figure, type Place, type Schema, Shapes } from '#test/harness/broken-bodies.ts';
import { fill, type Names, type Staged, stageEvents } from '#test/harness/every-phase.ts';
import { planOf } from '#test/harness/example-world.ts';
import { KINDS } from '#test/harness/met.ts';
import { listOperations } from '#test/harness/operations.ts';
import { usePaidService } from '#test/harness/payments.ts';
import { type Example, listExamples, targetOf } from '#test/harness/send-examples.ts';
import { patiently, type TestAccount, type TestAnswer } from '#test/harness/test-service.ts';
import { useOwnServer } from '#test/harness/use.ts';
import { createRandom } from '#test/second-count/random-elections.ts';

// PostgreSQL gives an ID only to a transaction that writes. If the server's next ID is the same before and after a refused request,
// the request wrote nothing. Other tests would use up IDs, so this one has a server of its own.
const { service } = await usePaidService({ worker: false, databaseUrl: await useOwnServer('fuzz') });
const { met } = service;
const account = await service.account();

/** Replays one run: `FUZZ_SEED=8 npm test`. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 7);
const REQUESTS = 2_500;
/** So many are drawn of all ways in which a valid body can be wrong in one place, and of all valid requests in every event. */
const CASES = Number(process.env['FUZZ_CASES'] ?? 1_500);

const FIELDS =
  'title type code status name email voterId groupId weight positionIds votes visitorId voterKey confirmationCode description startsAt endsAt timeZone voter candidate ballot results payments votingMethod seats minSelections maxSelections scoreMin scoreMax cumulativePointBudget quadraticBaseCreditBudget quadraticTopUp tieBreak rules sortOrder referendumRole avatarUrl logoUrl websiteUrl tier voters countryCode returnUrl paymentAttemptId'.split(
    ' ',
  );
const ODD = [
  ...[null, true, 0, -1, 1.5, 1e21, Number.MAX_SAFE_INTEGER, 2 ** 31, 1e-7, '', ' ', '%', "'; --", '\\'],
  ...['\u0000', '\ud800', '\u202e', '\u200d', '🗳️', 'x'.repeat(5_000), 'a@b.example', 'vi_0123456789abcdef'],
  ...['https://a.example/', 'Europe/Berlin'],
  ...'election poll open closed plurality approval referendum score cumulative quadratic ranked_choice'.split(' '),
  ...['lot', 'yes', '__proto__', 'constructor', [], {}, [[]], [null], { numerator: 1, denominator: 0 }],
  ...[
    { amountMinor: 1, currency: 'usd' },
    { selfRegistration: true, requireVoterId: false },
  ],
];

describe('no input', () => {
  test(`makes a 5xx: ${REQUESTS} requests of odd values to every route that takes a body or a query`, async () => {
    const random = createRandom(SEED);
    const event = await account.event({ candidate: { selfRegistration: true } }, [
      { votingMethod: 'score', candidates: ['Ada', 'Bea'] },
      { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea'] },
    ]);
    const known = [event.id, event.code, ...event.positions.flatMap(({ id, candidates }) => [id, ...candidates])];
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
    const value = (depth = 0): unknown => {
      if (random(5) === 0) return pick(known);
      if (depth < 2 && random(4) === 0) {
        const names = FIELDS.concat('positionId', 'candidateId', 'value', 'rank');
        const entries = Array.from({ length: random(4) }, () => [pick(names), value(depth + 1)]);
        return random(2) === 0 ? Object.fromEntries(entries) : entries.map(([, item]) => item);
      }
      return pick(ODD);
    };
    const routes = listOperations(service.deps);
    const failed: unknown[] = [];
    for (let count = 0; count < REQUESTS; count += 1) {
      const route = pick(routes);
      // Deleting what is there would only end the run early.
      const isDelete = route.method === 'DELETE';
      const target = route.path.replaceAll(/:\w+(?:\{\.\+\})?/g, () =>
        encodeURIComponent(isDelete || random(4) === 0 ? 'x' : pick(known)),
      );
      const query =
        route.method === 'GET' && random(2) === 0
          ? `?${pick(['limit', 'cursor', 'search', 'seed', 'status', 'voted', 'positionId', 'x'])}=${encodeURIComponent(String(pick(['1', '', '%', 'true', 'AAAA', '\\', 'x'.repeat(300), '٣'])))}`
          : '';
      const body =
        route.method === 'GET' || isDelete
          ? undefined
          : Object.fromEntries(Array.from({ length: random(6) }, () => [pick(FIELDS), value()]));
      const key = [route.scope].flat().includes('vote') ? account.vote : account.write;
      const answer = await service.call(route.method, target + query, body, { key });
      if (answer.status >= 500)
        failed.push({ operation: route.operationId, target: target + query, body, answer: answer.body });
    }
    expect(failed).toEqual([]);
  });
});

const nested = (depth: number): unknown => Array.from({ length: depth }).reduce<unknown>((inner) => [inner], 1);
/** As the value of a field, each may cost a reader the square of its length. */
const HOSTILE: Readonly<Record<string, unknown>> = {
  'long digits': figure(`0.1${'0'.repeat(300_000)}1`),
  'a long figure': figure('9'.repeat(300_000)),
  'a long run': `a${' '.repeat(300_000)}a`,
  'marks in a bad order': `a${'\u0316\u0301'.repeat(80_000)}`,
  'a long name': { ['n'.repeat(300_000)]: 1 },
  'many names': Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`n${index}`, 1])),
  depth: nested(2_000),
  width: Array.from({ length: 100_000 }, () => 1),
};

const random = createRandom(SEED);
const shuffle = <T>(some: readonly T[]): T[] =>
  some
    .map((one) => [random(2 ** 31), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);

/** What is counted of requests, refused ones too, and what processes say of themselves. */
const APART = ['rate_limits', 'request_traces', 'service_processes', 'job_runners', 'api_keys', 'voter_key_failures'];

/** The tables with rows that were written or deleted since it was asked last: a row carries the number of its transaction. */
async function watchRows() {
  const { deps, query } = service;
  const tables = await query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL ($1)`,
    [APART],
  );
  const figures = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, count(*) || ' ' || coalesce(max(xmin::text::bigint), 0) AS rows FROM ${name}`,
  );
  // Named, so that it is planned once.
  const statement = { name: 'watch_rows', text: figures.join(' UNION ALL ') };
  let [until, known] = ['', new Map<string, string>()];
  const look = async (): Promise<readonly string[]> => {
    const [{ at }] = await query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS at');
    // No transaction of the whole server has written since.
    if (at === until) return [];
    const { rows } = await deps.db.$client.query<{ name: string; rows: string }>(statement);
    const changed = rows.filter((row) => known.get(row.name) !== row.rows).map(({ name }) => name);
    [until, known] = [at, new Map(rows.map((row) => [row.name, row.rows]))];
    return changed;
  };
  await look();
  return look;
}

const { document } = await readContract(service.port);
const shapes = new Shapes(document.components.schemas as Readonly<Record<string, Schema>>);
const examples = (await listExamples(service))
  .filter(({ route }) => route.bytes === undefined)
  // That of an import takes what is right of it, and refuses the rest.
  .map((one) => (one.name === 'importRoll' ? { ...one, body: { ...(one.body as object), mode: 'all' } } : one));
const withBody = examples.filter(({ body, route }) => body !== undefined && route.scope !== 'none');
const staged = await stageEvents(service);
const changedRows = await watchRows();

const eventOf = (name: string): Staged => {
  const found = staged.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
};

/** The event that an example works in. */
function homeOf({ name, route }: Example): Staged {
  const { type, paid, quadratic, logged } = planOf(name, route.path);
  if (paid || quadratic || /ayment/.test(name)) return eventOf('paid poll');
  return eventOf(name === 'replaceDefinition' ? 'draft election' : logged ? 'final poll' : `open ${type}`);
}

const schemaOf = ({ operation, kind }: Example): Schema =>
  kind === '' ? ((operation.requestBody?.content['application/json']?.schema ?? {}) as Schema) : { $ref: kind };

function keyFor({ route }: Example, { vote, write }: TestAccount): string | undefined {
  const scopes = [route.scope].flat();
  return scopes.includes('none') ? undefined : scopes.includes('vote') ? vote : write;
}

interface Sent {
  readonly example: Example;
  readonly home: Staged;
  readonly names?: Names;
  /** In place of the example's. */
  readonly body?: unknown;
  readonly query?: string;
  /** Breaks the body once its names are real. */
  readonly change?: (body: unknown) => unknown;
}
const wrong: unknown[] = [];

/** What a refusal leaves on purpose: the trail of who asked about a ballot, and that a key was used. */
const LEFT_BY_REFUSALS: Readonly<Record<string, string>> = {
  ...{ 'updateVoter 409': 'audit_entries', 'changeVoters 409': 'audit_entries', 'deleteVoter 409': 'audit_entries' },
  'castBallot CastElectionBallotInput 422': 'voters',
};

/** Sends an example, and notes a 5xx and a refusal that has changed something. */
async function send({ example, home, names = home.names, query = '', ...rest }: Sent): Promise<TestAnswer> {
  const key = keyFor(example, home.account);
  const printed = rest.body ?? example.body ?? null;
  const [path, body] = JSON.parse(fill(JSON.stringify([targetOf(example), printed]), names));
  const target = query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
  const { method } = example.route;
  const sent = body === null ? undefined : (rest.change ?? ((same: unknown) => same))(body);
  const ask = () => service.call(method, target, sent, key === undefined ? {} : { key });
  // An address may ask only so often without a key.
  const answer = await (key === undefined ? patiently(ask) : ask());
  const kept = LEFT_BY_REFUSALS[`${example.name} ${answer.status}`] ?? '';
  const changed = (await changedRows()).filter((table) => table !== kept);
  if (answer.status >= 500 || (answer.status >= 400 && answer.status !== 402 && changed.length > 0))
    wrong.push({ target, sent, status: answer.status, answer: answer.body, changed });
  return answer;
}

/** What is printed of a failure must be short. */
const note = (answer: TestAnswer, ...words: unknown[]): void =>
  void wrong.push([...words, answer.status, JSON.stringify(answer.body)?.slice(0, 300)].join(' '));
const fieldIn = ({ body }: TestAnswer): unknown => body?.error?.details?.field;

/** The fields that hold an ID, by the end of their name, and what stands there. */
const ID_FIELDS: Readonly<Record<string, string>> = {
  ...{ groupId: EXAMPLE.group, positionId: EXAMPLE.position, candidateId: EXAMPLE.candidate },
  ...{ paymentBusinessId: EXAMPLE.business, paymentAttemptId: EXAMPLE.payment, votingEventCode: EXAMPLE.eventCode },
  ...{ 'positionIds[0]': EXAMPLE.position, 'candidateIds[0]': EXAMPLE.candidate, 'voterIds[0]': EXAMPLE.voter },
};
const IDS = Object.values(EXAMPLE)
  .map(String)
  .filter((value) => value.includes('_01m8wz') || value === EXAMPLE.eventCode);
/** What belongs to an account, and stands in each of its events. */
const OF_ACCOUNT: readonly unknown[] = [
  EXAMPLE.business,
  EXAMPLE.endpoint,
  EXAMPLE.delivery,
  EXAMPLE.event,
  EXAMPLE.eventCode,
];

/** What the examples do not do, and is valid somewhere. */
const MORE: Readonly<Record<string, readonly unknown[]>> = {
  createVotingEvent: [{ title: 'Of a code', type: 'poll', code: 'TAKEN123' }],
  updateVotingEvent: [
    ...[{ code: 'TAKEN123' }, { type: 'poll' }, { voter: { requireVoterId: true } }, { endsAt: Date.now() + 9e8 }],
    ...[{ startsAt: Date.now() + 9e7 }, { results: { visibility: 'published' } }, { payments: { payToVote: null } }],
    ...[{ payments: { payToVote: { amountMinor: 500, currency: 'usd' } } }],
    ...['rehearsal', 'draft', 'closed', 'open'].map((status) => ({ status })),
  ],
  createGroup: [{ name: 'South' }],
  updatePosition: [{ groupId: EXAMPLE.group }, { title: 'Another' }, { seats: 2, maxSelections: 2 }],
  updateCandidate: [{ name: 'Another' }, { status: 'withdrawn' }, { positionIds: [EXAMPLE.position] }],
  updateVoter: [{ email: 'voted@club.example' }, { weight: 5 }, { status: 'rejected' }, { groupId: EXAMPLE.group }],
  notifyVoters: [{ audience: 'all', kind: 'reminder', beforeOpening: true }],
  mailVoterKey: [{}],
  'castBallot CastPollBallotInput': [
    {
      visitorId: EXAMPLE.visitor,
      votes: [{ positionId: EXAMPLE.position, candidateId: EXAMPLE.candidate, value: 50 }],
    },
  ],
};
/** What ends more comes later. */
const ENDS = [
  ...[
    /^get|^list/,
    /^(create|print|notify|mail|register|cast|confirm|buy|check)/,
    /^(?!.*(delete|change|refund|replace))/,
  ],
  ...[/^(?!deleteVotingEvent)/, /./],
];

describe('a valid request with one thing wrong', () => {
  beforeEach(async () => void (await changedRows()));

  test(`in its body is refused for that field: ${CASES} of all ways, seed ${SEED}`, async () => {
    const all = withBody.flatMap((example) => {
      const schema = schemaOf(example);
      const places: Place[] = [{ names: [], schema, kind: 'optional' }, ...shapes.places(schema)];
      return places.flatMap((place) =>
        shapes
          .breaks(place)
          // Without its only field it is a body of the other shape.
          .filter(([how]) => example.kind !== 'FinishPaymentInput' || how !== 'left out')
          .map(([how, value]) => ({ example, schema, place, how, value })),
      );
    });
    for (const { example, schema, place, how, value } of shuffle(all).slice(0, CASES)) {
      const change = (whole: unknown) => shapes.put(whole, schema, place.names, value);
      const answer = await send({ example, home: homeOf(example), change });
      const field = fieldOf(place.names);
      if (answer.status !== 422 || fieldIn(answer) !== field) note(answer, example.name, field, how);
    }
    expect(wrong.splice(0)).toEqual([]);
    expect(all.length).toBeGreaterThan(5_000);
  });

  test('that is long, deep or wide is refused soon', async () => {
    const refused = new Set<string>();
    for (const [at, example] of withBody.entries()) {
      const schema = schemaOf(example);
      const [field, ...more] = shapes
        .places(schema)
        .filter(({ names, kind }) => names.length === 1 && kind !== 'unknown');
      for (const { names } of [field, more[at % more.length]].filter((one) => one !== undefined))
        for (const [kind, value] of Object.entries(HOSTILE)) {
          const change = (whole: unknown) => shapes.put(whole, schema, names, value);
          const answer = await send({ example, home: homeOf(example), change });
          // Any text may be asked for as a voter key, and is a wrong one (completions 4.5).
          const isAsked = names[0] === 'voterKey' && typeof value === 'string' && answer.body.data?.eligible === false;
          if (answer.status < 400 && !isAsked) note(answer, example.name, names, kind);
          if (kind.startsWith('long') && answer.status === 422 && fieldIn(answer) === names[0])
            refused.add(example.name);
        }
    }
    expect(wrong.splice(0)).toEqual([]);
    expect(refused.size).toBeGreaterThan(25);
  });

  test('in its query is refused for that parameter', async () => {
    for (const example of examples) {
      const parameters = (example.operation.parameters ?? []).filter((one) => one['in'] === 'query');
      const ways = parameters.flatMap(({ name, schema, required }) => {
        const place: Place = { names: [], schema: schema as Schema, kind: 'optional' };
        const values = shapes
          .breaks(place)
          .filter(([how]) => place.schema.type !== 'string' || !/type|kept/.test(how))
          .map(([, value]) => value)
          .filter((value) => typeof value === 'string' || typeof value === 'number');
        // A required one stands there already, and is then given twice.
        return [...values, ...(required === true ? ['x'] : [])].map((value) => [String(name), String(value)] as const);
      });
      for (const [name, value] of [...ways, ['noSuchField', '1'] as const]) {
        const answer = await send({ example, home: homeOf(example), query: `${name}=${encodeURIComponent(value)}` });
        if (answer.status !== 400 || fieldIn(answer) !== name) note(answer, example.name, name, value.slice(0, 40));
      }
    }
    expect(wrong.splice(0)).toEqual([]);
  });

  test('in an ID is refused as for an ID of nothing, whether it is of another event or of another account', async () => {
    const plain = ({ status, body }: TestAnswer, id: string) =>
      JSON.stringify([status, { ...body?.error, requestId: '' }]).replaceAll(id, 'ID');
    for (const example of examples) {
      const home = homeOf(example);
      const inPath = IDS.filter((id) => targetOf(example).includes(id)).map((id) => ({ id, body: example.body }));
      const schema = schemaOf(example);
      // In a file of an event, IDs are its own.
      const places = example.name.endsWith('Definition') ? [] : shapes.places(schema);
      const inBody = places.flatMap(({ names }) => {
        const id = ID_FIELDS[fieldOf(names).split('.').at(-1) ?? ''];
        return id === undefined ? [] : [{ id, body: shapes.put(example.body, schema, names, id) }];
      });
      for (const { id, body } of [...inPath, ...inBody]) {
        const { [id]: _, ...names } = home.names;
        const away = eventOf(home.name === 'paid poll' ? 'open election' : 'paid poll').names[id];
        const beside = OF_ACCOUNT.includes(id) ? undefined : eventOf('closed election').names[id];
        const unknown = await send({ example, home, names, body });
        if (unknown.status < 400) note(unknown, example.name, id, 'is of nothing');
        for (const other of [away, beside]) {
          if (other === undefined) continue;
          const answer = await send({ example, home, names: { ...names, [id]: other }, body });
          if (plain(answer, other) !== plain(unknown, id)) note(answer, example.name, id, 'is not', plain(unknown, id));
        }
      }
    }
    expect(wrong.splice(0)).toEqual([]);
  });

  test('in the event that it is about, in who is named, or sent once more, has an answer of the document', async () => {
    const all = staged.flatMap((home) =>
      examples.flatMap((example) =>
        [example.body, ...(MORE[example.name] ?? [])].flatMap((body) => {
          const text = JSON.stringify([targetOf(example), body ?? null]);
          if (fill(text, home.names) === text && home !== homeOf(example)) return [];
          const others = home.others.filter((names) => fill(text, names) !== text);
          return [{}, ...others].map((names) => ({ example, home, names: { ...home.names, ...names }, body }));
        }),
      ),
    );
    const rank = ({ example }: { readonly example: Example }): number =>
      ENDS.findIndex((some) => some.test(example.name));
    for (const one of shuffle(all)
      .slice(0, CASES)
      .toSorted((a, b) => rank(a) - rank(b))) {
      const { status } = await send(one);
      if (status < 300 && one.example.route.method === 'POST') await send(one);
    }
    expect(wrong.splice(0)).toEqual([]);
  });
});

test('what it met, and what it never does', () => {
  console.info(met.confess('fuzz'));
  expect(met.faults('fuzz', { operations: 130, reasons: 30 })).toEqual([]);
  const [operations, reasons, actions, bounds, pairs] = KINDS.map((kind) => met.figures()[kind][1]);
  expect(readFileSync(path.resolve(import.meta.dirname, '../../docs/reliability.md'), 'utf8')).toContain(
    `Of ${operations} operations, ${reasons} reasons of refusals, ${actions} actions in phases of an event, ${bounds} bounds of settings and ${pairs} pairs of features:`,
  );
});
