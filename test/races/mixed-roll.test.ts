import { expect, test } from 'vitest';
import { sequenceLog, sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { generateKeySeed, hashStoredKey, makeVoterKey } from '#src/voters/voter-key.ts';
import { sealDeps } from '#src/work.ts';
import { demand, votesFor } from '#test/harness/elections.ts';
import { eventually, patiently, untilTrue } from '#test/harness/test-service.ts';
import { useTwoProcesses } from './two-processes.ts';

const VOTERS = 200;
const DELETED = 20;

const { first: service, second: other, account, either, page } = await useTwoProcesses();

const LOCK_NOT_AVAILABLE = '55P03';

/** Of what failed: false for a lock that was not free in time; every other fault is thrown on. */
function orLocked(fault: unknown): false {
  for (let one = fault; one instanceof Error; one = one.cause)
    if ('code' in one && one.code === LOCK_NOT_AVAILABLE) return false;
  throw fault;
}

test('a roll that is mixed while people vote, get keys and are deleted loses nobody, and lets nobody vote twice', async () => {
  const event = await account.event({ type: 'election' });
  const voters: { id: string; email: string; voterKey: string }[] = [];
  for (let batch = 0; batch < VOTERS; batch += 100) {
    const rows = Array.from({ length: 100 }, (_, at) => ({ name: 'V', email: `v${batch + at}@mail.example` }));
    const added = await account.make(`/voting-events/${event.id}/voters/batch`, { voters: rows });
    const holder = { votingEventId: event.id, id: '', keyGeneration: 0 };
    const voterKey = (): string => makeVoterKey(service.deps.secrets, holder, generateKeySeed());
    voters.push(...added.map((voter: { id: string; email: string }) => ({ ...voter, voterKey: voterKey() })));
  }
  await service.query(
    'INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) SELECT $1, id, hash FROM unnest($2::text[], $3::bytea[]) AS key(id, hash)',
    [
      event.id,
      voters.map(({ id }) => id),
      voters.map(({ id, voterKey }) =>
        hashStoredKey(service.deps.secrets, { votingEventId: event.id, id, keyGeneration: 0 }, voterKey),
      ),
    ],
  );
  const voting = voters.slice(DELETED);
  const votes = votesFor(event);
  let mixed = 0;
  // As if the job had its turn at once, not once a minute.
  const mixOnce = () =>
    eventually(async () => {
      await service.query('UPDATE ballot_logs SET roll_mixed_at = NULL WHERE voting_event_id = $1', [event.id]);
      // A job that waits too long for a lock is tried again.
      const sealed = await sequenceLog(sealDeps(other.deps), event.id, 1).then(() => true, orLocked);
      if (!sealed) return undefined;
      await sequenceLogs(sealDeps(other.deps));
      const rows = await service.query('SELECT roll_mixed_at FROM ballot_logs WHERE voting_event_id = $1', [event.id]);
      if (typeof rows[0]?.roll_mixed_at !== 'string') return undefined;
      mixed += 1;
      return true;
    });
  const cast = async (at: number, { email, voterKey }: (typeof voters)[number]) => {
    const where = either(at);
    return { where, answer: await page(where, event, 'ballot/cast', { email, voterKey, votes }) };
  };
  const outcomes: number[] = [];
  for (let first = 0; first < voting.length; first += 20) {
    const group = voting.slice(first, first + 20);
    const gone = voters[first / 20];
    const deleting = patiently(() => account.delete(`/voting-events/${event.id}/voters/${gone?.id}`));
    const mixing = mixOnce();
    await Promise.all(
      group.map(async (voter, at) => {
        const { where, answer } = await cast(at, voter);
        const { confirmationCode } = demand(answer, 201);
        const confirms = [where, service].map((on) => page(on, event, 'ballot/confirm', { confirmationCode }));
        const both = await Promise.all(confirms);
        outcomes.push(...both.map(({ status }) => status));
        const again = await cast(at + 1, voter);
        outcomes.push(again.answer.status === 409 ? 200 : again.answer.status);
      }),
    );
    await mixing;
    demand(await deleting, 202);
  }
  expect(new Set(outcomes)).toEqual(new Set([200]));
  expect(mixed).toBe(voting.length / 20);
  const count = async (table: string, what = 'count(*)') => {
    const rows = await service.query(`SELECT ${what} AS count FROM ${table} WHERE voting_event_id = $1`, [event.id]);
    return Number(rows[0]?.count);
  };
  const removed = Math.ceil(voting.length / 20);
  await untilTrue(async () => (await count('voters')) === VOTERS - removed);
  expect(await count('participation')).toBe(voting.length);
  expect((await count('ballot_blocks', 'sum(ballots)')) + (await count('ballot_queue'))).toBe(voting.length);
  const results = await account.get(`/voting-events/${event.id}/results`);
  expect(demand(results, 200).stats).toMatchObject({ ballots: voting.length, electorate: VOTERS - removed });
});
