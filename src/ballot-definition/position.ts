import { z } from 'zod';
import { listShape, timeShape, viewer } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import {
  amountMinorField,
  BESIDE_FAULTY_ENTRIES,
  changesSomething,
  currencyField,
  descriptionField,
  idField,
  nameField,
  refuseRepeated,
  searchField,
  sortOrderField,
} from '#src/http/fields.ts';
import { METHOD_RULES, MORE_THAN_HALF } from './position-settings.ts';
import { type Position, THRESHOLD_BASES, TIE_BREAKS, VOTING_METHODS } from './types.ts';

const { score, cumulative, quadratic } = METHOD_RULES;

const votingMethodShape = z.enum(VOTING_METHODS);

const whole = (least: number, most: number) => z.int().min(least).max(most);
const currency = currencyField();
const credits = whole(1, 1_000_000);
const amountMinor = amountMinorField();

const share = { numerator: whole(1, 1_000_000), denominator: whole(1, 1_000_000) };
const inclusive = z.boolean().default(false);
const isAtMostOne = (value: { readonly numerator: number; readonly denominator: number }): boolean =>
  value.numerator <= value.denominator;
/** Runs the comparison if both numbers are valid, even if other fields are not. */
const when = ({ value }: z.core.ParsePayload): boolean => z.object(share).safeParse(value).success;
const AT_MOST_ONE = { error: 'must be at most 1', when };

const fraction = z.strictObject({ ...share, inclusive }).refine(isAtMostOne, AT_MOST_ONE);
const threshold = z
  .strictObject({
    ...share,
    inclusive,
    base: z
      .enum(THRESHOLD_BASES)
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
        // Malformed tiers, which may be null here, get their own issues.
        const ids = tiers.map((tier: { id: string } | null) => tier?.id);
        refuseRepeated(ids, context, 'id');
      }, BESIDE_FAULTY_ENTRIES),
  }),
]);

const rules = z.strictObject({
  threshold: threshold.default(MORE_THAN_HALF),
  turnoutQuorum: fraction.nullable().default(null),
  approvalQuorum: fraction.nullable().default(null),
});

const positionFields = z.object({
  title: nameField(),
  description: descriptionField(),
  votingMethod: votingMethodShape,
  groupId: idField().nullable().describe('Opens the position to the voters of one group alone.'),
  sortOrder: sortOrderField(),
  seats: whole(1, 50).describe('How many candidates win.'),
  minSelections: whole(0, 1_000).describe(
    'How many candidates a ballot must mark at least; all of them where fewer stand since one withdrew.',
  ),
  maxSelections: whole(1, 1_000).nullable().describe('How many it may mark; null: all of them.'),
  scoreMin: whole(-1_000, 1_000).nullable().describe(`For \`score\`; ${score.settings.scoreMin} when left out.`),
  scoreMax: whole(-1_000, 1_000).nullable().describe(`For \`score\`; ${score.settings.scoreMax} when left out.`),
  cumulativePointBudget: whole(1, 1_000_000)
    .nullable()
    .describe(`For \`cumulative\`; ${cumulative.settings.cumulativePointBudget} when left out.`),
  quadraticBaseCreditBudget: whole(0, 1_000_000)
    .nullable()
    .describe(
      `For \`quadratic\`: credits that everybody has; ${quadratic.settings.quadraticBaseCreditBudget} when left out.`,
    ),
  quadraticTopUp: topUp.nullable().describe('For `quadratic` in polls: what more credits cost.'),
  tieBreak: z.enum(TIE_BREAKS).describe('Who wins a tie: nobody alone, one drawn by lot, or the first on the ballot.'),
  rules: rules.nullable().describe('For `referendum`: what it takes to pass.'),
  majorityRequired: majority
    .nullable()
    .describe('For `plurality` and `approval`: the share of the answering weight that a winner must exceed.'),
});

export const createPositionBody = z.strictObject({
  ...positionFields.partial().shape,
  title: positionFields.shape.title,
  votingMethod: positionFields.shape.votingMethod,
});
export const updatePositionBody = z.strictObject(positionFields.partial().shape).refine(...changesSomething);
export const listPositionsQuery = z.strictObject({
  search: searchField().optional(),
  votingMethod: votingMethodShape.optional(),
  groupId: idField().optional(),
});

export const fractionShape = z
  .object({
    numerator: z.int(),
    denominator: z.int(),
    inclusive: z.boolean().meta({ description: 'Whether reaching it exactly is enough.' }),
  })
  .meta({ id: 'Fraction', examples: [{ numerator: 1, denominator: 2, inclusive: false }] });

const thresholdShape = z
  .object({
    ...fractionShape.shape,
    base: z.enum(THRESHOLD_BASES).meta({
      description: 'What the share of yes is taken of: yes and no, those with abstentions, or the electorate.',
    }),
  })
  .meta({ id: 'Threshold', examples: [{ numerator: 1, denominator: 2, inclusive: false, base: 'yes_no' }] });

export const rulesShape = z.object({
  threshold: thresholdShape,
  turnoutQuorum: fractionShape.nullable(),
  approvalQuorum: fractionShape.nullable(),
});

/** The share of the weight that a winner must exceed. */
export const majorityShape = z
  .object({ numerator: z.int(), denominator: z.int() })
  .meta({ id: 'Majority', examples: [{ numerator: 1, denominator: 2 }] });

const creditTier = z
  .object({ id: z.string(), label: z.string(), credits: z.int(), amountMinor: z.int() })
  .meta({ id: 'CreditTier', examples: [{ id: 'small', label: '50 credits', credits: 50, amountMinor: 500 }] });

export const topUpShape = z
  .discriminatedUnion('pricingModel', [
    z.object({
      pricingModel: z.literal('ratio'),
      currency: z.string(),
      pricePerCreditMinor: z.int(),
      minCredits: z.int(),
      maxCredits: z.int(),
    }),
    z.object({ pricingModel: z.literal('tiered'), currency: z.string(), tiers: listShape(creditTier) }),
  ])
  .meta({ id: 'QuadraticTopUp', description: 'What more credits cost.' });

export const POSITION_EXAMPLE = {
  id: EXAMPLE.position,
  votingEventId: EXAMPLE.event,
  title: 'Chair',
  description: null,
  votingMethod: 'plurality',
  groupId: null,
  sortOrder: 0,
  seats: 1,
  minSelections: 1,
  maxSelections: 1,
  scoreMin: null,
  scoreMax: null,
  cumulativePointBudget: null,
  quadraticBaseCreditBudget: null,
  quadraticTopUp: null,
  tieBreak: 'joint',
  rules: null,
  majorityRequired: null,
  createdAt: EXAMPLE.createdAt,
  updatedAt: EXAMPLE.createdAt,
};

/** The organizer's shape of a position (completions 3). */
export const positionView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    title: z.string(),
    description: z.string().nullable(),
    votingMethod: votingMethodShape,
    groupId: z.string().nullable(),
    sortOrder: z.int(),
    seats: z.int(),
    minSelections: z.int(),
    maxSelections: z.int(),
    scoreMin: z.int().nullable(),
    scoreMax: z.int().nullable(),
    cumulativePointBudget: z.int().nullable(),
    quadraticBaseCreditBudget: z.int().nullable(),
    quadraticTopUp: topUpShape.nullable(),
    tieBreak: z.enum(TIE_BREAKS),
    rules: rulesShape.nullable().meta({ description: 'Of a referendum; null for every other method.' }),
    majorityRequired: majorityShape.nullable().meta({
      description: 'For plurality and approval: the share of the answering weight that a winner must exceed.',
    }),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Position',
    description: 'A question on the ballot with its voting method.',
    examples: [POSITION_EXAMPLE],
  });
type PositionView = z.output<typeof positionView>;

/** How many candidates a ballot may mark: `maxSelections`; if that is null, all candidates of the position. */
export const limitOf = (position: Position, standing: ReadonlyMap<string, number>): number =>
  position.maxSelections ?? Math.max(1, standing.get(position.id) ?? 0);

const viewFields = viewer(positionView);

/** @param standing how many candidates stand for each position */
export const viewPosition = (position: Position, standing: ReadonlyMap<string, number>): PositionView =>
  viewFields({ ...position, maxSelections: limitOf(position, standing) });
