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

/** What an entry of a ballot says of its candidate, by the position's method: that it is chosen, a value, or a rank. */
export const ENTRY_KINDS = {
  plurality: 'choice',
  approval: 'choice',
  referendum: 'choice',
  score: 'value',
  cumulative: 'value',
  quadratic: 'value',
  ranked_choice: 'rank',
} as const satisfies Readonly<Record<VotingMethod, 'choice' | 'value' | 'rank'>>;

/** What decides a tie: all share it, the lot, or the order on the ballot. */
export const TIE_BREAKS = ['joint', 'lot', 'candidate_order'] as const;
export type TieBreak = (typeof TIE_BREAKS)[number];
export type ReferendumRole = 'yes' | 'no' | 'abstain';
export type CandidateStatus = 'pending' | 'approved' | 'rejected' | 'withdrawn';
export type CandidateSource = 'organizer' | 'registration';

/** A share such as 2/3; `inclusive` means that reaching it exactly is enough. */
export interface Fraction {
  readonly numerator: number;
  readonly denominator: number;
  readonly inclusive: boolean;
}

/** What the share of yes is taken of. */
type ThresholdBase = 'yes_no' | 'answers' | 'electorate';

interface Threshold extends Fraction {
  readonly base: ThresholdBase;
}

/** A share that must be exceeded. */
export interface Majority {
  readonly numerator: number;
  readonly denominator: number;
}

export interface ReferendumRules {
  readonly threshold: Threshold;
  readonly turnoutQuorum: Fraction | null;
  readonly approvalQuorum: Fraction | null;
}

interface CreditTier {
  readonly id: string;
  readonly label: string;
  readonly credits: number;
  readonly amountMinor: number;
}

export type QuadraticTopUp =
  | {
      readonly pricingModel: 'ratio';
      readonly currency: string;
      readonly pricePerCreditMinor: number;
      readonly minCredits: number;
      readonly maxCredits: number;
    }
  | { readonly pricingModel: 'tiered'; readonly currency: string; readonly tiers: readonly CreditTier[] };

export type Position = Readonly<Omit<typeof positions.$inferSelect, 'deletedAt'>>;

export type Candidate = Readonly<Omit<typeof candidates.$inferSelect, 'deletedAt' | 'paymentAttemptId' | 'rehearsal'>>;

export type Group = Readonly<Omit<typeof groups.$inferSelect, 'deletedAt' | 'nameKey'>>;

export type Sponsor = Readonly<typeof sponsors.$inferSelect>;
