import { z } from 'zod';
import { closeOpeningView, groupTurnoutView } from '#src/ballot-log/close-opening.ts';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { positionResultView, roundView } from '#src/tally/position-result.ts';
import { disclosureShape, lettersPrintedShape } from '#src/voting-events/voting-event.ts';

const rehearsalMark = z.literal(true).optional().meta({
  description: 'The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.',
});

/** Fields that results and figures share. */
export const changesShape = {
  identityChanges: z.int().meta({ description: 'Changes of a voter’s e-mail or voter ID after the opening.' }),
  rollChanges: z
    .int()
    .meta({ description: 'Changes of a voter’s weight, group or status after the opening, and deletions.' }),
  lettersPrinted: lettersPrintedShape,
  disclosure: disclosureShape,
};

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
      ...changesShape,
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

export const roundsView = z
  .object({
    rehearsal: rehearsalMark,
    positionId: z.string(),
    rounds: listShape(roundView),
    nextRound: z.int().nullable().meta({ description: 'What to ask for next as `fromRound`; null at the end.' }),
  })
  .meta({ id: 'ResultRounds', examples: [{ positionId: EXAMPLE.position, rounds: [], nextRound: null }] });
