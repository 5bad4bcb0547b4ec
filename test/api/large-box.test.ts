import { describe, expect, test } from 'vitest';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { BALLOTS_PER_COPY } from '#src/results/read-box.ts';
import { MAX_BOX_BLOCKS } from '#src/results/read-count-inputs.ts';
import { valuesOf } from '#test/harness/answers.ts';
import { type TestEvent, votesFor } from '#test/harness/elections.ts';
import { putIntoBox } from '#test/harness/sealed-box.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });

const CHUNK = 10_000;
/** Ballots of so many blocks that one answer does not hold them. */
const MANY = MAX_BOX_BLOCKS * 256;

/** Ballots of the approval of three candidates: the first on all, the second on every second, the third on every fifth. */
async function fillBox(eventId: string, from: number, to: number): Promise<void> {
  const ballot = (...candidates: number[]): Buffer =>
    packEntries([{ position: 1, entries: candidates.map((candidate) => ({ candidate, value: 1 })) }]);
  // As it may be looked at by itself at any time: empty, or with the first of many.
  await service.query('ANALYZE ballot_blocks');
  for (let at = from; at < to; at += CHUNK) {
    await service.query(
      putIntoBox(`SELECT n AS leaf_index, 'bal_' || n AS id, sha256(convert_to($1 || n, 'UTF8')) AS code_tag,
         CASE WHEN n % 10 = 0 THEN $4::bytea WHEN n % 5 = 0 THEN $5::bytea WHEN n % 2 = 0 THEN $6::bytea ELSE $7::bytea END AS entries,
         CASE WHEN n % 1000 = 0 THEN 1500000 ELSE 1000000 END AS weight_micro, '\\x00'::bytea AS salt, '\\x00'::bytea AS sealed_time
       FROM generate_series($2::integer, $3::integer) AS n`),
      [eventId, at, Math.min(at + CHUNK, to) - 1, ballot(1, 2, 3), ballot(1, 3), ballot(1, 2), ballot(1)],
    );
  }
}

const resultsOf = async (event: TestEvent) => await account.show(`/voting-events/${event.id}/results`);

const multiples = (of: number, below: number): number => Math.ceil(below / of);

describe('a box that is too large for one answer', () => {
  test('is counted from the first ballot to the last, and from there on as it grows', async () => {
    const plan = { votingMethod: 'approval', candidates: ['All', 'Every second', 'Every fifth'] };
    const event = await account.event({}, [plan]);
    const expectCounted = async (ballots: number, voted: number): Promise<void> => {
      const { stats, positions } = await resultsOf(event);
      expect(stats.ballots).toBe(ballots + voted);
      const heads = valuesOf(positions[0].candidates, 'votesWon');
      expect(heads).toEqual([ballots + voted, multiples(2, ballots), multiples(5, ballots)]);
      const halves = BigInt(multiples(1000, ballots)) * 5n;
      const [first] = positions[0].candidates;
      expect(BigInt(Math.round(Number(first.weightWon) * 10))).toBe(BigInt(ballots + voted) * 10n + halves);
    };
    await fillBox(event.id, 0, MANY);
    await expectCounted(MANY, 0);
    const more = BALLOTS_PER_COPY + MANY + 7;
    await fillBox(event.id, MANY, more);
    await expectCounted(more, 0);
    await account.votePoll(event, votesFor(event));
    await expectCounted(more, 1);
    await fillBox(event.id, more, more + 100);
    await expectCounted(more + 100, 1);
    await fillBox(event.id, more + 100, more + 3_000);
    await expectCounted(more + 3_000, 1);
  });
});
