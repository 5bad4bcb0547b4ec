import { z } from 'zod';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { VOTING_METHODS } from './types.ts';

const votingMethod = z.enum(VOTING_METHODS);
const referendumRole = z.enum(['yes', 'no', 'abstain']).nullable().meta({
  description: 'What a choice of this candidate means in a referendum.',
});

const fraction = z
  .object({
    numerator: z.int(),
    denominator: z.int(),
    inclusive: z.boolean().meta({ description: 'Whether reaching it exactly is enough.' }),
  })
  .meta({ id: 'Fraction', examples: [{ numerator: 1, denominator: 2, inclusive: false }] });

const threshold = z
  .object({
    ...fraction.shape,
    base: z.enum(['yes_no', 'answers', 'electorate']).meta({
      description: 'What the share of yes is taken of: yes and no, those with abstentions, or the electorate.',
    }),
  })
  .meta({ id: 'Threshold', examples: [{ numerator: 1, denominator: 2, inclusive: false, base: 'yes_no' }] });

const majority = z
  .object({ numerator: z.int(), denominator: z.int() })
  .meta({ id: 'Majority', examples: [{ numerator: 1, denominator: 2 }] });

const creditTier = z
  .object({ id: z.string(), label: z.string(), credits: z.int(), amountMinor: z.int() })
  .meta({ id: 'CreditTier', examples: [{ id: 'small', label: '50 credits', credits: 50, amountMinor: 500 }] });

const quadraticTopUp = z
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

/** The organizer's shape of a position (completions 3). */
export const positionView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    title: z.string(),
    description: z.string().nullable(),
    votingMethod,
    groupId: z.string().nullable(),
    sortOrder: z.int(),
    seats: z.int(),
    minSelections: z.int(),
    maxSelections: z.int(),
    scoreMin: z.int().nullable(),
    scoreMax: z.int().nullable(),
    cumulativePointBudget: z.int().nullable(),
    quadraticBaseCreditBudget: z.int().nullable(),
    quadraticTopUp: quadraticTopUp.nullable(),
    tieBreak: z.enum(['joint', 'lot', 'candidate_order']),
    rules: z
      .object({ threshold, turnoutQuorum: fraction.nullable(), approvalQuorum: fraction.nullable() })
      .nullable()
      .meta({ description: 'Of a referendum; null for every other method.' }),
    majorityRequired: majority.nullable().meta({
      description: 'For plurality and approval: the share of the answering weight that a winner must exceed.',
    }),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Position',
    description: 'A question on the ballot with its voting method.',
    examples: [
      {
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
      },
    ],
  });
export type PositionView = z.output<typeof positionView>;

const candidateStatus = z.enum(['pending', 'approved', 'rejected', 'withdrawn']);

/** The organizer's shape of a candidate (completions 3). */
export const candidateView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    email: z.string().nullable(),
    positionIds: listShape(z.string()),
    groupId: z.string().nullable(),
    referendumRole,
    avatarUrl: z.string().nullable(),
    status: candidateStatus,
    source: z.enum(['organizer', 'registration']),
    sortOrder: z.int(),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Candidate',
    description: 'Who or what can be voted for.',
    examples: [
      {
        id: EXAMPLE.candidate,
        votingEventId: EXAMPLE.event,
        name: 'Greta Lind',
        description: null,
        email: null,
        positionIds: [EXAMPLE.position],
        groupId: null,
        referendumRole: null,
        avatarUrl: null,
        status: 'approved',
        source: 'organizer',
        sortOrder: 0,
        createdAt: EXAMPLE.createdAt,
        updatedAt: EXAMPLE.createdAt,
      },
    ],
  });
export type CandidateView = z.output<typeof candidateView>;

/** What a registered candidate's own server gets back (contract, "Registered candidate"). */
export const registeredCandidateView = z
  .object({
    id: z.string(),
    name: z.string(),
    positionIds: listShape(z.string()),
    avatarUrl: z.string().nullable(),
    status: candidateStatus,
  })
  .meta({
    id: 'RegisteredCandidate',
    examples: [
      {
        id: EXAMPLE.otherCandidate,
        name: 'Amir Haddad',
        positionIds: [EXAMPLE.position],
        avatarUrl: null,
        status: 'pending',
      },
    ],
  });
export type RegisteredCandidateView = z.output<typeof registeredCandidateView>;

export const groupView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Group',
    description: 'A group of voters and candidates.',
    examples: [
      {
        id: EXAMPLE.group,
        votingEventId: EXAMPLE.event,
        name: 'North',
        description: null,
        createdAt: EXAMPLE.createdAt,
        updatedAt: EXAMPLE.createdAt,
      },
    ],
  });
export type GroupView = z.output<typeof groupView>;

export const sponsorView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    logoUrl: z.string().nullable(),
    websiteUrl: z.string().nullable(),
    tier: z.string().nullable(),
    sortOrder: z.int(),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Sponsor',
    description: 'Who supports an event.',
    examples: [
      {
        id: EXAMPLE.sponsor,
        votingEventId: EXAMPLE.event,
        name: 'The corner bookshop',
        logoUrl: 'https://bookshop.example/logo.png',
        websiteUrl: 'https://bookshop.example/',
        tier: 'gold',
        sortOrder: 0,
        createdAt: EXAMPLE.createdAt,
        updatedAt: EXAMPLE.createdAt,
      },
    ],
  });
export type SponsorView = z.output<typeof sponsorView>;

const namedGroup = z.object({ id: z.string(), name: z.string() }).meta({ id: 'BallotGroup' });

/** The ballot as a voter sees it (contract, "Ballot"; completions 4.2). */
export const ballotView = z
  .object({
    votingEventId: z.string(),
    positions: listShape(
      z.object({
        id: z.string(),
        title: z.string(),
        description: z.string().nullable(),
        votingMethod,
        group: namedGroup.nullable().meta({ description: 'Only voters of this group may answer.' }),
        seats: z.int(),
        minSelections: z.int(),
        maxSelections: z.int(),
        scoreMin: z.int().nullable().optional().meta({ description: 'Score positions only.' }),
        scoreMax: z.int().nullable().optional().meta({ description: 'Score positions only.' }),
        cumulativePointBudget: z.int().nullable().optional().meta({ description: 'Cumulative positions only.' }),
        quadraticBaseCreditBudget: z.int().nullable().optional().meta({ description: 'Quadratic positions only.' }),
      }),
    ),
    candidates: listShape(
      z.object({
        id: z.string(),
        name: z.string(),
        description: z.string().nullable(),
        positionIds: listShape(z.string()),
        group: namedGroup.nullable(),
        referendumRole,
        avatarUrl: z.string().nullable(),
      }),
    ),
    groups: listShape(namedGroup),
    sponsors: listShape(
      z.object({
        id: z.string(),
        name: z.string(),
        logoUrl: z.string().nullable(),
        websiteUrl: z.string().nullable(),
        tier: z.string().nullable(),
      }),
    ),
  })
  .meta({
    id: 'Ballot',
    description: 'What a voter chooses from.',
    examples: [
      {
        votingEventId: EXAMPLE.event,
        positions: [
          {
            id: EXAMPLE.position,
            title: 'Chair',
            description: null,
            votingMethod: 'plurality',
            group: null,
            seats: 1,
            minSelections: 1,
            maxSelections: 1,
          },
        ],
        candidates: [EXAMPLE.candidate, EXAMPLE.otherCandidate].map((id, index) => ({
          id,
          name: ['Greta Lind', 'Amir Haddad'][index],
          description: null,
          positionIds: [EXAMPLE.position],
          group: null,
          referendumRole: null,
          avatarUrl: null,
        })),
        groups: [],
        sponsors: [],
      },
    ],
  });
export type BallotView = z.output<typeof ballotView>;
