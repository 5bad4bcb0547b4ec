import { z } from 'zod';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';

const HASH_EXAMPLE = 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=';

/** Where a checkpoint of an event stands in the service's own log. */
export const checkpointProofView = z
  .object({
    status: z.enum(['queued', 'logged']),
    index: z.int().nullable().meta({ description: 'Of its leaf; null while it waits.' }),
    hashes: listShape(z.string().meta({ description: 'A hash in base64.' })).meta({
      description: 'The inclusion proof (RFC 6962).',
    }),
    checkpoint: z
      .string()
      .nullable()
      .meta({ description: 'The newest checkpoint of the event that has a leaf, as it was signed.' }),
    serviceCheckpoint: z.string().nullable().meta({
      description: 'The head of the service’s own log that the proof leads to, with the cosignatures of witnesses.',
    }),
  })
  .meta({
    id: 'CheckpointProof',
    examples: [
      {
        status: 'logged',
        index: 0,
        hashes: [],
        checkpoint: `vote.example/${EXAMPLE.event}\n2\n${HASH_EXAMPLE}\nconfirmed 1\n\n— vote.example AAAAAAo=\n`,
        serviceCheckpoint: `vote.example/log\n1\n${HASH_EXAMPLE}\n\n— vote.example/log AAAAAAo=\n`,
      },
    ],
  });
export type CheckpointProof = z.output<typeof checkpointProofView>;
