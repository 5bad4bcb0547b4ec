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
 * The leaves of the log (completions 6.3). A leaf's data is the canonical JSON (RFC 8785) of one of these types, in UTF-8; all
 * hashes in it are SHA-256 in lowercase hex, `e` is the voting event's ID, `at` is Unix ms.
 *
 * A ballot's leaf reveals nothing of its content until it is opened: `c` is
 * SHA-256("ballot" ‖ salt ‖ canonical JSON of { votes, weight }), and `h` is SHA-256("code" ‖ confirmation code), the code
 * as 26 upper-case ASCII characters. The leaf has no time, so that it cannot be joined with the moment of a vote.
 */
interface BallotLeaf extends LeafOf<'ballot'> {
  readonly c: string;
  readonly h: string;
}

interface Configured {
  readonly at: number;
  /** Hash of the configuration's canonical JSON: settings, positions, candidates. */
  readonly config: string;
  /** The event's end, and the latest time for its `close` leaf (`closeDue`); both null without an end. */
  readonly end: number | null;
  readonly closeDue: number | null;
}

/** The first leaf. */
interface OpenLeaf extends LeafOf<'open'>, Configured {
  /** Hash of the seed for the lots that break ties. */
  readonly seed: string;
  /** Approved voters and their weight, an exact decimal; null in polls. */
  readonly roll: { readonly heads: number; readonly weight: string } | null;
  /** Letters with voter keys printed before the opening. */
  readonly letters: number;
  /** Ballots that were confirmed in earlier rehearsals and wiped; only present after a rehearsal. */
  readonly rehearsalBallots?: number;
}

/** The roll of an election: until the next `roll` leaf, the log may hold `heads` ballots at most, with a total weight of `weight` at most. */
interface RollLeaf extends LeafOf<'roll'> {
  readonly at: number;
  /** Null, like `weight`, if the event became a poll before the first ballot and so has no roll any more. */
  readonly heads: number | null;
  readonly weight: string | null;
  /** Number of changes of voters' e-mails and voter IDs since the opening. */
  readonly identityChanges: number;
  /** Number of changes of voters' weight, group and status, and of deletions, since the opening. */
  readonly rollChanges: number;
  readonly seq: number;
}

/** Letters with voter keys were printed while the event was open. Logged because the person who prints them could use the keys. */
interface LettersLeaf extends LeafOf<'letters'> {
  /** All letters so far, including letters printed before the opening. */
  readonly n: number;
}

/** A change of the configuration or of the end after the opening; `seq` counts these leaves from 1. */
interface ConfigLeaf extends LeafOf<'config'>, Configured {
  /** Ballots confirmed before this leaf, logged or queued; 0 if frozen parts were changed before the first ballot. */
  readonly confirmed: number;
  readonly seq: number;
  /** Number of forged queue rows that an operator dropped; only present in the `config` leaf that records the drop. */
  readonly dropped?: number;
}

/**
 * The close: written once; only `void` leaves may follow. It commits to the result without revealing it: `c` is
 * SHA-256("close" ‖ salt ‖ canonical JSON of `CloseContent`). The salt prevents guessing a hidden result by trying counts.
 */
interface CloseLeaf extends LeafOf<'close'> {
  readonly at: number;
  readonly c: string;
}

/** The content to which a `close` leaf commits. Published with its salt only once the result may be read. */
export type CloseContent = Omit<CloseOpening, 'salt'>;

/** Voids a ballot whose payment was reversed. `index` and `h` are those of the ballot's leaf, which stays. */
interface VoidLeaf extends LeafOf<'void'> {
  readonly h: string;
  readonly index: number;
}

export type Leaf = BallotLeaf | OpenLeaf | RollLeaf | LettersLeaf | ConfigLeaf | CloseLeaf | VoidLeaf;

/** One entry of a ballot in its commitment; `value` or `rank` only if the voting method uses it. */
export interface CommittedVote {
  readonly positionId: string;
  readonly candidateId: string;
  readonly value?: number;
  readonly rank?: number;
}

/** The content that, with the salt, opens a ballot's commitment. Must not be published before the result is final. */
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

/** The canonical form of a ballot for hash and publication: sorted by position ID, then candidate ID, in UTF-16 code units. */
export function ballotOpening(votes: readonly CommittedVote[], weightMicro: bigint): BallotOpening {
  return {
    votes: votes.toSorted(
      (left, right) =>
        byCodeUnits(left.positionId, right.positionId) || byCodeUnits(left.candidateId, right.candidateId),
    ),
    weight: microToDecimal(weightMicro),
  };
}

/** Commits to a content without revealing it. @param salt 32 random bytes, without which the few possible contents could be tried */
function commitmentTo(kind: 'ballot' | 'close', salt: Uint8Array, content: object): Buffer {
  if (salt.length !== SALT_BYTES) throw new RangeError(`a salt has ${SALT_BYTES} bytes`);
  return sha256(Buffer.concat([Buffer.from(kind), salt, Buffer.from(canonicalJson(content))]));
}

export const ballotCommitment = (salt: Uint8Array, { votes, weight }: BallotOpening): Buffer =>
  commitmentTo('ballot', salt, { votes, weight });

export const closeCommitment = (salt: Uint8Array, content: CloseContent): Buffer =>
  commitmentTo('close', salt, content);

/** The hash that leaves contain for a configuration (`open`, `config`) and for the positions of a result (`close`): lowercase hex. */
export const hashOfJson = (value: unknown): string => sha256(canonicalJson(value)).toString('hex');
