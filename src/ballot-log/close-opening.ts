import { z } from 'zod';
import { listShape } from '#src/http/answer-shapes.ts';

const decimal = () => z.string().meta({ description: 'An exact decimal.' });
const hash = (what: string) => z.string().meta({ description: `${what}: SHA-256 in hex.` });

export const groupTurnoutView = listShape(z.object({ groupId: z.string(), voters: z.int(), voted: z.int() }));

/** The opening of a log's `close` leaf: the commitment is SHA-256 of "close", the salt, and the canonical JSON of the other fields. */
export const closeOpeningView = z
  .object({
    salt: z.string().meta({ description: '32 random bytes in base64.' }),
    title: z.string(),
    // The same hash as in the last `open` or `config` leaf.
    config: hash('The configuration that was counted by'),
    // Ballots in the log before this leaf, without void ballots.
    ballots: z.int(),
    weight: decimal(),
    abstentions: z.int(),
    participants: z.int().nullable().meta({ description: 'Voters who took part; null in polls.' }),
    electorate: z
      .object({ heads: z.int(), weight: decimal() })
      .nullable()
      .meta({ description: 'The approved voters; null in polls.' }),
    identityChanges: z.int(),
    rollChanges: z.int(),
    byGroup: groupTurnoutView,
    result: hash('The canonical JSON of `positions`'),
  })
  .meta({
    id: 'CloseOpening',
    description:
      'What the `close` leaf of the log commits to: its `c` is SHA-256("close" ‖ salt ‖ canonical JSON of everything here but the salt). Null before the close.',
    examples: [
      {
        salt: 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=',
        title: 'Board of the reading club',
        config: 'b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78',
        ballots: 3,
        weight: '3',
        abstentions: 0,
        participants: 3,
        electorate: { heads: 4, weight: '4' },
        identityChanges: 0,
        rollChanges: 1,
        byGroup: [],
        result: '9f2c4e6a8b0d1f3a5c7e9b1d3f5a7c9e0b2d4f6a8c0e1f3b5d7f9a1c3e5b7d90',
      },
    ],
  });
export type CloseOpening = z.output<typeof closeOpeningView>;
