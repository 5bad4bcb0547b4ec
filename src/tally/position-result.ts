import { z } from 'zod';
import { VOTING_METHODS } from '#src/ballot-definition/types.ts';
import { listShape } from '#src/http/answer-shapes.ts';

const weight = () => z.string().meta({ description: 'An exact decimal.' });

const tallyView = z.object({ candidateId: z.string(), votesWon: z.int(), weightWon: weight() });

const tieView = z
  .object({
    candidateIds: listShape(z.string()),
    policy: z.enum(['joint', 'lot', 'candidate_order', 'earlier_round']).meta({ description: 'What decided it.' }),
    seed: z.string().nullable(),
  })
  .meta({ id: 'Tie' });

export const roundView = z
  .object({
    round: z.int(),
    // The tally that elects a candidate. docs/counting.md says when reaching it suffices, and when the tally must exceed it.
    threshold: weight(),
    tallies: listShape(tallyView),
    others: z
      .object({ candidates: z.int(), votesWon: z.int(), weightWon: weight() })
      .nullable()
      .meta({ description: 'The standing candidates beyond the 200 that are listed, summed up.' }),
    // The weight of ballots that name no continuing candidate.
    exhausted: weight(),
    roundingLoss: weight().meta({ description: 'Weight that cutting down to five decimals has lost so far.' }),
    elected: listShape(z.string()),
    eliminated: listShape(z.string()),
    transfers: listShape(z.object({ from: z.string(), to: z.string().nullable(), weight: weight() })),
    tie: tieView.nullable(),
    provisional: z.boolean().meta({
      description: 'A tie was decided by `sortOrder` because the lot is drawn later: what follows may still change.',
    }),
  })
  .meta({ id: 'Round', description: 'One round of a ranked count.' });

const referendumView = z
  .object({
    yes: weight(),
    no: weight(),
    abstain: weight(),
    electorate: weight().nullable(),
    rules: listShape(
      z.object({
        name: z.enum(['threshold', 'turnout_quorum', 'approval_quorum']),
        // `required` and `actual` are fractions `numerator/denominator`; their weights are in the unit of the roll.
        required: z.string(),
        actual: z.string(),
        met: z.boolean(),
      }),
    ),
    outcome: z.enum(['passed', 'rejected', 'no_quorum']),
  })
  .meta({ id: 'ReferendumResult' });

const marginView = z
  .object({
    votes: weight(),
    exact: z.boolean(),
    bound: z.enum(['lower', 'upper']).nullable().meta({
      description: 'The true margin is at least (`lower`) or at most (`upper`) this; null where it is exact.',
    }),
  })
  .meta({ id: 'Margin', description: 'The votes whose change changes a winner.' });

const pairwiseView = z
  .object({
    candidateIds: listShape(z.string()),
    table: listShape(listShape(weight())).meta({
      description: '`table[a][b]`: the weight of the ballots that rank candidate a above candidate b.',
    }),
    condorcetWinner: z.string().nullable().meta({ description: 'Who is preferred to every other candidate.' }),
  })
  .meta({ id: 'Pairwise' });

/** The result of a position (completions 5). */
export const positionResultView = z
  .object({
    id: z.string(),
    title: z.string(),
    votingMethod: z.enum(VOTING_METHODS),
    seats: z.int(),
    vacantSeats: z.int().meta({ description: 'Seats that nobody won.' }),
    totalVotes: z.int(),
    ballots: z.int().meta({ description: 'Ballots that answered this position.' }),
    abstentions: z.int().meta({ description: 'Ballots that could have answered and did not.' }),
    candidates: listShape(
      z.object({
        id: z.string(),
        name: z.string(),
        votesWon: z.int(),
        weightWon: weight(),
        winner: z.boolean(),
        tied: z.boolean(),
      }),
    ),
    winners: listShape(z.string()),
    runnerUp: z.string().nullable().meta({ description: 'Who came nearest to a seat without winning one.' }),
    runoff: listShape(z.string())
      .nullable()
      .meta({ description: 'Where a required majority left a seat open: who goes into a runoff.' }),
    margin: marginView.nullable(),
    tie: tieView.nullable(),
    rounds: listShape(roundView)
      .nullable()
      .meta({ description: 'Of a ranked count. Null too where there are more than 2,000 tallies in them.' }),
    roundsOmitted: z
      .boolean()
      .meta({ description: 'The rounds are too many for this answer: read them from `…/results/rounds`.' }),
    firstChoices: listShape(tallyView).nullable().meta({
      description:
        'Of a ranked count: how many ballots name each candidate first; candidates without any are left out.',
    }),
    pairwise: pairwiseView.nullable().meta({ description: 'Of a ranked count with up to 50 candidates.' }),
    finalTwo: listShape(tallyView)
      .nullable()
      .meta({ description: 'Of an instant runoff: the last two, when it is counted on past a majority.' }),
    referendum: referendumView.nullable(),
  })
  .meta({ id: 'PositionResult' });

export type PositionResult = z.output<typeof positionResultView>;
export type CandidateResult = PositionResult['candidates'][number];
export type TieDecision = z.output<typeof tieView>;
export type Round = z.output<typeof roundView>;
export type RoundTally = z.output<typeof tallyView>;
export type RoundTransfer = Round['transfers'][number];
export type ReferendumResult = z.output<typeof referendumView>;
export type ReferendumRuleResult = ReferendumResult['rules'][number];
export type Margin = z.output<typeof marginView>;
export type Pairwise = z.output<typeof pairwiseView>;
