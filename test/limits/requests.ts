import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { createAccount } from '#src/accounts/repository.ts';
import { fillBox } from '#test/harness/largest-event.ts';
import type { Met, NeighbourData } from './watch-neighbour.ts';
import { demand, HEALTH_MS, openEvent, show, type World } from './world.ts';

/** Another customer’s request, whatever one account or a stranger does. */
const NEIGHBOUR_MS = 1_000;
const MIB = 2 ** 20;
const SECONDS = 4;
const AT_ONCE = 8;
/** As many connections as one browser’s worth of scripts opens without effort. */
const FLOOD = 240;
const SIZE = { positions: 100, candidates: 1_000 };

/** One request that is made over and over. */
interface Attack {
  readonly what: string;
  readonly method?: string;
  readonly target: string;
  /** Left out: a stranger without a key. */
  readonly key?: string;
  readonly body?: string;
  /** How much of an answer is read before the client hangs up; left out: all. */
  readonly hangsUpAfter?: number;
  /** How many clients ask at the same time; `AT_ONCE` when left out. */
  readonly atOnce?: number;
}

async function makeOnce({ method = 'GET', target, key, body, hangsUpAfter }: Attack, base: string): Promise<void> {
  const gone = new AbortController();
  const response = await fetch(`${base}${target}`, {
    ...{ method, signal: gone.signal },
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > (hangsUpAfter ?? Number.POSITIVE_INFINITY)) return gone.abort();
  }
}

/** Texts of a length that are as hard to read as texts can be. */
const bodiesOf = (bytes: number): readonly (readonly [string, string])[] => [
  ['deep', '['.repeat(bytes / 2) + ']'.repeat(bytes / 2)],
  ['wide', `{"voters":[${'1,'.repeat(bytes / 2 - 10)}1]}`],
  ['digits', `{"title":${'9'.repeat(bytes - 20)}}`],
  ['one text', `{"title":"${'\\u0000'.repeat((bytes - 20) / 6)}"}`],
  [
    'many names',
    `{${Array.from({ length: bytes / 16 }, (_, at) => `"${at.toString(36).padStart(8, 'n')}":[]`).join(',')}}`,
  ],
];

/** A definition at the caps: some twenty megabytes. */
function largestDefinition(): string {
  const positions = Array.from({ length: 100 }, (_, at) => ({
    id: `p${at}`,
    title: `P${at}`,
    votingMethod: 'plurality',
  }));
  const positionIds = positions.map(({ id }) => id);
  const candidates = Array.from({ length: 1_000 }, (_, at) => ({
    ...{ id: `c${at}`, name: `C${at}`, description: '\u{1f5f3}'.repeat(5_000), positionIds },
  }));
  const event = { title: 'Large', type: 'poll' };
  return JSON.stringify({ version: 1, event, groups: [], positions, candidates, sponsors: [] });
}

async function keysOf({ deps }: World, name: string, plan: 'free' | 'enterprise') {
  const account = await createAccount(deps.db, deps, { name, plan });
  const keyOf = async (scopes: ('read' | 'write' | 'vote')[]) =>
    (
      await createApiKey(deps.db, deps, {
        ...{ accountId: account.id, name, scopes },
        votingEventId: null,
        expiresInDays: null,
      })
    ).key;
  return { read: await keyOf(['read']), write: await keyOf(['read', 'write']), vote: await keyOf(['vote']) };
}

/** The attacks by an account and by a stranger: every kind of large body, of costly answer, and of hanging up. */
async function listAttacks(world: World): Promise<Attack[]> {
  const { write: key, vote } = await keysOf(world, 'Hostile', 'enterprise');
  const own = { ...world, key };
  const large = await openEvent(own, SIZE);
  await fillBox(world.deps, large, SIZE, 2, 40);
  await demand(own, 'PATCH', `/voting-events/${large}`, { log: { open: true } });
  const event = `/voting-events/${large}`;
  const answers = [
    '',
    '/definition',
    '/candidates',
    '/positions',
    '/results',
    '/results/csv',
    '/results/json',
    '/results/pdf',
    '/results/cvr',
    '/votes',
    '/stats',
    '/voters/csv',
  ];
  const read = answers.map((path): Attack => ({ what: `GET ${path || 'the event'}`, target: `${event}${path}`, key }));
  const shown = ['/ballot', '/log/checkpoint', '/log/configurations'].map(
    (path): Attack => ({ what: `GET public ${path}`, target: `/public/voting-events/${large}${path}`, key: vote }),
  );
  const sent = [
    ['/voting-events/definition', 32, key],
    [`${event}/voters/import`, 32, key],
    [`${event}/voters/batch`, 1, key],
    [`/public/voting-events/${large}/ballot/cast`, 1, vote],
    ['/voting-events/definition', 4, undefined],
  ] as const;
  const bodies = sent.flatMap(([target, mib, by]) =>
    bodiesOf(mib * MIB - 64).map(([kind, body]): Attack => {
      const what = `POST ${target.split('/').slice(-2).join('/')} ${mib} MiB, ${kind}${by === undefined ? ', no key' : ''}`;
      return { what, method: 'POST', target, body, ...(by === undefined ? {} : { key: by }) };
    }),
  );
  const open = ['/reference', '/openapi.json', '/verify', '/log/checkpoint'].map(
    (target): Attack => ({ what: `GET ${target}, no key`, target }),
  );
  const several = { positions: 49, candidates: 100 };
  const polled = await openEvent(own, several);
  await fillBox(world.deps, polled, several, 100, 10);
  const votes = [{ positionId: 'pos_l_1', candidateId: 'cnd_l_1', rank: 1 }];
  const cast = JSON.stringify({ visitorId: 'vi_0123456789abcdef0123456789abcdef', votes });
  const floods: Attack[] = [
    { what: 'an address that is not there, no key', target: '/nope' },
    { what: 'GET /health', target: '/health' },
    { what: 'GET public event', target: `/public/voting-events/${polled}`, key: vote },
    { what: 'GET public /results of 4,900 rows', target: `/public/voting-events/${polled}/results`, key: vote },
    { what: 'POST cast', method: 'POST', target: `/public/voting-events/${polled}/ballot/cast`, key: vote, body: cast },
  ];
  return [
    ...floods.map((attack) => ({ ...attack, what: `${attack.what}, ${FLOOD} at once`, atOnce: FLOOD })),
    {
      what: 'POST definition, valid and at the caps',
      method: 'POST',
      target: '/voting-events/definition',
      key,
      body: largestDefinition(),
    },
    ...bodies,
    ...read,
    ...[...read, ...shown].map((attack) => ({ ...attack, what: `${attack.what}, hung up`, hangsUpAfter: 1_000 })),
    ...shown,
    ...open,
  ];
}

/** Shows, for each kind of request, what `/health` and another customer’s requests took while one client made it without a pause. */
export async function measureRequests(world: World, word = ''): Promise<void> {
  const keys = await keysOf(world, 'Neighbour', 'enterprise');
  const event = await openEvent({ ...world, key: keys.write }, { positions: 1, candidates: 3 });
  const votes = [{ positionId: 'pos_l_1', candidateId: 'cnd_l_1', rank: 1 }];
  const attacks = (await listAttacks(world)).filter(({ what }) => what.includes(word));
  if (attacks.length === 0) throw new Error(`no kind of request has "${word}" in its name`);
  const neighbour = new Worker(new URL('./watch-neighbour.ts', import.meta.url), {
    workerData: { base: world.base, event, keys, votes } satisfies NeighbourData,
  });
  const take = async (): Promise<Met> => {
    const heard = once(neighbour, 'message');
    neighbour.postMessage('');
    const [met] = (await heard) as [Met];
    return met;
  };
  const measure = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    await take();
    world.health.takeWorst();
    await work();
    const { requests, failed, p95Ms } = await take();
    process.stdout.write(`\n${what}: ${requests} requests of a neighbour\n`);
    show('  /health, slowest', world.health.takeWorst(), HEALTH_MS, 'ms');
    show('  a neighbour’s requests, p95', p95Ms, NEIGHBOUR_MS, 'ms');
    show('  a neighbour’s requests that failed', failed.length, 0, '');
    for (const fault of failed.slice(0, 3)) process.stdout.write(`           ${fault}\n`);
  };
  await measure('nothing', () => delay(SECONDS * 1_000));
  for (const attack of attacks)
    await measure(attack.what, async () => {
      const until = Date.now() + SECONDS * 1_000;
      const loop = async (): Promise<void> => {
        // A refusal, an end of the connection: all of it is an answer to who attacks.
        while (Date.now() < until) await makeOnce(attack, world.base).catch(() => delay(50));
      };
      await Promise.all(Array.from({ length: attack.atOnce ?? AT_ONCE }, loop));
    });
  await neighbour.terminate();
}
