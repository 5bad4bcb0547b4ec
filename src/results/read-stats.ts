import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { CandidateStatus } from '#src/ballot-definition/types.ts';
import { type Database, valuesOf } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { readPaymentFigures } from '#src/payments/attempt-repository.ts';
import { microToNumber, shareOf } from '#src/platform/decimal.ts';
import { isFinalAt, shownStatusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { disclosureOf, lettersOf, shownStatus } from '#src/voting-events/voting-event.ts';
import type { ResultsAudience } from './count-event.ts';
import type { Counting } from './counting.ts';
import { changesShape } from './event-results.ts';
import { readVoterFigures } from './repository.ts';

/** The figures of an event (completions 3, rule 6). */
export const statsView = z
  .object({
    votingEventId: z.string(),
    status: shownStatus,
    voters: z.object({
      total: z.int(),
      pending: z.int(),
      approved: z.int(),
      rejected: z.int(),
      voted: z.int(),
      weight: z.number(),
      votedWeight: z.number().meta({
        description:
          'Of the confirmed ballots; in a secret election of those that are disclosed, where a weight has fewer than five holders.',
      }),
      unreachable: z.int().meta({ description: 'Approved, with neither e-mail address nor letter.' }),
    }),
    turnout: z
      .object({ heads: z.number(), weight: z.number() })
      .meta({ description: 'From 0 to 1; in a poll of those who are listed.' }),
    ballots: z.object({ cast: z.int(), confirmed: z.int() }),
    votes: z.object({ total: z.int() }),
    positions: z.int(),
    candidates: z.object({ total: z.int(), pending: z.int(), approved: z.int(), rejected: z.int() }),
    groups: z.int(),
    sponsors: z.int(),
    payments: z.object({
      attempts: z.int(),
      succeeded: z.int(),
      fulfilled: z.int(),
      refunded: z.int(),
      revenue: listShape(z.object({ currency: z.string(), amountMinor: z.int() })),
    }),
    byPosition: listShape(z.object({ positionId: z.string(), ballots: z.int(), abstentions: z.int() })),
    byGroup: listShape(z.object({ groupId: z.string(), name: z.string(), voters: z.int(), voted: z.int() })),
    ...changesShape,
    updatedAt: timeShape(),
  })
  .meta({
    id: 'EventStats',
    examples: [
      {
        votingEventId: EXAMPLE.event,
        status: 'open',
        voters: { total: 4, pending: 0, approved: 4, rejected: 0, voted: 0, weight: 4, votedWeight: 0, unreachable: 0 },
        turnout: { heads: 0, weight: 0 },
        ballots: { cast: 4, confirmed: 3 },
        votes: { total: 3 },
        positions: 1,
        candidates: { total: 2, pending: 0, approved: 2, rejected: 0 },
        groups: 0,
        sponsors: 0,
        payments: { attempts: 0, succeeded: 0, fulfilled: 0, refunded: 0, revenue: [] },
        byPosition: [{ positionId: EXAMPLE.position, ballots: 3, abstentions: 0 }],
        byGroup: [],
        identityChanges: 0,
        rollChanges: 0,
        lettersPrinted: 0,
        disclosure: { everyBallots: 5, waiting: true },
        updatedAt: EXAMPLE.updatedAt,
      },
    ],
  });
export type StatsView = z.output<typeof statsView>;

/** The figures of an event (completions 3, rule 6). Ballots and votes change in the disclosure steps of the audience (completions 5.6). */
export async function readStats(
  { reads }: Pick<Deps, 'reads'>,
  counting: Counting,
  definition: BallotDefinition,
  audience: ResultsAudience,
  nowMs: number,
): Promise<StatsView> {
  const { event } = definition;
  // Count first, because the count makes a due disclosure step, which the figures must show.
  const count = await counting.summary(definition, audience, nowMs);
  const read = () =>
    Promise.all([
      readVoterFigures(reads, event.id),
      readPaymentFigures(reads, event.id),
      // Read the event again, because its counters of changes grow without a new version of the definition.
      findEventById(reads, event.id),
    ]);
  let found = await read();
  if (found[0].waiting && isFinalAt(event, nowMs)) {
    // A final result discloses the remaining voters. This result may have just become final: make that step now, and read once more.
    await counting.disclosure.step(event.id);
    found = await read();
  }
  const [figures, payments, changes] = found;
  const { weight, votedWeight, approvedWeight, ...heads } = figures.voters;
  const standing = (status: CandidateStatus): number =>
    definition.candidates.filter((candidate) => candidate.status === status).length;
  return {
    votingEventId: event.id,
    status: shownStatusAt(event, nowMs),
    voters: {
      ...heads,
      weight: microToNumber(BigInt(weight)),
      // Ballots show their weight, but not their voter: if few voters have a weight, keep the sum back like the results (completions 5.6).
      votedWeight: event.type === 'poll' ? microToNumber(BigInt(votedWeight)) : count.weight,
    },
    turnout: {
      heads: shareOf(BigInt(heads.voted), BigInt(heads.approved)),
      weight: count.turnout ?? shareOf(BigInt(votedWeight), BigInt(approvedWeight)),
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
    byPosition: count.byPosition,
    byGroup: figures.byGroup,
    identityChanges: changes?.identityChanges ?? event.identityChanges,
    rollChanges: changes?.rollChanges ?? event.rollChanges,
    lettersPrinted: lettersOf(changes ?? event),
    disclosure: disclosureOf(event, figures.waiting),
    updatedAt: nowMs,
  };
}

/** If an event has more mergeable rows than this, they are merged, so that their sum stays cheap. */
const MAX_ROLL_CHANGES = 200;

/** Merges the rows of roll figures of at most 200 events, because the figures of a large event may not be read for days. */
export async function foldAllRollFigures(db: Database): Promise<void> {
  const many = sql`SELECT voting_event_id FROM roll_figures GROUP BY 1
    HAVING count(*) - count(DISTINCT (group_id, status, source)) > ${MAX_ROLL_CHANGES} LIMIT 200`;
  for (const id of await valuesOf<string>(db, many)) await db.execute(sql`SELECT fold_roll_figures(${id})`);
}
