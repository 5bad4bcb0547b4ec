import type { Pool } from 'pg';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
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

/** The number of the candidate that a kind of ballot ranks. Steps without a common factor with their number name nobody twice. */
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

/** Puts ballots into the box of an event whose log has opened, as if they had been sealed. */
export async function fillBox(
  pool: Pool,
  eventId: string,
  size: EventSize,
  ballots: number,
  ranked: number,
): Promise<void> {
  const kinds = Array.from({ length: Math.min(KINDS, ballots) }, (_, kind) => ballotOf(kind, size, ranked));
  for (let from = 0; from < ballots; from += INSERTED_TOGETHER) {
    const count = Math.min(INSERTED_TOGETHER, ballots - from);
    await pool.query(
      putIntoBox(`SELECT $2::integer + n AS leaf_index, 'bal_' || ($2::integer + n) AS id,
          sha256(convert_to($1 || ($2::integer + n), 'UTF8')) AS code_tag, entries, 1000000 AS weight_micro, '\\x00'::bytea AS salt,
          '\\x00'::bytea AS sealed_time
        FROM unnest($3::bytea[]) WITH ORDINALITY AS one(entries, n)`),
      [eventId, from, Array.from({ length: count }, (_, at) => kinds[(from + at) % kinds.length])],
    );
  }
  await pool.query('UPDATE ballot_logs SET ballots = $2 WHERE voting_event_id = $1', [eventId, ballots]);
}
