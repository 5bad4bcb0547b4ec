import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { openWaiting, sealEntries } from '#src/ballots/waiting-ballot.ts';
import { sealDeps } from '#src/work.ts';
import { tendLog, votesFor } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { useAccount } from '#test/harness/test-service.ts';

// However many ballots wait, a step of the sequencer reads as many rows of the queue as it moves, give or take a few.

const WAITING = 50_000;
const CHUNK = 2_000;
/** Taken, and written into the box, and counted at the first step and at the last. */
const MOST_READ = 20 * WAITING;

const { service, account } = await useAccount({ worker: false });

/** Rows of the queue that were read since the last reset. A connection hands in what it counted when it ends. */
async function rowsRead(client: pg.Client): Promise<number> {
  await client.query(
    'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  const { rows } = await client.query<{ read: string }>(
    `SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read FROM pg_stat_user_tables WHERE relname = 'ballot_queue'`,
  );
  return Number(rows[0]?.read);
}

test('what waits is read a few times in all, not once a step', async () => {
  const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
  await account.votePoll(event, votesFor(event));
  const [row] = await service.query<{ code_tag: Buffer; entries: Buffer }>(
    'SELECT code_tag, entries FROM ballot_queue WHERE voting_event_id = $1',
    [event.id],
  );
  const { secrets } = service.deps;
  const poll = { id: event.id, type: 'poll' } as const;
  const { entries } = openWaiting(secrets, poll, row?.code_tag ?? randomBytes(32), row?.entries ?? randomBytes(1));
  const tags = Array.from({ length: WAITING }, () => randomBytes(32));
  for (let from = 0; from < WAITING; from += CHUNK) {
    const chunk = tags.slice(from, from + CHUNK);
    await service.query(
      `INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, submitted_at, due_at)
     SELECT $1, 'bal_' || substr(encode(tag, 'hex'), 1, 26), tag, entries, 1000000, decode(repeat('07', 32), 'hex'),
       decode(repeat('00', 12), 'hex'), 'vi_' || encode(tag, 'hex'), now_ms(), now_ms() + 86400000
     FROM unnest($2::bytea[], $3::bytea[]) AS r (tag, entries)`,
      [event.id, chunk, chunk.map((tag) => sealEntries(secrets, event.id, tag, entries))],
    );
  }
  const read = await withClient(service.databaseUrl, async (client) => {
    await client.query('ANALYZE ballot_queue');
    const before = await rowsRead(client);
    await tendLog(sealDeps(service.deps), event.id, 5);
    return (await rowsRead(client)) - before;
  });
  const [log] = await service.query<{ ballots: string; confirmed: string }>(
    'SELECT ballots, confirmed FROM ballot_logs WHERE voting_event_id = $1',
    [event.id],
  );
  expect(log).toEqual({ ballots: String(WAITING + 1), confirmed: String(WAITING + 1) });
  expect(read).toBeLessThan(MOST_READ);
  process.stdout.write(`rows of the queue that were read to seal ${WAITING}: ${read}\n`);
});
