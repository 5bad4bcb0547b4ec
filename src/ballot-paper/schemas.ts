import { z } from 'zod';
import {
  BESIDE_FAULTY_ENTRIES,
  descriptionField,
  emailField,
  httpsUrlField,
  idField,
  nameField,
  refuseRepeated,
  returnUrlField,
  searchField,
  sortOrderField,
  uniqueIdsField,
} from '#src/http/fields.ts';
import type { PayerNeed } from '#src/payment-providers/provider.ts';
import { VOTING_METHODS } from './types.ts';

const currency = z.string().regex(/^[a-z]{3}$/, 'must be a lowercase currency code');
const credits = z.int().min(1).max(1_000_000);
const amountMinor = z.int().min(1).max(99_999_999);

const share = {
  numerator: z.int().min(1).max(1_000_000),
  denominator: z.int().min(1).max(1_000_000),
};
const inclusive = z.boolean().default(false);
const isAtMostOne = (value: { readonly numerator: number; readonly denominator: number }): boolean =>
  value.numerator <= value.denominator;
/** Both parts can be compared, whatever is wrong beside them. */
const when = ({ value }: z.core.ParsePayload): boolean => z.object(share).safeParse(value).success;
const AT_MOST_ONE = { error: 'must be at most 1', when };

const fraction = z.strictObject({ ...share, inclusive }).refine(isAtMostOne, AT_MOST_ONE);
const threshold = z
  .strictObject({
    ...share,
    inclusive,
    base: z
      .enum(['yes_no', 'answers', 'electorate'])
      .default('yes_no')
      .describe('What the share of yes is taken of: yes and no, those with abstentions, or the electorate.'),
  })
  .refine(isAtMostOne, AT_MOST_ONE);
const majority = z.strictObject(share).refine((value) => value.numerator < value.denominator, {
  error: 'must be less than 1, because it must be exceeded',
  when,
});

const topUp = z.discriminatedUnion('pricingModel', [
  z.strictObject({
    pricingModel: z.literal('ratio'),
    currency,
    pricePerCreditMinor: amountMinor,
    minCredits: credits.default(1),
    maxCredits: credits.default(1_000),
  }),
  z.strictObject({
    pricingModel: z.literal('tiered'),
    currency,
    tiers: z
      .array(z.strictObject({ id: idField(), label: nameField(), credits, amountMinor }))
      .min(1)
      .max(20)
      .superRefine((tiers, context) => {
        // Entries in the wrong form are named by themselves.
        const ids = tiers.map((tier: { id: string } | null) => tier?.id);
        refuseRepeated(ids, context, 'id');
      }, BESIDE_FAULTY_ENTRIES),
  }),
]);

const rules = z.strictObject({
  threshold: threshold.default({ numerator: 1, denominator: 2, inclusive: false, base: 'yes_no' }),
  turnoutQuorum: fraction.nullable().default(null),
  approvalQuorum: fraction.nullable().default(null),
});

const positionFields = z.object({
  title: nameField(),
  description: descriptionField(),
  votingMethod: z.enum(VOTING_METHODS),
  groupId: idField().nullable().describe('Opens the position to the voters of one group alone.'),
  sortOrder: sortOrderField(),
  seats: z.int().min(1).max(50).describe('How many candidates win.'),
  minSelections: z.int().min(0).max(1_000).describe('How many candidates a ballot must mark at least.'),
  maxSelections: z.int().min(1).max(1_000).nullable().describe('How many it may mark; null: all of them.'),
  scoreMin: z.int().min(-1_000).max(1_000).nullable().describe('For `score`; 0 when left out.'),
  scoreMax: z.int().min(-1_000).max(1_000).nullable().describe('For `score`; 5 when left out.'),
  cumulativePointBudget: z.int().min(1).max(1_000_000).nullable().describe('For `cumulative`; 10 when left out.'),
  quadraticBaseCreditBudget: z
    .int()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe('For `quadratic`: credits that everybody has; 100 when left out.'),
  quadraticTopUp: topUp.nullable().describe('For `quadratic` in polls: what more credits cost.'),
  tieBreak: z
    .enum(['joint', 'lot', 'candidate_order'])
    .describe('Who wins a tie: nobody alone, one drawn by lot, or the first on the ballot.'),
  rules: rules.nullable().describe('For `referendum`: what it takes to pass.'),
  majorityRequired: majority
    .nullable()
    .describe('For `plurality` and `approval`: the share of the answering weight that a winner must exceed.'),
});

const atLeastOne = (body: object): boolean => Object.keys(body).length > 0;
const AT_LEAST_ONE = 'must change at least one field';

export const createPositionBody = z.strictObject({
  ...positionFields.partial().shape,
  title: positionFields.shape.title,
  votingMethod: positionFields.shape.votingMethod,
});
export const updatePositionBody = z.strictObject(positionFields.partial().shape).refine(atLeastOne, AT_LEAST_ONE);
export const listPositionsQuery = z.strictObject({
  search: searchField().optional(),
  votingMethod: z.enum(VOTING_METHODS).optional(),
  groupId: idField().optional(),
});

/** A change of many candidates at once. */
export const changeCandidatesBody = z.strictObject({
  action: z.enum(['reject', 'delete']),
  candidateIds: uniqueIdsField('candidate').describe('1 to 1,000, each once.'),
});

const positionIds = z
  .array(idField())
  .min(1, 'must name at least one position')
  .max(100)
  .superRefine((ids, context) => refuseRepeated(ids, context), BESIDE_FAULTY_ENTRIES);

const candidateFields = z.object({
  name: nameField(),
  description: descriptionField(),
  email: emailField().nullable(),
  positionIds,
  groupId: idField().nullable(),
  referendumRole: z.enum(['yes', 'no', 'abstain']).nullable().describe('What choosing it means in a referendum.'),
  avatarUrl: httpsUrlField().nullable(),
  status: z.enum(['pending', 'approved', 'rejected', 'withdrawn']),
  sortOrder: sortOrderField(),
});

export const createCandidateBody = z.strictObject({
  ...candidateFields.partial().shape,
  name: candidateFields.shape.name,
  positionIds,
});
export const updateCandidateBody = z.strictObject(candidateFields.partial().shape).refine(atLeastOne, AT_LEAST_ONE);
export const listCandidatesQuery = z.strictObject({
  search: searchField().optional(),
  positionId: idField().optional(),
  groupId: idField().optional(),
  status: candidateFields.shape.status.optional(),
});

/** The addresses of a checkout are taken, and of no use, where the event asks for no payment. */
export const registerCandidateBody = (embedded: boolean) =>
  z.strictObject({
    returnUrl: returnUrlField(embedded).optional().describe('Where a payer comes back to.'),
    cancelUrl: returnUrlField(embedded).optional().describe('Where a payer goes who changes their mind.'),
    name: nameField(),
    positionIds,
    email: emailField().optional(),
    groupId: idField().optional(),
    avatarUrl: httpsUrlField().optional(),
  });

/** A paid registration: what its provider needs is required. */
export const paidRegistrationBody = (embedded: boolean, needs: readonly PayerNeed[]) =>
  z.strictObject({
    ...registerCandidateBody(embedded).shape,
    email: emailField(),
    ...(needs.includes('returnUrl') ? { returnUrl: returnUrlField(embedded) } : {}),
  });

const groupFields = z.object({ name: nameField(), description: descriptionField() });
export const createGroupBody = z.strictObject({ ...groupFields.partial().shape, name: groupFields.shape.name });
export const updateGroupBody = z.strictObject(groupFields.partial().shape).refine(atLeastOne, AT_LEAST_ONE);

const sponsorFields = z.object({
  name: nameField(),
  logoUrl: httpsUrlField().nullable(),
  websiteUrl: httpsUrlField().nullable(),
  tier: nameField().nullable(),
  sortOrder: sortOrderField(),
});
export const createSponsorBody = z.strictObject({ ...sponsorFields.partial().shape, name: sponsorFields.shape.name });
export const updateSponsorBody = z.strictObject(sponsorFields.partial().shape).refine(atLeastOne, AT_LEAST_ONE);
export const searchQuery = z.strictObject({ search: searchField().optional() });
export const ballotQuery = z.strictObject({
  seed: z.string().max(200).optional().describe('The same seed gives the same order of candidates.'),
});
