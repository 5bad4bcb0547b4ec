import { setTimeout as delay } from 'node:timers/promises';
import { demand, type TestEvent } from '#test/harness/elections.ts';
import { runCommand, runVerifier } from '#test/harness/started-service.ts';
import { eventually, patiently } from '#test/harness/test-service.ts';
import { findMisplacedMoney } from '#test/money/where-money-is.ts';
import { GIVES_UP_MS } from './clients.ts';
import type { Acknowledged } from './people.ts';
import type { Chaos, Place } from './world.ts';

/** A client that repeats its request as the API reference says gets an answer within this time of the last fault. */
const MOST_UNANSWERED_MS = 10_000;
export const SETTLES_MS = 90_000;
const LOOK_EVERY_MS = 250;

export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** How long the longest of the requests waited while nothing was wrong, up to its answer. */
function judgePatience({ asked, amiss }: Chaos, faults: readonly Interval[]): number {
  let longest = 0;
  for (const { what, beganAt, answeredAt, tries, last } of asked) {
    const ended = faults.filter(({ from }) => from < answeredAt).map(({ to }) => Math.min(to, answeredAt));
    const ms = answeredAt - Math.max(beganAt, ...ended);
    longest = Math.max(longest, ms);
    if (ms > MOST_UNANSWERED_MS) amiss.push(`${what}: ${Math.round(ms)} ms without a fault, ${tries} tries (${last})`);
  }
  return Math.round(longest);
}

/** Asks every process all the time whether it is well, as a client that repeats its request until it is. @returns what ends it */
export function watchHealth({ places, asked, amiss }: Chaos): () => Promise<void> {
  let going = true;
  async function watch({ port }: Place): Promise<void> {
    while (going) {
      const beganAt = performance.now();
      let last = '';
      for (let tries = 1; ; tries += 1) {
        const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(5_000) }).catch(
          () => undefined,
        );
        const { data } = ((await answer?.json()) ?? {}) as { data?: { checks: Readonly<Record<string, string>> } };
        const isWell = answer?.status === 200 && data?.checks['worker'] === 'ok';
        if (isWell) asked.push({ what: 'GET /health', beganAt, answeredAt: performance.now(), tries, last });
        else last = JSON.stringify(data);
        await delay(LOOK_EVERY_MS);
        if (isWell) break;
        if (performance.now() - beganAt < GIVES_UP_MS) continue;
        amiss.push(`GET /health: not well after ${tries} tries (${last})`);
        break;
      }
    }
  }
  const watches = Promise.all(places.map(watch));
  return async () => {
    going = false;
    await watches;
  };
}

/** What an organizer reads of an event; undefined where the event is gone, which is amiss. */
async function readOf({ account, amiss }: Chaos, id: string, what: 'results' | 'stats') {
  const answer = await patiently(() => account.get(`/voting-events/${id}/${what}`));
  if (answer.status === 200) return demand(answer, 200);
  amiss.push(`${what} of ${id}: ${answer.status}`);
  return undefined;
}

async function countVotes(chaos: Chaos, event: TestEvent): Promise<ReadonlyMap<string, number>> {
  const { positions = [{ candidates: [] }] } = (await readOf(chaos, event.id, 'results')) ?? {};
  const [{ candidates }] = positions as [{ candidates: readonly { id: string; votesWon: number }[] }];
  return new Map(candidates.map(({ id, votesWon }) => [id, votesWon]));
}

async function judgeVotes(chaos: Chaos, { votes, elections }: Acknowledged): Promise<void> {
  const { amiss, places, account, settings, root } = chaos;
  for (const event of [chaos.poll, chaos.election, ...elections]) {
    const counted = await countVotes(chaos, event);
    for (const [id, count] of counted)
      if (count !== (votes.get(id) ?? 0))
        amiss.push(`${id}: ${votes.get(id) ?? 0} votes acknowledged, ${count} counted`);
  }
  for (const event of [chaos.poll, chaos.election]) {
    const recount = await runCommand(['recount', '--event', event.id], settings, root);
    if (recount.code !== 0) amiss.push(`the recount of ${event.id} ends with ${recount.code}: ${recount.stdout}`);
    // Of an open event some checks have nothing to look at yet.
    const { report } = await runVerifier(places[0]?.port ?? 0, event.id, account.vote);
    const checks: readonly { status: string }[] = report?.checks ?? [{ status: 'failed' }];
    const failed = checks.filter(({ status }) => status === 'failed');
    if (failed.length > 0) amiss.push(`the verifier says of ${event.id}: ${JSON.stringify(failed)}`);
  }
}

/** Waits until something has arrived everywhere. @param until by `performance.now()`; the same for all that is waited for */
async function judgeArrived(chaos: Chaos, until: number, what: string, missing: () => number): Promise<void> {
  const arrived = eventually(() => (missing() === 0 ? true : undefined), until - performance.now());
  await arrived.catch(() => chaos.amiss.push(`${what}: ${missing()} did not arrive`));
}

/** Each added voter has one message, which may arrive several times; the last message of an event names all its ballots. */
async function judgeMessages(chaos: Chaos, until: number, { added, votes, elections }: Acknowledged): Promise<void> {
  const bodies = () => chaos.receiver.received.map(({ body }) => JSON.parse(body));
  const ofVoters = () => bodies().filter(({ type }) => type === 'voter.created');
  const named = () => new Set(ofVoters().map(({ data }) => data.email));
  await judgeArrived(chaos, until, 'webhooks of voters', () => added.filter((email) => !named().has(email)).length);
  const messages = new Set(ofVoters().map(({ id }) => id)).size;
  if (messages > added.length) chaos.amiss.push(`${messages} messages of ${added.length} voters`);
  for (const { id, positions } of [chaos.poll, chaos.election, ...elections]) {
    const confirmed = (positions[0]?.candidates ?? []).reduce((sum, one) => sum + (votes.get(one) ?? 0), 0);
    const last = () =>
      bodies().filter(({ type, votingEventId }) => type === 'ballot.confirmed' && votingEventId === id);
    const said = () => Math.max(0, ...last().map(({ data }) => data.ballots));
    await judgeArrived(chaos, until, 'the last count of ballots', () => Math.abs(confirmed - said()));
  }
}

/** What must not be left in the database: claims of idempotency keys by living processes, and open transactions. */
const LEFT = `SELECT (SELECT count(*)::int FROM idempotency_keys WHERE status IS NULL AND NOT is_claim_abandoned(claim)) AS claims,
  (SELECT count(*)::int FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND datname = current_database()) AS transactions`;

/** Once all have their answers, nothing is held for any of them: each figure is seen at 0, beside what jobs do. */
async function judgeHeld({ amiss, places, merchant }: Chaos): Promise<void> {
  let left: readonly string[] | undefined;
  const look = async (): Promise<true | undefined> => {
    const lists = await Promise.all(places.map(async ({ running }) => (await running?.held()) ?? { processes: -1 }));
    const { rows } = await merchant.query(LEFT);
    const held = [...lists, ...rows].flatMap((list: object, at) =>
      Object.entries(list).flatMap(([kind, count]) => (count === 0 ? [] : `${at}: ${kind}`)),
    );
    left = left === undefined ? held : left.filter((one) => held.includes(one));
    return left.length === 0 ? true : undefined;
  };
  await eventually(look, MOST_UNANSWERED_MS).catch(() =>
    amiss.push(`still held 10 s after the last request: ${left?.join(', ')}`),
  );
}

/** Holds everything that was acknowledged against what is there. @returns the longest wait without a fault, ms */
export async function judge(chaos: Chaos, done: Acknowledged, faults: readonly Interval[]): Promise<number> {
  const { amiss, merchant, shops } = chaos;
  await judgeHeld(chaos);
  await judgeVotes(chaos, done);
  let total = 0;
  for (const { id } of [chaos.roll, ...done.elections]) {
    const { voters } = (await readOf(chaos, id, 'stats')) ?? {};
    total += voters?.total ?? 0;
  }
  if (total !== done.added.length) amiss.push(`${done.added.length} voters were added, ${total} are there`);
  const until = performance.now() + SETTLES_MS;
  await judgeMessages(chaos, until, done);
  const addressed = () => new Set(chaos.mails.taken.map(({ to }) => to));
  await judgeArrived(chaos, until, 'keys by mail', () => done.mailed.filter((email) => !addressed().has(email)).length);
  for (const shop of shops) amiss.push(...(await findMisplacedMoney(merchant, shop)));
  const { rows } = await merchant.query('SELECT id, status, refunded_at FROM payment_attempts WHERE id = ANY ($1)', [
    [...done.paid],
  ]);
  for (const row of rows)
    if (row.status !== 'fulfilled' || row.refunded_at !== null)
      amiss.push(`a confirmed vote whose payment is ${row.status}`);
  return judgePatience(chaos, faults);
}
