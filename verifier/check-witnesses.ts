import { type Checks, demand } from './checks.ts';
import { leafHash, rootOfProof } from './hash-tree.ts';
import { eventTag, type HeadTrail, headCommitment, readTrail } from './head-trail.ts';
import { fieldsOf, listOf, numberOf, sortedJson, textOf } from './json.ts';
import {
  type LogKey,
  readCheckpoint,
  readCosignature,
  readServiceHead,
  renameKey,
  type SignedHead,
  type TreeHead,
  Unbelievable,
} from './note.ts';
import type { ReadLog } from './read-leaves.ts';
import { type Read, readJson, Unreadable } from './read-service.ts';

export interface WitnessDemand {
  readonly keys: readonly LogKey[];
  /** How many of the keys must have signed; at least 1. */
  readonly quorum: number;
}

/** The place of a head of this log in the service's own log, as the service states it. */
export interface Inclusion {
  /** The head of the event's log whose leaf is proved. */
  readonly head: SignedHead;
  /** The head of the service's own log, and its note with cosignatures. */
  readonly service: TreeHead;
  readonly note: string;
  readonly index: number;
  readonly hashes: readonly Buffer[];
  /** All heads of the event in the service's own log. */
  readonly trail: HeadTrail;
}

const NAME = 'service log';
/** Most hashes of a proof. A tree that needs more cannot exist. */
const MOST_HASHES = 63;

/** Reads the place of the event's log in the service's own log. Undefined, with a check that says why, if it cannot be checked. */
export async function readInclusion(
  read: Read,
  base: string,
  logKey: LogKey,
  checks: Checks,
): Promise<Inclusion | undefined> {
  try {
    return await readProof(read, base, logKey, checks);
  } catch (fault) {
    if (!(fault instanceof Unreadable)) throw fault;
    checks.leaveOut(NAME, fault.message);
    return undefined;
  }
}

async function readProof(read: Read, base: string, logKey: LogKey, checks: Checks): Promise<Inclusion | undefined> {
  const answer = await readJson(read, `${base}/inclusion`);
  const { status, index, hashes, checkpoint, serviceCheckpoint } = fieldsOf(fieldsOf(answer)['data']);
  if (status !== 'logged') {
    const why =
      answer === undefined ? 'it is kept from this key' : 'no head of this log is in the service’s own log yet';
    checks.leaveOut(NAME, why);
    return undefined;
  }
  return checks.run(
    'service head',
    async () => {
      const serviceKey = renameKey(logKey, `${logKey.name}/log`);
      const note = textOf(serviceCheckpoint);
      const service = readServiceHead(note, serviceKey);
      demand(service.origin === serviceKey.name, `it speaks of another log: ${service.origin}`);
      const proof = listOf(hashes).map((hash) => Buffer.from(textOf(hash), 'base64'));
      demand(proof.length <= MOST_HASHES && proof.every(({ length }) => length === 32), 'the proof is malformed');
      const head = readCheckpoint(textOf(checkpoint), logKey);
      const trail = await readTrail(read, service, head.origin);
      return { head, trail, service, note, index: numberOf(index), hashes: proof };
    },
    ({ service }) => `a head of ${service.size} leaves, signed by ${service.origin}`,
  );
}

/** The leaf of a head, computed from the data that were read. */
function leafOf(head: TreeHead): Buffer {
  const leaf = { v: 2, t: 'checkpoint', e: eventTag(head.origin), c: headCommitment(head) };
  return leafHash(Buffer.from(sortedJson(leaf)));
}

/** The root to which a proof leads from a head's leaf; undefined if a log of that size has no such leaf. */
function rootAbove(head: TreeHead, index: number, size: number, hashes: readonly Buffer[]): Buffer | undefined {
  const isPlace = Number.isSafeInteger(index) && index >= 0 && index < size;
  return isPlace ? rootOfProof(leafOf(head), index, size, hashes) : undefined;
}

/** Checks that a head of this log is in the service's own log, and that enough witnesses have signed the head of that log. */
export async function checkWitnesses(
  checks: Checks,
  log: ReadLog,
  head: SignedHead,
  { head: included, service, note, index, hashes, trail }: Inclusion,
  witnesses: WitnessDemand | undefined,
): Promise<void> {
  await checks.runAlone(
    NAME,
    () => {
      demand(included.origin === head.origin, `the service shows a head of another log: ${included.origin}`);
      const isOfThisLog = log.rootAt.get(included.size)?.equals(included.root) === true;
      demand(isOfThisLog, `its head of ${included.size} leaves is not one of the log that was read: there are two`);
      const root = rootAbove(included, index, service.size, hashes);
      demand(root?.equals(service.root) === true, 'the proof does not lead to the head of the service’s own log');
    },
    () => `the head of ${included.size} leaves is leaf ${index} of the service’s own log`,
  );
  await checks.runAlone(
    'one history',
    () =>
      demand(
        trail.left === 0,
        'not every head of this event there is of the log that was read: there are two histories',
      ),
    () => `all ${trail.length} heads of this event in the service’s own log are of the log that was read`,
  );
  if (included.size < head.size)
    checks.leaveOut('newest head', `the head of ${head.size} leaves is not in the service’s own log yet`);
  if (witnesses !== undefined) await checkQuorum(checks, note, witnesses);
}

async function checkQuorum(checks: Checks, note: string, { keys, quorum }: WitnessDemand): Promise<void> {
  const signed: string[] = [];
  const missing: string[] = [];
  const faults: string[] = [];
  for (const key of keys) {
    try {
      const timeMs = readCosignature(note, key);
      if (timeMs === undefined) missing.push(key.name);
      else signed.push(`${key.name} at ${new Date(timeMs).toISOString()}`);
    } catch (fault) {
      if (!(fault instanceof Unbelievable)) throw fault;
      faults.push(fault.message);
    }
  }
  if (faults.length === 0 && signed.length < quorum) {
    checks.leaveOut('witnesses', `${signed.length} of ${quorum} cosignatures: not yet of ${missing.join(', ')}`);
    return;
  }
  await checks.runAlone(
    'witnesses',
    () => demand(faults.length === 0, faults.join('; ')),
    () => `cosigned by ${signed.join(', ')}`,
  );
}
