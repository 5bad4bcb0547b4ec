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

export type TieBreak = 'joint' | 'lot' | 'candidate_order';
export type ReferendumRole = 'yes' | 'no' | 'abstain';
export type CandidateStatus = 'pending' | 'approved' | 'rejected' | 'withdrawn';
export type CandidateSource = 'organizer' | 'registration';

export interface Fraction {
  readonly numerator: number;
  readonly denominator: number;
  readonly inclusive: boolean;
}

/** What the share of yes is taken of. */
export type ThresholdBase = 'yes_no' | 'answers' | 'electorate';

export interface Threshold extends Fraction {
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

export interface CreditTier {
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

export interface Position {
  readonly id: string;
  readonly votingEventId: string;
  readonly number: number;
  readonly title: string;
  readonly description: string | null;
  readonly votingMethod: VotingMethod;
  readonly groupId: string | null;
  readonly sortOrder: number;
  readonly seats: number;
  readonly minSelections: number;
  /** Null where the bound follows the number of candidates. */
  readonly maxSelections: number | null;
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly cumulativePointBudget: number | null;
  readonly quadraticBaseCreditBudget: number | null;
  readonly quadraticTopUp: QuadraticTopUp | null;
  readonly tieBreak: TieBreak;
  readonly rules: ReferendumRules | null;
  readonly majorityRequired: Majority | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Candidate {
  readonly id: string;
  readonly votingEventId: string;
  readonly number: number;
  readonly name: string;
  readonly description: string | null;
  readonly email: string | null;
  readonly positionIds: readonly string[];
  readonly groupId: string | null;
  readonly referendumRole: ReferendumRole | null;
  readonly avatarUrl: string | null;
  readonly status: CandidateStatus;
  readonly source: CandidateSource;
  readonly sortOrder: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Group {
  readonly id: string;
  readonly votingEventId: string;
  readonly name: string;
  readonly description: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Sponsor {
  readonly id: string;
  readonly votingEventId: string;
  readonly name: string;
  readonly logoUrl: string | null;
  readonly websiteUrl: string | null;
  readonly tier: string | null;
  readonly sortOrder: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}
