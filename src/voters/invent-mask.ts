import { sql } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { type MaskParts, maskPartsOf, writeMask } from '#src/platform/email-address.ts';
import type { Secrets } from '#src/platform/secrets.ts';

const PARTS = ['name', 'domain', 'ending'] as const satisfies readonly (keyof MaskParts)[];
/** Voters that compete for each part: the cost stays the same however long the roll is. */
const CANDIDATES = 16;
const EMPTY_ROLL = '***@***';

interface Candidate extends Record<string, unknown> {
  readonly part: keyof MaskParts;
  readonly id: string;
  readonly email: string;
}

/** The voters that follow a point of the roll, going round at its end. */
async function listCandidates(executor: Executor, eventId: string, points: readonly string[]): Promise<Candidate[]> {
  const { rows } = await executor.execute<Candidate>(sql`
    SELECT w.part, near.id, near.email
    FROM unnest(${sql.param([...PARTS])}::text[], ${sql.param([...points])}::text[]) AS w (part, point)
    CROSS JOIN LATERAL (
      SELECT * FROM (
        (SELECT v.id, v.email FROM voters v WHERE v.voting_event_id = ${eventId} AND v.email IS NOT NULL AND v.deleted_at IS NULL
          AND md5(v.id) COLLATE "C" >= w.point ORDER BY md5(v.id) COLLATE "C" LIMIT ${CANDIDATES})
        UNION ALL
        (SELECT v.id, v.email FROM voters v WHERE v.voting_event_id = ${eventId} AND v.email IS NOT NULL AND v.deleted_at IS NULL
          AND md5(v.id) COLLATE "C" < w.point ORDER BY md5(v.id) COLLATE "C" LIMIT ${CANDIDATES})
      ) AS round LIMIT ${CANDIDATES}) AS near`);
  return rows;
}

/**
 * A mask for a voter ID that no voter with an address has (completions 4.3). Each part comes from a voter of the roll, so that
 * invented masks are spread as real ones are. A keyed hash picks the voters: the same ID gets the same mask every time, also
 * while the roll changes elsewhere. The oldest listed secret key picks them, because a rotation changes no real mask either.
 */
export async function inventMask(
  executor: Executor,
  secrets: Secrets,
  eventId: string,
  voterIdKey: string,
): Promise<string> {
  const keyed = (...words: string[]): string => {
    const digest = secrets.macs('mask', JSON.stringify([eventId, voterIdKey, ...words])).at(-1);
    if (digest === undefined) throw new Error('there is no secret key');
    return digest.toString('hex');
  };
  const candidates = await listCandidates(
    executor,
    eventId,
    PARTS.map((part) => keyed(part).slice(0, 32)),
  );
  const pick = (part: keyof MaskParts): string | undefined => {
    const ranked = candidates
      .filter((candidate) => candidate.part === part)
      .map(({ id, email }) => ({ email, rank: keyed(part, id) }))
      .toSorted((left, right) => (left.rank < right.rank ? -1 : 1));
    return ranked[0] && maskPartsOf(ranked[0].email)[part];
  };
  const [name, domain, ending] = PARTS.map(pick);
  if (name === undefined || domain === undefined || ending === undefined) return EMPTY_ROLL;
  return writeMask({ name, domain, ending });
}
