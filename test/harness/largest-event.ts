import type { Pool } from 'pg';
import { recordCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { leafDataOf } from '#src/ballot-log/leaf-of-ballot.ts';
import { lockHead, updateHead, waitForSequencer } from '#src/ballot-log/repository.ts';
import { appendLeaves } from '#src/ballot-log/tree-store.ts';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { putIntoBox } from './sealed-box.ts';

/** How large an event is made, below the API: a hundred thousand rows of candidates take minutes through it. */
export interface EventSize {
  readonly positions: number;
  /** Each stands in every position. */
  readonly candidates: number;
}

/** Gives a draft ranked positions and candidates. Positions are `pos_l_<n>`, candidates `cnd_l_<n>` with a number in front of the event. */
export async function fillEvent(pool: Pool, eventId: string, { positions, candidates }: EventSize): Promise<void> {
  await pool.query(
    `INSERT INTO positions (voting_event_id, id, number, title, voting_method, sort_order, seats, min_selections, tie_break, created_at, updated_at)
     SELECT $1, 'pos_l_' || n, n, 'Position ' || n, 'ranked_choice', n, CASE WHEN n % 10 = 0 THEN 5 ELSE 1 END, 0, 'lot', now_ms(), now_ms()
     FROM generate_series(1, $2::integer) AS n`,
    [eventId, positions],
  );
  await pool.query(
    `INSERT INTO candidates (voting_event_id, id, number, name, position_ids, status, source, sort_order, created_at, updated_at)
     SELECT $1, 'cnd_l_' || n, n, 'Candidate number ' || n, (SELECT array_agg('pos_l_' || p) FROM generate_series(1, $2::integer) AS p),
       'approved', 'organizer', n, now_ms(), now_ms()
     FROM generate_series(1, $3::integer) AS n`,
    [eventId, positions, candidates],
  );
  await pool.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [eventId]);
}

const INSERTED_TOGETHER = 2_000;
/** Different ballots of a box; each is there as often as the others. */
const KINDS = 2_000;

/** The number of the candidate at a rank of a ballot. A ballot names nobody twice: 7 shares no factor with the number of candidates. */
const rankedBy = (kind: number, position: number, rank: number, candidates: number): number =>
  ((kind * 37 + position * 11 + rank * 7) % candidates) + 1;

/** A ballot that ranks so many candidates in every position, as the box has it. */
function ballotOf(kind: number, { positions, candidates }: EventSize, ranked: number): Buffer {
  return packEntries(
    Array.from({ length: positions }, (_, position) => ({
      position: position + 1,
      entries: Array.from({ length: ranked }, (__, rank) => ({
        candidate: rankedBy(kind, position, rank, candidates),
        value: rank + 1,
      })),
    })),
  );
}

/** The same ballot, as a voter casts it. */
export const votesOf = (kind: number, { positions, candidates }: EventSize, ranked: number): object[] =>
  Array.from({ length: positions * ranked }, (_, at) => {
    const [position, rank] = [Math.floor(at / ranked), at % ranked];
    const candidateId = `cnd_l_${rankedBy(kind, position, rank, candidates)}`;
    return { positionId: `pos_l_${position + 1}`, candidateId, rank: rank + 1 };
  });

const SALT = Buffer.alloc(32);

/** Puts ballots into the box of an event whose log has opened, and their leaves into its log, as if they had been sealed. */
export async function fillBox(
  deps: Deps,
  eventId: string,
  size: EventSize,
  ballots: number,
  ranked: number,
): Promise<void> {
  const kinds = Array.from({ length: Math.min(KINDS, ballots) }, (_, kind) => ballotOf(kind, size, ranked));
  await inTransaction(deps.db, async (tx) => {
    await waitForSequencer(tx, eventId);
    const definition = await deps.definitions.getForUpdate(tx, eventId);
    const head = await lockHead(tx, eventId);
    if (definition === undefined || head === undefined) throw new Error('the log has not opened');
    const { frontier } = head;
    const first = frontier.size;
    for (let from = 0; from < ballots; from += INSERTED_TOGETHER) {
      const rows = Array.from({ length: Math.min(INSERTED_TOGETHER, ballots - from) }, (_, at) => ({
        codeTag: sha256(`${eventId}${from + at}`),
        entries: kinds[(from + at) % kinds.length] ?? SALT,
      }));
      const leaves = rows.map((row) => leafDataOf(definition, { ...row, salt: SALT, weightMicro: MICRO }));
      await appendLeaves(tx, eventId, frontier, leaves);
      await deps.db.$client.query(
        putIntoBox(`SELECT $2::integer + n - 1 AS leaf_index, 'bal_' || ($2::integer + n) AS id, code_tag, entries,
            1000000 AS weight_micro, $5::bytea AS salt, '\\x00'::bytea AS sealed_time
          FROM unnest($3::bytea[], $4::bytea[]) WITH ORDINALITY AS one(entries, code_tag, n)`),
        [eventId, first + from, rows.map(({ entries }) => entries), rows.map(({ codeTag }) => codeTag), SALT],
      );
    }
    await updateHead(tx, eventId, { ...head, ballots });
    await recordCheckpoint(tx, deps, definition.event, frontier, ballots);
  });
}
