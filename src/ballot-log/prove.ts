import { z } from 'zod';
import { codeTagOf, waitingTag } from '#src/ballots/waiting-ballot.ts';
import type { Database } from '#src/database/client.ts';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { badRequest } from '#src/platform/errors.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { proveConsistency, proveInclusion } from './read-log.ts';
import { findBallotLeaf, findHead, findLastCheckpoint } from './repository.ts';
import { eventTree } from './tree-store.ts';

const hash = () => z.string().meta({ description: 'A hash in base64.' });
const HASH_EXAMPLE = 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=';
const CHECKPOINT_EXAMPLE = `vote.example/${EXAMPLE.event}\n2\n${HASH_EXAMPLE}\n\n— vote.example AAAAAAo=\n`;

/** The position of a confirmed ballot in the log, with its inclusion proof (completions 6.4). */
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
type BallotProof = z.output<typeof ballotProofView>;

export const consistencyView = z.object({ from: z.int(), to: z.int(), hashes: listShape(hash()) }).meta({
  id: 'ConsistencyProof',
  description: 'The hashes that show the first `from` leaves to be the beginning of the first `to` (RFC 6962).',
  examples: [{ from: 1, to: 2, hashes: [HASH_EXAMPLE] }],
});

/** Proves that the ballot of a confirmation code is in the log (completions 6.4). Undefined for a code that confirmed no ballot. */
export async function proveBallot(
  { db, ballotKeys }: { readonly db: Database; readonly ballotKeys: BallotKeys },
  event: VotingEvent,
  code: string,
): Promise<BallotProof | undefined> {
  const { id: eventId } = event;
  const secrets = await ballotKeys.find(event);
  const waiting = secrets === undefined ? undefined : waitingTag(secrets, event, code);
  const ballot = await findBallotLeaf(db, eventId, waiting, codeTagOf(code));
  if (ballot === undefined) return undefined;
  const checkpoint = ballot.leafIndex === null ? undefined : await findLastCheckpoint(db, eventId);
  if (ballot.leafIndex === null || checkpoint === undefined)
    return { status: 'queued', index: null, hashes: [], checkpoint: null };
  const { leafIndex: index } = ballot;
  const hashes = await proveInclusion(eventTree(db, eventId), index, checkpoint.size);
  return { status: 'logged', index, hashes, checkpoint: checkpoint.note };
}

/** The proof that the first `from` leaves are a prefix of the first `to`. @throws ApiError 400 unless 1 ≤ from ≤ to ≤ the log's size */
export async function proveGrowth(db: Database, eventId: string, from: number, to: number): Promise<string[]> {
  const size = (await findHead(db, eventId))?.frontier.size ?? 0;
  if (to > size) throw badRequest(`The log has ${size} leaves.`, { field: 'to' });
  if (from < 1 || from > to) throw badRequest('The smaller size must be from 1 to the larger one.', { field: 'from' });
  return proveConsistency(eventTree(db, eventId), from, to);
}
