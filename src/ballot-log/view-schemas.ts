import { z } from 'zod';
import { candidateView } from '#src/ballot-definition/candidate.ts';
import { positionView } from '#src/ballot-definition/position.ts';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { votingEventView } from '#src/voting-events/voting-event.ts';
import { closeOpeningView } from './close-opening.ts';

const hash = () => z.string().meta({ description: 'A hash in base64.' });

const HASH_EXAMPLE = 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=';
const CHECKPOINT_EXAMPLE = `vote.example/${EXAMPLE.event}\n2\n${HASH_EXAMPLE}\n\n— vote.example AAAAAAo=\n`;

/** Where a confirmed ballot stands in the log (completions 6.4). */
export const ballotProofView = z
  .object({
    status: z.enum(['queued', 'logged']),
    index: z.int().nullable().meta({ description: 'Of its leaf; null while it waits.' }),
    hashes: listShape(hash()).meta({ description: 'The inclusion proof (RFC 6962).' }),
    checkpoint: z.string().nullable().meta({ description: 'The signed head that the proof leads to.' }),
  })
  .meta({
    id: 'BallotProof',
    examples: [{ status: 'logged', index: 1, hashes: [HASH_EXAMPLE], checkpoint: CHECKPOINT_EXAMPLE }],
  });
export type BallotProof = z.output<typeof ballotProofView>;

export const consistencyView = z.object({ from: z.int(), to: z.int(), hashes: listShape(hash()) }).meta({
  id: 'ConsistencyProof',
  description: 'The hashes that show the first `from` leaves to be the beginning of the first `to` (RFC 6962).',
  examples: [{ from: 1, to: 2, hashes: [HASH_EXAMPLE] }],
});

const openingView = z
  .object({
    index: z.int().meta({ description: 'Of its leaf.' }),
    votes: listShape(
      z.object({
        positionId: z.string(),
        candidateId: z.string(),
        value: z.int().optional(),
        rank: z.int().optional(),
      }),
    ),
    weight: z.string().meta({ description: 'An exact decimal.' }),
    salt: z.string().meta({ description: 'Opens the commitment of the leaf; base64.' }),
  })
  .meta({
    id: 'BallotOpening',
    description: 'What a ballot of the log said.',
    examples: [
      {
        index: 1,
        votes: [{ positionId: EXAMPLE.position, candidateId: EXAMPLE.candidate }],
        weight: '1',
        salt: HASH_EXAMPLE,
      },
    ],
  });

/** Everything that a ballot and its count depend on, as the `open` and `config` leaves bind it. */
const configurationView = z
  .object({
    v: z.literal(1),
    rules: z.literal(2).meta({ description: 'The version of the counting rules.' }),
    ...votingEventView.pick({ title: true, type: true, startsAt: true, endsAt: true }).shape,
    voter: votingEventView.shape.voter.omit({ pollIdentity: true }),
    ballot: votingEventView.shape.ballot.omit({ candidateOrder: true }),
    repeatVotes: z.boolean(),
    positions: listShape(
      positionView.omit({
        votingEventId: true,
        description: true,
        sortOrder: true,
        quadraticTopUp: true,
        createdAt: true,
        updatedAt: true,
      }),
    ),
    candidates: listShape(
      candidateView.pick({
        id: true,
        name: true,
        positionIds: true,
        referendumRole: true,
        status: true,
        sortOrder: true,
      }),
    ),
  })
  .meta({
    id: 'LogConfiguration',
    description:
      'What the last `open` or `config` leaf binds by its hash: positions and candidates in the order of their IDs.',
    examples: [
      {
        v: 1,
        rules: 2,
        title: 'Board of the reading club',
        type: 'election',
        startsAt: EXAMPLE.openedAt,
        endsAt: EXAMPLE.closesAt,
        voter: { requireVoterId: false, selfRegistration: true, approval: 'automatic', saveVoterInfo: false },
        ballot: { opening: 'observer', receipt: 'inclusion' },
        repeatVotes: false,
        positions: [
          {
            id: EXAMPLE.position,
            title: 'Chair',
            votingMethod: 'plurality',
            groupId: null,
            seats: 1,
            minSelections: 1,
            maxSelections: 1,
            scoreMin: null,
            scoreMax: null,
            cumulativePointBudget: null,
            quadraticBaseCreditBudget: null,
            tieBreak: 'joint',
            rules: null,
            majorityRequired: null,
          },
        ],
        candidates: [
          {
            id: EXAMPLE.candidate,
            name: 'Greta Lind',
            positionIds: [EXAMPLE.position],
            referendumRole: null,
            status: 'approved',
            sortOrder: 0,
          },
        ],
      },
    ],
  });
export type LogConfiguration = z.output<typeof configurationView>;

/** A page of openings, and beside them the seed that ties are drawn from. */
export const openingsPage = z
  .object({
    data: listShape(openingView),
    nextCursor: z.string().nullable(),
    nextIndex: z.int().nullable().meta({ description: 'What to ask for next as `fromIndex`; null at the end.' }),
    tieSeed: z.string().meta({
      description: 'The seed that ties are drawn from, in hex.',
      examples: ['9f2c4e6a8b0d1f3a5c7e9b1d3f5a7c9e0b2d4f6a8c0e1f3b5d7f9a1c3e5b7d90'],
    }),
    close: closeOpeningView.nullable().meta({ examples: [null] }),
    configuration: configurationView.optional().meta({ description: 'On the first page alone.' }),
  })
  .meta({ id: 'BallotOpenings' });
