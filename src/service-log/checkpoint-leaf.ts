import { type Checkpoint, checkpointBody } from '#src/ballot-log/checkpoint.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { sha256 } from '#src/platform/secrets.ts';

/** Names an event's log in the service's own log, to those alone who know the event's ID. */
export const eventTag = (origin: string): Buffer => sha256(`event${origin}`);

/**
 * The leaf of a checkpoint: canonical JSON of `{ v: 1, t: "checkpoint", e, c }` with two hashes in lowercase hex. `e` is
 * SHA-256("event" ‖ origin), `c` is SHA-256("checkpoint" ‖ the first three lines of the checkpoint: origin, size, root).
 * A reader of the event's log makes both again; everybody else learns neither size nor root of a log that is not open.
 */
export function checkpointLeaf({ origin, size, rootHash }: Checkpoint): Buffer {
  const commitment = sha256(`checkpoint${checkpointBody({ origin, size, rootHash })}`);
  const leaf = { v: 1, t: 'checkpoint', e: eventTag(origin).toString('hex'), c: commitment.toString('hex') };
  return Buffer.from(canonicalJson(leaf));
}
