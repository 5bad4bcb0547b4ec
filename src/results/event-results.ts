import { z } from 'zod';
import { VOTING_METHODS } from '#src/ballot-definition/types.ts';
import { closeOpeningView, groupTurnoutView } from '#src/ballot-log/close-opening.ts';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { disclosureShape, lettersPrintedShape } from '#src/voting-events/voting-event.ts';

const votingMethod = z.enum(VOTING_METHODS);
const weight = () => z.string().meta({ description: 'An exact decimal.' });

const tieView = z
  .object({
    candidateIds: listShape(z.string()),
    policy: z.enum(['joint', 'lot', 'candidate_order', 'earlier_round']).meta({ description: 'What decided it.' }),
    seed: z.string().nullable(),
  })
  .meta({ id: 'Tie' });

const roundView = z
  .object({
    round: z.int(),
    threshold: weight(),
    tallies: listShape(z.object({ candidateId: z.string(), votesWon: z.int(), weightWon: weight() })),
    others: z
      .object({ candidates: z.int(), votesWon: z.int(), weightWon: weight() })
      .nullable()
      .meta({ description: 'The standing candidates beyond the 200 that are listed, summed up.' }),
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
        required: z.string(),
        actual: z.string(),
        met: z.boolean(),
      }),
    ),
    outcome: z.enum(['passed', 'rejected', 'no_quorum']),
  })
  .meta({ id: 'ReferendumResult' });

const tallyView = z.object({ candidateId: z.string(), votesWon: z.int(), weightWon: weight() });

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

const positionResultView = z
  .object({
    id: z.string(),
    title: z.string(),
    votingMethod,
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

const rehearsalMark = z.literal(true).optional().meta({
  description: 'The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.',
});

/** Results (completions 5). */
export const resultsView = z
  .object({
    rehearsal: rehearsalMark,
    votingEventId: z.string(),
    title: z.string(),
    final: z.boolean().meta({ description: 'True once no ballot can come any more.' }),
    disputed: z.boolean().meta({
      description:
        'True while the ballots or their log are not what was signed: a close that they do not agree with is not written, and the operator is alarmed until it is mended.',
    }),
    asOf: timeShape(),
    stats: z.object({
      totalVotes: z.int(),
      ballots: z.int(),
      entries: z.int().meta({ description: 'Votes of all ballots together.' }),
      abstentions: z.int(),
      electorate: z.number().nullable().meta({ description: 'Weight of the approved voters; null in polls.' }),
      turnout: z.number().nullable().meta({ description: 'From 0 to 1, by weight; null in polls.' }),
      identityChanges: z.int().meta({ description: 'Changes of a voter’s e-mail or voter ID after the opening.' }),
      rollChanges: z
        .int()
        .meta({ description: 'Changes of a voter’s weight, group or status after the opening, and deletions.' }),
      lettersPrinted: lettersPrintedShape,
      disclosure: disclosureShape,
    }),
    positions: listShape(positionResultView),
    afterReversals: z
      .object({ ballots: z.int(), positions: listShape(positionResultView) })
      .nullable()
      .meta({
        description:
          'What is left of a final result without the ballots whose payment was reversed after it; null without such a reversal. The figures of the result itself stay those of the close.',
      }),
    byGroup: groupTurnoutView
      .nullable()
      .meta({ description: 'Turnout of the groups with at least 5 voters, once the result is final.' }),
    log: z
      .object({
        size: z.int(),
        rootHash: z.string().meta({ description: 'In base64.' }),
        close: closeOpeningView.nullable(),
      })
      .meta({ description: 'The ballot log at this moment.' }),
    lot: z.object({
      seedHash: z.string().nullable().meta({ description: 'SHA-256 of the seed in hex, told from the opening on.' }),
      seed: z
        .string()
        .nullable()
        .meta({ description: 'The seed that lots are drawn from, told once the result is final.' }),
      root: z.string().nullable().meta({
        description: 'Root of the log before its close leaf in hex, which lots are drawn from too.',
      }),
    }),
  })
  .meta({
    id: 'Results',
    examples: [
      {
        votingEventId: EXAMPLE.event,
        title: 'Board of the reading club',
        final: true,
        disputed: false,
        asOf: EXAMPLE.closesAt,
        stats: {
          totalVotes: 3,
          ballots: 3,
          entries: 3,
          abstentions: 0,
          electorate: 4,
          turnout: 0.75,
          identityChanges: 0,
          rollChanges: 1,
          lettersPrinted: 0,
          disclosure: { everyBallots: 5, waiting: true },
        },
        positions: [
          {
            id: EXAMPLE.position,
            title: 'Chair',
            votingMethod: 'plurality',
            seats: 1,
            vacantSeats: 0,
            totalVotes: 3,
            ballots: 3,
            abstentions: 0,
            candidates: [
              { id: EXAMPLE.candidate, name: 'Greta Lind', votesWon: 2, weightWon: '2', winner: true, tied: false },
              {
                id: EXAMPLE.otherCandidate,
                name: 'Amir Haddad',
                votesWon: 1,
                weightWon: '1',
                winner: false,
                tied: false,
              },
            ],
            winners: [EXAMPLE.candidate],
            runnerUp: EXAMPLE.otherCandidate,
            runoff: null,
            margin: { votes: '1', exact: true, bound: null },
            tie: null,
            rounds: null,
            roundsOmitted: false,
            firstChoices: null,
            pairwise: null,
            finalTwo: null,
            referendum: null,
          },
        ],
        afterReversals: null,
        byGroup: [],
        log: { size: 5, rootHash: 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=', close: null },
        lot: { seedHash: 'b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78', seed: null, root: null },
      },
    ],
  });
export type EventResults = z.output<typeof resultsView>;

/** Some of the rounds of a position. */
export const roundsView = z
  .object({
    rehearsal: rehearsalMark,
    positionId: z.string(),
    rounds: listShape(roundView),
    nextRound: z.int().nullable().meta({ description: 'What to ask for next as `fromRound`; null at the end.' }),
  })
  .meta({ id: 'ResultRounds', examples: [{ positionId: EXAMPLE.position, rounds: [], nextRound: null }] });
