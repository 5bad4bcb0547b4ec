import { GrowingTree, leafHash } from './hash-tree.ts';
import type { HeadTrail } from './head-trail.ts';
import { type Fields, fieldsOf, isFields, sortedJson, textOf } from './json.ts';
import { Unbelievable } from './note.ts';
import { sha256 } from './primitives.ts';
import { MOST_BYTES, type Read, requireBytes, Unreadable } from './read-service.ts';

export const WIDTH = 256;
const HASH = 32;

/** What the leaves of a log say, in as little memory as the checks need: 40 bytes a leaf. */
export interface ReadLog {
  readonly size: number;
  readonly root: Buffer;
  /** Roots at the sizes that were asked for. */
  readonly rootAt: ReadonlyMap<number, Buffer>;
  /** The commitment of a `ballot` leaf, undefined for every other leaf. */
  commitmentOf(index: number): Buffer | undefined;
  readonly ballots: number;
  /** Indexes of the void ballots that the result leaves out. */
  readonly voided: ReadonlySet<number>;
  /** Indexes of the ballots that became void behind the `close` leaf: the result counts them, `afterReversals` does not. */
  readonly reversed: ReadonlySet<number>;
  readonly open: Fields;
  readonly configHash: string;
  /** Each configuration from its leaf on, the first one too. */
  readonly configurations: readonly RecordedConfiguration[];
  /** The roll of an election as the last leaf about it says; undefined in polls. */
  readonly roll: RecordedRoll | undefined;
  /** Letters with voter keys that were printed, as the last leaf about them says. */
  readonly letters: number;
  /** How often the end was moved after the opening. */
  readonly ends: number;
  /** Ballots that were confirmed at the last change of the configuration or the end, with those that had been dropped before. */
  readonly confirmed: number;
  readonly drops: readonly Drop[];
  /** When the event ends and until when the `close` leaf is due, in Unix ms, as the last leaf about it says. */
  readonly end: RecordedEnd | undefined;
  /** Root of the log before its `close` leaf, which lots are drawn from. */
  readonly rootBeforeClose: Buffer | undefined;
  /** Roots of the log with its `close` leaf, and with each reversal behind it, by size. */
  readonly rootSinceClose: ReadonlyMap<number, Buffer>;
  /** The leaf of the ballot that was looked for; undefined where there is none. */
  readonly leafOfCode: number | undefined;
  /** The `close` leaf; nothing but `void` leaves stands behind it. */
  readonly close: Fields | undefined;
  /** Ballots before the `close` leaf, without the void ones. */
  readonly counted: number;
  /** Which of the leaf hashes asked for are in the log, in hex. */
  readonly found: ReadonlySet<string>;
}

/** Approved voters, and what was changed of them by hand since the opening. */
export interface RecordedRoll {
  readonly heads: number;
  /** An exact decimal. */
  readonly weight: string;
  readonly identityChanges: number;
  readonly rollChanges: number;
}

const DECIMAL = /^\d{1,20}(\.\d{1,6})?$/;
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Undefined where the fields are none of a roll. */
function readRoll({ heads, weight, identityChanges = 0, rollChanges = 0 }: Fields): RecordedRoll | undefined {
  if (!isCount(heads) || !isCount(identityChanges) || !isCount(rollChanges) || !DECIMAL.test(textOf(weight)))
    return undefined;
  return { heads, weight: textOf(weight), identityChanges, rollChanges };
}

export interface RecordedConfiguration {
  readonly index: number;
  /** In hex. */
  readonly hash: string;
  /** Ballots confirmed before it. */
  readonly confirmed: number;
}

/** Waiting ballots that the operator dropped, as a `config` leaf says: their rows were changed from outside. */
interface Drop {
  readonly index: number;
  readonly dropped: number;
}

/** How many were dropped by leaves from an index on. */
export const droppedSince = (drops: readonly Drop[], from: number): number =>
  drops.reduce((sum, { index, dropped }) => (index >= from ? sum + dropped : sum), 0);

/** Both in Unix ms. */
export interface RecordedEnd {
  readonly end: number;
  readonly closeDue: number;
}

/** A ballot that was cast before the end may be confirmed for 15 minutes; the `close` leaf has a day more. */
const GRACE_MS = 900_000;
const SLACK_MS = 86_400_000;

export interface LeafQuestions {
  readonly eventId: string;
  /** A round of a rehearsal is final as soon as it is closed. */
  readonly isRehearsal: boolean;
  readonly size: number;
  readonly sizes: readonly number[];
  readonly leafHashes: readonly Buffer[];
  /** SHA-256("code" ‖ confirmation code) in hex, of a ballot that is looked for. */
  readonly codeTag: string | undefined;
  /** Is shown every head that the log ever had. */
  readonly trail?: HeadTrail;
  readonly onProgress: (leaves: number) => void;
}

const groups = (index: number): string => {
  const digits = String(index).padStart(Math.ceil(String(index).length / 3) * 3, '0');
  return (digits.match(/.../g) ?? []).map((group, at, all) => (at < all.length - 1 ? `x${group}` : group)).join('/');
};

/** The address of the bundle of entries, or of the tile of hashes of a level, that begins at `256 × index`; leaf hashes are level 0. */
export const address = (kind: 'entries' | number, index: number, width: number): string =>
  `tile/${kind}/${groups(index)}${width === WIDTH ? '' : `.p/${width}`}`;

export function splitBundle(bytes: Buffer, count: number): Buffer[] {
  const entries: Buffer[] = [];
  let at = 0;
  while (at + 2 <= bytes.length) {
    const end = at + 2 + bytes.readUInt16BE(at);
    entries.push(bytes.subarray(at + 2, end));
    at = end;
  }
  if (at !== bytes.length || entries.length !== count) throw new Unbelievable('a bundle of entries is malformed');
  return entries;
}

/** Some four gigabytes of memory. */
const MOST_LEAVES = 50_000_000;
/** Each is compared with the one before. */
const MOST_CONFIGURATIONS = 100_000;
const HEX_HASH = /^[0-9a-f]{64}$/;
/** The names that leaves have, by kind. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['ballot', 'c e h t v'],
  ['open', 'at closeDue config e end letters roll seed t v'],
  ['config', 'at closeDue config confirmed e end seq t v'],
  ['roll', 'at e heads identityChanges rollChanges seq t v weight'],
  ['letters', 'e n t v'],
  ['close', 'at c e t v'],
  ['void', 'e h index t v'],
]);

/** A number beside, and nothing else: ballots of the rehearsals before an opening, and waiting ballots that an operator dropped. */
const BESIDE: ReadonlyMap<string, string> = new Map([
  ['open', 'rehearsalBallots'],
  ['config', 'dropped'],
]);

function namesOf(leaf: Fields): string {
  const beside = BESIDE.get(textOf(leaf['t']));
  return Object.keys(leaf)
    .filter((name) => name !== beside || !isCount(leaf[name]))
    .sort()
    .join(' ');
}

/** Reads the leaves one after another and notes what later checks ask for. */
class LeafReader {
  readonly #eventId: string;
  readonly #isRehearsal: boolean;
  #commitments = Buffer.alloc(0);
  #kinds = new Uint8Array(0);
  /** The beginnings of all code tags: equal ones would be a ballot that stands twice. */
  #tags = new BigUint64Array(0);
  ballots = 0;
  readonly voided = new Set<number>();
  readonly reversed = new Set<number>();
  close: Fields | undefined;
  open: Fields = {};
  configHash = '';
  readonly configurations: RecordedConfiguration[] = [];
  ends = 0;
  #configSeq = 0;
  /** Those dropped later among them. */
  confirmed = 0;
  readonly drops: Drop[] = [];
  end: RecordedEnd | undefined;
  counted = 0;
  roll: RecordedRoll | undefined;
  rolls = 0;
  letters = 0;
  /** What was changed of voters by hand, as the last roll says; it stays when the roll goes. */
  #changes = { identityChanges: 0, rollChanges: 0 };
  last: Fields = {};
  #count = 0;

  constructor({ eventId, isRehearsal }: Pick<LeafQuestions, 'eventId' | 'isRehearsal'>) {
    this.#eventId = eventId;
    this.#isRehearsal = isRehearsal;
  }

  /** Memory is taken as leaves come, not as a signed size asks for it. */
  #makeRoomFor(index: number): void {
    if (index < this.#kinds.length) return;
    const room = Math.max(WIDTH, 2 * this.#kinds.length);
    const [commitments, kinds, tags] = [Buffer.alloc(room * HASH), new Uint8Array(room), new BigUint64Array(room)];
    commitments.set(this.#commitments);
    kinds.set(this.#kinds);
    tags.set(this.#tags);
    [this.#commitments, this.#kinds, this.#tags] = [commitments, kinds, tags];
  }

  take(data: Buffer): void {
    const index = this.#count;
    this.#makeRoomFor(index);
    const bad = (why: string): Unbelievable => new Unbelievable(`leaf ${index} ${why}`);
    let leaf: unknown;
    try {
      leaf = JSON.parse(data.toString('utf8'));
    } catch {
      throw bad('is no JSON');
    }
    if (!isFields(leaf) || !data.equals(Buffer.from(sortedJson(leaf)))) throw bad('is not in its one form');
    const kind = textOf(leaf['t']);
    if (leaf['v'] !== 2) throw bad('is of a version that this verifier does not know');
    if (leaf['e'] !== this.#eventId || NAMES.get(kind) !== namesOf(leaf)) throw bad('is none of this event');
    if ((kind === 'open') !== (index === 0)) throw bad('stands where the opening should, or the other way round');
    if (kind !== 'void' && this.close !== undefined)
      throw bad('stands behind the close, where nothing but reversals may stand');
    if (kind === 'ballot') this.#takeBallot(index, leaf, bad);
    if (kind === 'open' || kind === 'roll') this.#takeRoll(kind, leaf, bad);
    if (kind === 'open' || kind === 'letters') this.#takeLetters(kind === 'open' ? leaf['letters'] : leaf['n'], bad);
    if (kind === 'void') this.#takeVoid(leaf, bad);
    if (kind === 'open') this.open = leaf;
    if (kind === 'config') {
      this.#configSeq += 1;
      if (leaf['seq'] !== this.#configSeq) throw bad('is a change with another number than the next');
      const { confirmed } = leaf;
      if (!isCount(confirmed) || confirmed + droppedSince(this.drops, 0) < this.confirmed || confirmed < this.ballots)
        throw bad('is a change that says of fewer ballots than there were that they are confirmed');
      this.confirmed = confirmed + droppedSince(this.drops, 0);
      if (isCount(leaf['dropped'])) this.drops.push({ index, dropped: leaf['dropped'] });
    }
    if (kind === 'open' || kind === 'config') this.#takeConfiguration(kind, leaf, bad);
    if (kind === 'close') {
      this.counted = this.ballots - this.voided.size;
      this.close = leaf;
      const grace = this.#isRehearsal ? 0 : GRACE_MS;
      if (this.end === undefined || !(Number(leaf['at']) >= this.end.end + grace))
        throw bad('closes before the end that the log says, and its 15 minutes, are over');
      if (!HEX_HASH.test(textOf(leaf['c']))) throw bad('closes without a commitment');
    }
    this.last = leaf;
    this.#count += 1;
  }

  #takeConfiguration(kind: string, { config, end, closeDue }: Fields, bad: (why: string) => Unbelievable): void {
    const recorded = isCount(end) ? { end, closeDue: end + GRACE_MS + SLACK_MS } : undefined;
    if ((end !== null && recorded === undefined) || closeDue !== (recorded?.closeDue ?? null))
      throw bad('has no end, or another due date than its end');
    if (kind === 'config' && this.end?.end !== recorded?.end) this.ends += 1;
    this.end = recorded;
    if (!HEX_HASH.test(textOf(config))) throw bad('has no configuration');
    if (this.configHash === config) return;
    this.configHash = textOf(config);
    this.configurations.push({ index: this.#count, hash: this.configHash, confirmed: this.confirmed });
    if (this.configurations.length > MOST_CONFIGURATIONS)
      throw new Unreadable('the log has too many configurations for this verifier');
  }

  /**
   * A roll may shrink and grow, but never below the ballots that are in; its changes are only ever added to. One that comes or
   * goes is an event that became another one, by a change of its configuration and before any ballot.
   */
  #takeRoll(kind: string, leaf: Fields, bad: (why: string) => Unbelievable): void {
    if (kind === 'open' && leaf['roll'] === null) return;
    const goes = kind === 'roll' && leaf['heads'] === null && leaf['weight'] === null;
    const roll = readRoll(kind === 'open' ? fieldsOf(leaf['roll']) : goes ? { ...leaf, heads: 0, weight: '0' } : leaf);
    if (roll === undefined) throw bad('has no roll');
    if (kind === 'roll') {
      this.rolls += 1;
      if (leaf['seq'] !== this.rolls) throw bad('is a roll with another number than the next');
      const came = this.roll === undefined;
      if ((came || goes) && (this.ballots > 0 || this.#configSeq === 0 || came === goes))
        throw bad('is a roll of a poll, or takes that of an election away');
    }
    const { identityChanges, rollChanges } = roll;
    if (identityChanges < this.#changes.identityChanges || rollChanges < this.#changes.rollChanges)
      throw bad('takes changes of the roll back');
    this.#changes = { identityChanges, rollChanges };
    this.roll = goes ? undefined : roll;
    this.#requireEnoughVoters(bad);
  }

  /** Letters so far: who printed them could have voted by them, so that no count goes back. */
  #takeLetters(count: unknown, bad: (why: string) => Unbelievable): void {
    if (!isCount(count) || count < this.letters)
      throw bad('says of fewer letters than there were that they are printed');
    this.letters = count;
  }

  #requireEnoughVoters(bad: (why: string) => Unbelievable): void {
    if (this.roll !== undefined && this.ballots > this.roll.heads)
      throw bad(`makes ${this.ballots} ballots of ${this.roll.heads} voters`);
  }

  #takeBallot(index: number, leaf: Fields, bad: (why: string) => Unbelievable): void {
    const [c, h] = [textOf(leaf['c']), textOf(leaf['h'])];
    if (!HEX_HASH.test(c) || !HEX_HASH.test(h)) throw bad('is a ballot without a commitment');
    this.#commitments.write(c, index * HASH, 'hex');
    this.#kinds[index] = 1;
    this.#tags[index] = BigInt(`0x${h.slice(0, 16)}`);
    this.ballots += 1;
    this.#requireEnoughVoters(bad);
  }

  #takeVoid(leaf: Fields, bad: (why: string) => Unbelievable): void {
    const [index, h] = [Number(leaf['index']), textOf(leaf['h'])];
    const known = HEX_HASH.test(h) && this.#kinds[index] === 1 && this.#tags[index] === BigInt(`0x${h.slice(0, 16)}`);
    if (!known || this.voided.has(index) || this.reversed.has(index)) throw bad('voids no ballot of the log');
    (this.close === undefined ? this.voided : this.reversed).add(index);
  }

  /** @throws Unbelievable when one confirmation code has two ballots */
  requireSingleBallots(): void {
    const tags = this.#tags.filter((_, index) => this.#kinds[index] === 1).sort();
    for (let at = 1; at < tags.length; at += 1) {
      if (tags[at] === tags[at - 1]) throw new Unbelievable('two ballots of the log have the same confirmation code');
    }
  }

  commitmentOf(index: number): Buffer | undefined {
    return this.#kinds[index] === 1 ? this.#commitments.subarray(index * HASH, (index + 1) * HASH) : undefined;
  }
}

/** Reads a part of what the signed head covers. @throws Unbelievable where the service does not have it */
export function readSigned(read: Read, path: string, maxBytes: number): Promise<Buffer> {
  const readPart: Read = async (...asked) => {
    const reply = await read(...asked);
    if (reply.status === 404) throw new Unbelievable('the service does not have leaves that it signed for');
    return reply;
  };
  return requireBytes(readPart, path, maxBytes);
}

/** Reads all leaves, checks the form of each, and computes the root. Whether it is the signed one is the caller's question. */
export async function readLeaves(read: Read, base: string, questions: LeafQuestions): Promise<ReadLog> {
  const { size, sizes, leafHashes, codeTag, onProgress } = questions;
  const tree = new GrowingTree();
  if (size > MOST_LEAVES) throw new Unreadable(`a log of ${size} leaves is too long for this verifier`);
  const reader = new LeafReader(questions);
  const rootAt = new Map<number, Buffer>();
  const wanted = new Set(leafHashes.map((hash) => hash.toString('hex')));
  const found = new Set<string>();
  let rootBeforeClose: Buffer | undefined;
  const rootSinceClose = new Map<number, Buffer>();
  let leafOfCode: number | undefined;
  const noteRoot = (): void => {
    if (sizes.includes(tree.size)) rootAt.set(tree.size, tree.root());
    questions.trail?.see(tree.size, () => tree.root());
  };
  noteRoot();
  for (let index = 0; tree.size < size; index += 1) {
    const width = Math.min(WIDTH, size - tree.size);
    const bundle = await readSigned(read, `${base}/${address('entries', index, width)}`, MOST_BYTES.entries);
    const tile = await readSigned(read, `${base}/${address(0, index, width)}`, MOST_BYTES.tile);
    const hashes: Buffer[] = [];
    for (const entry of splitBundle(bundle, width)) {
      reader.take(entry);
      if (reader.last['t'] === 'close') rootBeforeClose = tree.root();
      const hash = leafHash(entry);
      hashes.push(hash);
      if (wanted.has(hash.toString('hex'))) found.add(hash.toString('hex'));
      if (codeTag !== undefined && reader.last['t'] === 'ballot' && reader.last['h'] === codeTag)
        leafOfCode = tree.size;
      tree.add(hash);
      if (reader.close !== undefined) rootSinceClose.set(tree.size, tree.root());
      noteRoot();
    }
    if (!tile.equals(Buffer.concat(hashes)))
      throw new Unbelievable(`the tile of leaves from ${index * WIDTH} has other hashes`);
    onProgress(tree.size);
  }
  reader.requireSingleBallots();
  return {
    ...{ size, root: tree.root(), rootAt, found, ballots: reader.ballots },
    ...{ voided: reader.voided, reversed: reader.reversed, close: reader.close, counted: reader.counted },
    ...{
      open: reader.open,
      configHash: reader.configHash,
      configurations: reader.configurations,
      ends: reader.ends,
      roll: reader.roll,
    },
    letters: reader.letters,
    ...{ confirmed: reader.confirmed, drops: reader.drops, end: reader.end },
    rootBeforeClose,
    rootSinceClose,
    leafOfCode,
    commitmentOf: (index) => reader.commitmentOf(index),
  };
}

/** SHA-256("ballot" ‖ salt ‖ the ballot as sorted JSON). */
export function commitmentOfOpening(salt: Buffer, votes: readonly unknown[], weight: string): Buffer {
  return sha256('ballot', salt, sortedJson({ votes, weight }));
}
