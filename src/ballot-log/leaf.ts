import { canonicalJson } from '#src/platform/canonical-json.ts';
import { microToDecimal } from '#src/platform/decimal.ts';
import { sha256 } from '#src/platform/secrets.ts';
import type { CloseOpening } from './close-opening.ts';

interface LeafOf<Kind extends string> {
  readonly v: 2;
  readonly t: Kind;
  readonly e: string;
}

/**
 * What the log records (completions 6.3). A leaf's data is the canonical JSON (RFC 8785) of one of these, in UTF-8; all
 * hashes in it are SHA-256 in lowercase hex, `e` is the voting event's ID, `at` is Unix ms.
 *
 * A ballot's leaf says nothing of its content until it is opened: `c` is
 * SHA-256("ballot" ‖ salt ‖ canonical JSON of { votes, weight }), and `h` is SHA-256("code" ‖ confirmation code), the code
 * as 26 upper-case ASCII characters. It bears no time, so that no leaf can be joined with the moment somebody voted.
 */
interface BallotLeaf extends LeafOf<'ballot'> {
  readonly c: string;
  readonly h: string;
}

/** The first leaf. */
interface OpenLeaf extends LeafOf<'open'> {
  readonly at: number;
  /** Hash of the configuration's canonical JSON: settings, positions, candidates. */
  readonly config: string;
  /** When the event ends, and until when its `close` leaf will be in the log; both null without an end. */
  readonly end: number | null;
  readonly closeDue: number | null;
  /** Hash of the bytes of the seed that ties are drawn from. */
  readonly seed: string;
  /** Approved voters and their weight, an exact decimal; null in polls. */
  readonly roll: { readonly heads: number; readonly weight: string } | null;
  /** Letters with voter keys that were printed before. */
  readonly letters: number;
  /** Ballots that were confirmed in rehearsals before, and wiped; only where there was a rehearsal. */
  readonly rehearsalBallots?: number;
}

/**
 * The roll of an election as it is from here on: no more ballots than `heads` and no more weight than `weight` may stand before
 * the next one. It names no voter. `seq` counts them from 1.
 */
interface RollLeaf extends LeafOf<'roll'> {
  readonly at: number;
  /** Null, as the weight is: the event has no roll any more, because it became a poll before any ballot. */
  readonly heads: number | null;
  readonly weight: string | null;
  /** Changes since the opening of voters' e-mails and voter IDs. */
  readonly identityChanges: number;
  /** Changes since the opening of voters' weight, group and status, and deletions. */
  readonly rollChanges: number;
  readonly seq: number;
}

/** Letters with voter keys were printed while the event was open: who prints them could vote in their voters' place. */
interface LettersLeaf extends LeafOf<'letters'> {
  /** Letters so far, those before the opening included. */
  readonly n: number;
}

/** A change of the configuration or of the end after the opening; `seq` counts them from 1. */
interface ConfigLeaf extends LeafOf<'config'> {
  readonly at: number;
  readonly config: string;
  readonly end: number | null;
  readonly closeDue: number | null;
  /** Ballots confirmed when it was written, those in the queue included. */
  readonly confirmed: number;
  readonly seq: number;
  /** Waiting ballots that the service did not write as they stood, and that the operator dropped; only in the leaf that says so. */
  readonly dropped?: number;
}

/**
 * The close: the last leaf but for `void` leaves, written once. It commits to the result and says nothing of it: `c` is
 * SHA-256("close" ‖ salt ‖ canonical JSON of what is closed), so that a hidden result cannot be found by trying counts out.
 */
interface CloseLeaf extends LeafOf<'close'> {
  readonly at: number;
  readonly c: string;
}

/** What a `close` leaf commits to. Published together with its salt where the result may be read, never before. */
export type CloseContent = Omit<CloseOpening, 'salt'>;

/** Takes back the ballot at `index`, whose `h` it repeats: its payment was reversed. The ballot's leaf stays. */
interface VoidLeaf extends LeafOf<'void'> {
  readonly h: string;
  readonly index: number;
}

export type Leaf = BallotLeaf | OpenLeaf | RollLeaf | LettersLeaf | ConfigLeaf | CloseLeaf | VoidLeaf;

/** One entry of a ballot as it is committed to; `value` or `rank` only where the voting method has it. */
export interface CommittedVote {
  readonly positionId: string;
  readonly candidateId: string;
  readonly value?: number;
  readonly rank?: number;
}

/** What opens a commitment: to be published after the close, never before. */
export interface BallotOpening {
  readonly votes: readonly CommittedVote[];
  /** Exact decimal string. */
  readonly weight: string;
}

const HASH_BYTES = 32;
export const SALT_BYTES = 32;

export const encodeLeaf = (leaf: Leaf): Buffer => Buffer.from(canonicalJson(leaf));

function requireHash(bytes: Uint8Array, name: string): string {
  if (bytes.length !== HASH_BYTES) throw new RangeError(`${name} has ${HASH_BYTES} bytes`);
  return Buffer.from(bytes).toString('hex');
}

/** The leaf of a confirmed ballot. @param codeTag SHA-256("code" ‖ confirmation code), 32 bytes */
export function ballotLeaf(eventId: string, commitment: Uint8Array, codeTag: Uint8Array): BallotLeaf {
  const c = requireHash(commitment, 'a commitment');
  return { v: 2, t: 'ballot', e: eventId, c, h: requireHash(codeTag, 'a code tag') };
}

export const voidLeaf = (eventId: string, codeTag: Uint8Array, index: number): VoidLeaf => ({
  v: 2,
  t: 'void',
  e: eventId,
  h: requireHash(codeTag, 'a code tag'),
  index,
});

const byCodeUnits = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/** The one form of a ballot that is hashed and published: sorted by position, then candidate, in UTF-16 code units. */
export function ballotOpening(votes: readonly CommittedVote[], weightMicro: bigint): BallotOpening {
  return {
    votes: votes
      .map(({ positionId, candidateId, value, rank }) => ({
        positionId,
        candidateId,
        ...(value === undefined ? {} : { value }),
        ...(rank === undefined ? {} : { rank }),
      }))
      .toSorted(
        (left, right) =>
          byCodeUnits(left.positionId, right.positionId) || byCodeUnits(left.candidateId, right.candidateId),
      ),
    weight: microToDecimal(weightMicro),
  };
}

/** Binds a content without showing it. @param salt 32 random bytes: without them a short list of choices could be tried out */
function commitmentTo(kind: 'ballot' | 'close', salt: Uint8Array, content: object): Buffer {
  if (salt.length !== SALT_BYTES) throw new RangeError(`a salt has ${SALT_BYTES} bytes`);
  return sha256(Buffer.concat([Buffer.from(kind), salt, Buffer.from(canonicalJson(content))]));
}

export const ballotCommitment = (salt: Uint8Array, { votes, weight }: BallotOpening): Buffer =>
  commitmentTo('ballot', salt, { votes, weight });

export const closeCommitment = (salt: Uint8Array, content: CloseContent): Buffer =>
  commitmentTo('close', salt, content);

/** The hash by which `open` and `config` leaves and closes name a configuration or the positions of a result: lowercase hex. */
export const hashOfJson = (value: unknown): string => sha256(canonicalJson(value)).toString('hex');
