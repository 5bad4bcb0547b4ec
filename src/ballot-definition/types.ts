import type { z } from 'zod';
import type { fractionShape, majorityShape, rulesShape, topUpShape } from './position.ts';
import type { candidates, groups, positions, sponsors } from './tables.ts';

export const VOTING_METHODS = [
  'plurality',
  'approval',
  'referendum',
  'score',
  'cumulative',
  'quadratic',
  'ranked_choice',
] as const;
export type VotingMethod = (typeof VOTING_METHODS)[number];

/** The meaning of a ballot's entry for a candidate, by voting method: the candidate is chosen, gets a value, or gets a rank. */
export const ENTRY_KINDS = {
  plurality: 'choice',
  approval: 'choice',
  referendum: 'choice',
  score: 'value',
  cumulative: 'value',
  quadratic: 'value',
  ranked_choice: 'rank',
} as const satisfies Readonly<Record<VotingMethod, 'choice' | 'value' | 'rank'>>;

/** What decides a tie: all tied candidates win jointly, a lot is drawn, or the order on the ballot counts. */
export const TIE_BREAKS = ['joint', 'lot', 'candidate_order'] as const;
export type TieBreak = (typeof TIE_BREAKS)[number];
export const REFERENDUM_ROLES = ['yes', 'no', 'abstain'] as const;
export type ReferendumRole = (typeof REFERENDUM_ROLES)[number];
export const CANDIDATE_STATUSES = ['pending', 'approved', 'rejected', 'withdrawn'] as const;
export type CandidateStatus = (typeof CANDIDATE_STATUSES)[number];
export type CandidateSource = 'organizer' | 'registration';
/** The base of the share of yes votes. */
export const THRESHOLD_BASES = ['yes_no', 'answers', 'electorate'] as const;

export type Fraction = Readonly<z.output<typeof fractionShape>>;
export type Majority = Readonly<z.output<typeof majorityShape>>;
export type ReferendumRules = Readonly<z.output<typeof rulesShape>>;
export type QuadraticTopUp = Readonly<z.output<typeof topUpShape>>;

export type Position = Readonly<Omit<typeof positions.$inferSelect, 'deletedAt'>>;

export type Candidate = Readonly<Omit<typeof candidates.$inferSelect, 'deletedAt' | 'paymentAttemptId'>>;

export type Group = Readonly<Omit<typeof groups.$inferSelect, 'deletedAt' | 'nameKey'>>;

export type Sponsor = Readonly<typeof sponsors.$inferSelect>;
