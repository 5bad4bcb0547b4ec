import { expect, test } from 'vitest';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { eraseParticipantsJob } from '#src/voters/delete-voter.ts';
import { putIntoBox } from '#test/harness/sealed-box.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });
const BALLOTS = 100_000;
const ERASED = 1_000;

test('a thousand participants at once are erased from a poll of a hundred thousand ballots, within the time limit of each statement', async () => {
  const event = await account.event();
  const entries = packEntries([{ position: 1, entries: [{ candidate: 1, value: 1 }] }]);
  const ballots = `SELECT n AS leaf_index, 'bal_' || n AS id, sha256(n::text::bytea) AS code_tag, $2::bytea AS entries, 1000000 AS weight_micro,
    '\\x00'::bytea AS salt, '\\x00'::bytea AS sealed_time FROM generate_series($3::integer, $4::integer) AS n`;
  for (let at = 0; at < BALLOTS; at += 10_000)
    await service.query(putIntoBox(ballots), [event.id, entries, at, at + 9_999]);
  await service.behindTheGuards([
    `UPDATE ballot_blocks SET voter_ids = ARRAY(SELECT 'vi_' || lpad(to_hex(n), 32, '0')
       FROM generate_series(first_leaf, first_leaf + ballots - 1) AS n ORDER BY n) WHERE voting_event_id = $1`,
    [event.id],
  ]);
  const ids = Array.from({ length: ERASED }, (_, n) => `vi_${(n * 100).toString(16).padStart(32, '0')}`);
  const erasure = { ids, emails: [], visitors: [], block: -1, payment: '', searched: false };
  const place = { table: 'jobs', column: 'erased_participants', row: event.id };
  const job = eraseParticipantsJob(service.deps.db, service.deps.secrets);
  const sealed = service.deps.secrets.seal(JSON.stringify(erasure), place);
  let payload: Parameters<typeof job.work>[0] | undefined = { eventId: event.id, sealed };
  while (payload !== undefined) {
    await job.work(payload, { id: '1', attempt: 1, last: false });
    const [next] = await service.query("DELETE FROM jobs WHERE name = 'erase_participants' RETURNING payload");
    payload = next?.['payload'] as typeof payload;
  }
  const [left] = await service.query(
    `SELECT count(i.one)::int AS shown, count(*) FILTER (WHERE i.one = ANY ($2::text[]))::int AS erased
     FROM ballot_blocks k, unnest(k.voter_ids) AS i (one) WHERE k.voting_event_id = $1`,
    [event.id, ids],
  );
  expect(left).toEqual({ shown: BALLOTS - ERASED, erased: 0 });
});
