import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { signCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { listEventsToTend } from '#src/ballot-log/due-repository.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { LEAST_WHILE_OPEN } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import { demand } from '#test/harness/answers.ts';
import { LogReader, verifyOverHttp } from '#test/harness/ballot-log.ts';
import {
  finishEvent,
  PLURALITY,
  sealBallots,
  type TestEvent,
  tendLog,
  visitor,
  votesFor,
} from '#test/harness/elections.ts';
import { setEvent } from '#test/harness/genuine-rows.ts';
import { openLogPromise } from '#test/harness/read-log-proofs.ts';
import { type TestService, untilTrue, useAccount } from '#test/harness/test-service.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const { service, account } = await useAccount();

const logOf = ({ id }: TestEvent) => new LogReader(service, id, account.vote);

async function cast(event: TestEvent): Promise<string> {
  const body = { visitorId: visitor(), votes: votesFor(event) };
  return demand(await account.page(event, 'ballot/cast', body), 201).confirmationCode;
}

async function confirm({ id }: TestEvent, confirmationCode: string, by: Pick<TestService, 'call'> = service) {
  const path = `/public/voting-events/${id}/ballot/confirm`;
  return demand(await by.call('POST', path, { confirmationCode }, { key: account.vote }), 200);
}
const confirmNew = async (event: TestEvent, ballots = 1): Promise<void> => {
  for (let index = 0; index < ballots; index += 1) await confirm(event, await cast(event));
};

const promisedBy = async (event: TestEvent, logPromise: string): Promise<number> =>
  openLogPromise(logPromise, await logOf(event).verifier()).untilMs;

const moveEnd = (event: TestEvent, endsAt: number | null) => account.of(event).change('', { endsAt });

const tend = ({ id }: TestEvent) => tendLog(sealDeps(service.deps), id, LEAST_WHILE_OPEN);

const isListed = async ({ id }: TestEvent): Promise<boolean> =>
  (await listEventsToTend(service.deps.db, LEAST_WHILE_OPEN)).includes(id);

/** Tends the log until nothing is left to do: a job may be at it at the same moment. */
const tendAll = (event: TestEvent) =>
  untilTrue(async () => {
    await tend(event);
    return !(await isListed(event));
  });

const waiting = async ({ id }: TestEvent): Promise<number> =>
  (await service.query('SELECT 1 FROM ballot_queue WHERE voting_event_id = $1', [id])).length;

/** As if so much time had gone by since these ballots were confirmed. */
const letTimePass = ({ id }: TestEvent, ms: number) =>
  service.query('UPDATE ballot_queue SET due_at = due_at - $2 WHERE voting_event_id = $1', [id, ms]);

describe('the promise of a confirm', () => {
  test('names a day after the end and its 15 minutes, as the end stood at the confirm', async () => {
    const endsAt = Date.now() + 3 * DAY_MS;
    const event = await account.event({ endsAt });
    const [early, late] = [await cast(event), await cast(event)];
    const first = await confirm(event, early);
    expect(await promisedBy(event, first.logPromise)).toBe(endsAt + 15 * MINUTE_MS + DAY_MS);
    await moveEnd(event, endsAt + DAY_MS);
    const second = await confirm(event, late);
    expect(await promisedBy(event, second.logPromise)).toBe(endsAt + 15 * MINUTE_MS + 2 * DAY_MS);
    // What was promised stays: asked again later, after a change of the end, and once it is sealed.
    expect(await confirm(event, early)).toEqual(first);
    await sealBallots(service, event.id);
    expect([await confirm(event, early), await confirm(event, late)]).toEqual([first, second]);
  });

  test('names two days after the confirm where the event has no end, and the same date ever after', async () => {
    const event = await account.event();
    const code = await cast(event);
    const confirmed = await confirm(event, code);
    const until = await promisedBy(event, confirmed.logPromise);
    expect(until).toBe(confirmed.submittedAt + 2 * DAY_MS);
    await moveEnd(event, Date.now() + 9 * DAY_MS);
    expect(await confirm(event, code)).toEqual(confirmed);
    await finishEvent(service, event.id);
    expect(await confirm(event, code)).toEqual(confirmed);
  });

  test('goes by the end that stands in the database, also in a process that has read an earlier one', async () => {
    await using other = await service.another();
    for (let round = 1; round <= 5; round += 1) {
      const event = await account.event({ endsAt: Date.now() + DAY_MS });
      const code = await cast(event);
      const path = `/public/voting-events/${event.id}`;
      demand(await other.call('GET', path, undefined, { key: account.vote }), 200);
      const endsAt = Date.now() + (round + 1) * DAY_MS;
      // No notice of the change has reached the other process yet.
      await setEvent(service, event.id, sql`ends_at = ${endsAt}`);
      const { logPromise } = await confirm(event, code, other);
      expect(await promisedBy(event, logPromise)).toBe(endsAt + 15 * MINUTE_MS + DAY_MS);
    }
  });
});

describe('ballots that wait for others', () => {
  test('are sealed 24 hours after the confirm in an event without an end, however few they are', async () => {
    const event = await account.event();
    await confirmNew(event, 2);
    await tendAll(event);
    await letTimePass(event, DAY_MS - MINUTE_MS);
    await tendAll(event);
    expect(await waiting(event)).toBe(2);
    expect(await isListed(event)).toBe(false);
    await letTimePass(event, MINUTE_MS);
    expect(await isListed(event)).toBe(true);
    // One that came since goes along: it is mixed with them.
    await confirmNew(event);
    await tendAll(event);
    expect(await waiting(event)).toBe(0);
  });

  test('are sealed when they were first promised to be, though the end was moved to later', async () => {
    const endsAt = Date.now() + DAY_MS;
    for (const later of [endsAt + 30 * DAY_MS, null]) {
      const event = await account.event({ endsAt });
      await confirmNew(event);
      await moveEnd(event, later);
      await letTimePass(event, DAY_MS);
      await tendAll(event);
      expect(await waiting(event)).toBe(1);
      await letTimePass(event, 15 * MINUTE_MS);
      await tendAll(event);
      expect(await waiting(event)).toBe(0);
    }
  });

  test('of an election that is sealed once are sealed earlier only when a promise asks for it', async () => {
    const endsAt = Date.now() + DAY_MS;
    const event = await account.event({ type: 'election' }, PLURALITY, false);
    await account.of(event).make('/voters', { name: 'A voter', voterId: 'V-1' });
    await account.of(event).change('', { status: 'open', endsAt });
    await tendAll(event);
    const box = 'voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, due_at';
    const ballot = [event.id, Buffer.alloc(32), Buffer.alloc(6), endsAt + 15 * MINUTE_MS];
    await service.query(`INSERT INTO ballot_queue (${box}) VALUES ($1, 'bal_1', $2, '', 1000000, $2, $3, $4)`, ballot);
    await tendAll(event);
    expect([await isListed(event), await waiting(event)]).toEqual([false, 1]);
    await letTimePass(event, 2 * DAY_MS);
    expect(await isListed(event)).toBe(true);
  });
});

describe('the signed head', () => {
  const confirmedOf = async (event: TestEvent) => (await logOf(event).checkpoint()).confirmed;
  test('counts every confirmed ballot, sealed or not, and is renewed while the count changes', async () => {
    const event = await account.event();
    await tendAll(event);
    expect(await confirmedOf(event)).toBe(0);
    const sizes = new Set<number>();
    for (let confirmed = 1; confirmed <= 9; confirmed += 1) {
      await confirmNew(event);
      expect(await isListed(event)).toBe(true);
      await tendAll(event);
      expect(await confirmedOf(event)).toBe(confirmed);
      sizes.add((await logOf(event).checkpoint()).size);
    }
    expect([...sizes]).toEqual([1, 6]);
    await finishEvent(service, event.id);
    expect(await confirmedOf(event)).toBe(9);
    expect(await checkLog(service.deps, event.id)).toBeUndefined();
  });

  test('is well in the eyes of a check during which ballots are confirmed, sealed and signed for', async () => {
    const event = await account.event();
    await confirmNew(event, 3);
    await tendAll(event);
    const { checkpoints } = service.deps;
    const moving = {
      async recall(eventId: string) {
        await confirmNew(event, 4);
        await tendAll(event);
        return checkpoints.recall(eventId);
      },
    };
    expect(await checkLog({ ...service.deps, checkpoints: moving }, event.id)).toBeUndefined();
    expect(await confirmedOf(event)).toBe(7);
  });

  test('shows that ballots which waited are gone: to the sequencer, the check, and a reader with an earlier one', async () => {
    const event = await account.event();
    await confirmNew(event, 3);
    await tendAll(event);
    const log = logOf(event);
    const since = String((await log.get('checkpoint')).body);
    const most = 'DELETE FROM ballot_queue WHERE voting_event_id = $1 AND id < (SELECT max(id) FROM ballot_queue)';
    await service.behindTheGuards([most, [event.id]]);
    expect(await waiting(event)).toBeLessThan(3);
    await expect(tend(event)).rejects.toThrow(LogSetBack);
    expect(await checkLog(service.deps, event.id)).toMatch('the log was signed with more ballots than there are');
    // Who holds the signing key, too, and signs what is left.
    await service.behindTheGuards(['UPDATE ballot_logs SET confirmed = 0 WHERE voting_event_id = $1', [event.id]]);
    await expect(tend(event)).rejects.toThrow(LogSetBack);
    const { logKey } = service.deps;
    const head = await log.checkpoint();
    const note = signCheckpoint({ ...head, confirmed: 1 }, logKey);
    await service.query('UPDATE ballot_logs SET note = $2 WHERE voting_event_id = $1', [event.id, note]);
    const { checks } = await verifyOverHttp(service, event.id, account.vote, since);
    expect(checks.at(-1)).toMatchObject({ name: 'confirmed', status: 'failed' });
  });
});
