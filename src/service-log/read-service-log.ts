import { z } from 'zod';
import { logOrigin, signCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { findCheckpointAt } from '#src/ballot-log/checkpoint-queue.ts';
import { EMPTY_ROOT, inclusionProof, nodesOfInclusion } from '#src/ballot-log/merkle-tree.ts';
import { loadNodesOf } from '#src/ballot-log/read-log.ts';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { eventTag } from './checkpoint-leaf.ts';
import {
  findLeafOf,
  listCosignatures,
  listNewestCheckpoints,
  type ServiceCheckpoint,
  serviceTree,
} from './repository.ts';
import type { ServiceLogDeps } from './sequence-service-log.ts';

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

/** Heads among which the one with the most cosignatures is looked for: the newest may be so new that none has signed it. */
const LOOKED_AT = 50;

const withLines = ({ note }: ServiceCheckpoint, lines: readonly string[] = []): string =>
  note + lines.map((line) => `${line}\n`).join('');

/** The newest head of the service's own log, with the cosignatures that it has so far. */
export async function readServiceCheckpoint({ db, serviceLog: { signer } }: ServiceLogDeps): Promise<string> {
  const [newest] = await listNewestCheckpoints(db, 0, 1);
  if (newest === undefined) return signCheckpoint({ origin: signer.name, size: 0, rootHash: EMPTY_ROOT }, signer);
  return withLines(newest, (await listCosignatures(db, [newest.size])).get(newest.size));
}

/**
 * Shows the newest checkpoint of an event that has a leaf in the service's own log to be in it, under the head with the most
 * cosignatures among the newest that hold it.
 */
export async function proveCheckpoint(deps: ServiceLogDeps, eventId: string): Promise<CheckpointProof> {
  const { db, logKey } = deps;
  const leaf = await findLeafOf(db, eventTag(logOrigin(logKey.name, eventId)));
  const heads = leaf === undefined ? [] : await listNewestCheckpoints(db, leaf.leafIndex, LOOKED_AT);
  const signed = leaf === undefined ? undefined : await findCheckpointAt(db, eventId, leaf.size);
  const [newest] = heads;
  if (leaf === undefined || newest === undefined || signed === undefined)
    return { status: 'queued', index: null, hashes: [], checkpoint: null, serviceCheckpoint: null };
  const lines = await listCosignatures(
    db,
    heads.map(({ size }) => size),
  );
  const countOf = ({ size }: ServiceCheckpoint): number => lines.get(size)?.length ?? 0;
  const best = heads.reduce((one, other) => (countOf(other) > countOf(one) ? other : one), newest);
  const { leafIndex: index } = leaf;
  const read = await loadNodesOf(serviceTree(db), nodesOfInclusion(index, best.size), best.size);
  return {
    status: 'logged',
    index,
    hashes: inclusionProof(index, best.size, read).map((hash) => Buffer.from(hash).toString('base64')),
    checkpoint: signed.note,
    serviceCheckpoint: withLines(best, lines.get(best.size)),
  };
}
