import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Database } from '#src/database/client.ts';
import { readPaymentFigures } from '#src/payments/attempt-repository.ts';
import { microToNumber } from '#src/platform/decimal.ts';
import { discloseVoters } from '#src/voters/disclose-voters.ts';
import { isFinalAt, shownStatusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { disclosureOf } from '#src/voting-events/voting-event.ts';
import type { ResultsAudience } from './count-event.ts';
import type { Counting } from './counting.ts';
import { foldRollFigures } from './fold-roll-figures.ts';
import { readVoterFigures } from './repository.ts';
import type { StatsView } from './view-schemas.ts';

/** A share from 0 to 1 with six decimals; 0 of nothing. */
function share(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 1_000_000n) / whole) / 1_000_000;
}

/**
 * The figures of an event (completions 3, rule 6). What is counted moves as the results of the same audience do (completions 5.6).
 * Turnout is of the approved voters, in heads and in weight.
 */
export async function readStats(
  db: Database,
  counting: Counting,
  definition: BallotDefinition,
  audience: ResultsAudience,
  nowMs: number,
): Promise<StatsView> {
  const { event } = definition;
  const [figures, payments, count, changes] = await Promise.all([
    readVoterFigures(db, event.id),
    readPaymentFigures(db, event.id),
    counting.summary(definition, audience, nowMs),
    // Read from the event as it is now: these settings make no new version of the definition.
    findEventById(db, event.id),
  ]);
  if (figures.waiting && isFinalAt(event, nowMs)) {
    // The last ones are disclosed with the final result, which may be a moment ago.
    await discloseVoters(db, event.id);
    return readStats(db, counting, definition, audience, nowMs);
  }
  await foldRollFigures(db, event.id, figures.changes);
  const { weight, votedWeight, approvedWeight, ...heads } = figures.voters;
  const standing = (status: string): number =>
    definition.candidates.filter((candidate) => candidate.status === status).length;
  return {
    votingEventId: event.id,
    status: shownStatusAt(event, nowMs),
    voters: { ...heads, weight: microToNumber(BigInt(weight)), votedWeight: microToNumber(BigInt(votedWeight)) },
    turnout: {
      heads: share(BigInt(heads.voted), BigInt(heads.approved)),
      weight: share(BigInt(votedWeight), BigInt(approvedWeight)),
    },
    ballots: { cast: figures.pendingBallots + count.ballots, confirmed: count.ballots },
    votes: { total: count.entries },
    positions: definition.positions.length,
    candidates: {
      total: definition.candidates.length,
      pending: standing('pending'),
      approved: standing('approved'),
      rejected: standing('rejected'),
    },
    groups: definition.groups.length,
    sponsors: definition.sponsors.length,
    payments,
    byPosition: [...count.byPosition],
    byGroup: figures.byGroup,
    identityChanges: changes?.identityChanges ?? event.identityChanges,
    rollChanges: changes?.rollChanges ?? event.rollChanges,
    disclosure: disclosureOf(event, figures.waiting),
    updatedAt: nowMs,
  };
}
