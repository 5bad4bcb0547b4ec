import { GrowingTree, leafHash } from './hash-tree.ts';
import type { HeadTrail } from './head-trail.ts';
import { type Fields, fieldsOf, isFields, sortedJson, textOf } from './json.ts';
import { Unbelievable } from './note.ts';
import { sha256 } from './primitives.ts';
import { MOST_BYTES, type Read, requireBytes, Unreadable } from './read-service.ts';

export const WIDTH = 256;
const HASH = 32;

/** The content of a log's leaves, in as little memory as the checks allow: 40 bytes for each leaf. */
export interface ReadLog {
  readonly size: number;
  readonly root: Buffer;
  /** By size: the roots at the requested sizes. */
  readonly rootAt: ReadonlyMap<number, Buffer>;
  /** The commitment of a `ballot` leaf; undefined for any other leaf. */
  commitmentOf(index: number): Buffer | undefined;
  readonly ballots: number;
  /** Indexes of the void ballots, which the result leaves out. */
  readonly voided: ReadonlySet<number>;
  /** Indexes of the ballots that became void after the `close` leaf. The result counts them; `afterReversals` does not. */
  readonly reversed: ReadonlySet<number>;
  readonly open: Fields;
  readonly configHash: string;
  /** Each configuration with its leaf, including the first one. */
  readonly configurations: readonly RecordedConfiguration[];
  /** The roll of an election, by the last leaf about it; undefined in polls. */
  readonly roll: RecordedRoll | undefined;
  /** Number of printed letters with voter keys, by the last leaf about them. */
  readonly letters: number;
  /** How many times the end was moved after the opening. */
  readonly ends: number;
  /** Number of ballots that were confirmed at the last change of configuration or end, including ballots that were dropped before. */
  readonly confirmed: number;
  readonly drops: readonly Drop[];
  /** The end of the event, and the date by which the `close` leaf is due, in Unix ms, by the last leaf about them. */
  readonly end: RecordedEnd | undefined;
  /** Root of the log before its `close` leaf. Lots are drawn with this root. */
  readonly rootBeforeClose: Buffer | undefined;
  /** By size: the roots of the log with its `close` leaf, and with each later reversal. */
  readonly rootSinceClose: ReadonlyMap<number, Buffer>;
  /** The leaf of the ballot that is searched for; undefined if there is none. */
  readonly leafOfCode: number | undefined;
  /** The `close` leaf. Only `void` leaves follow it. */
  readonly close: Fields | undefined;
  /** Number of ballots before the `close` leaf, without void ballots. */
  readonly counted: number;
  /** Which of the requested leaf hashes are in the log, in hex. */
  readonly found: ReadonlySet<string>;
}

/** The approved voters, and how often the organizers changed them since the opening. */
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

/** Reads the fields of a roll; undefined if they are not valid. */
function readRoll({ heads, weight, identityChanges = 0, rollChanges = 0 }: Fields): RecordedRoll | undefined {
  if (!isCount(heads) || !isCount(identityChanges) || !isCount(rollChanges) || !DECIMAL.test(textOf(weight)))
    return undefined;
  return { heads, weight: textOf(weight), identityChanges, rollChanges };
}

export interface RecordedConfiguration {
  readonly index: number;
  /** In hex. */
  readonly hash: string;
  /** Number of ballots confirmed before it. */
  readonly confirmed: number;
}

/** Waiting ballots that the operator dropped, as a `config` leaf records, because other SQL had changed their rows. */
interface Drop {
  readonly index: number;
  readonly dropped: number;
}

/** Number of ballots that leaves from an index on dropped. */
export const droppedSince = (drops: readonly Drop[], from: number): number =>
  drops.reduce((sum, { index, dropped }) => (index >= from ? sum + dropped : sum), 0);

/** Both in Unix ms. */
export interface RecordedEnd {
  readonly end: number;
  readonly closeDue: number;
}

/** A ballot that was cast before the end may be confirmed for 15 minutes. The `close` leaf is due a day after that. */
const GRACE_MS = 900_000;
const SLACK_MS = 86_400_000;

export interface LeafQuestions {
  readonly eventId: string;
  /** A round of a rehearsal is final as soon as it is closed. */
  readonly isRehearsal: boolean;
  readonly size: number;
  readonly sizes: readonly number[];
  readonly leafHashes: readonly Buffer[];
  /** SHA-256("code" ‖ confirmation code) in hex, of the ballot that is searched for. */
  readonly codeTag: string | undefined;
  /** Gets every prefix of the log that may be one of its earlier heads. */
  readonly trail?: HeadTrail;
  readonly onProgress: (leaves: number) => void;
}

const groups = (index: number): string => {
  const digits = String(index).padStart(Math.ceil(String(index).length / 3) * 3, '0');
  return (digits.match(/.../g) ?? []).map((group, at, all) => (at < all.length - 1 ? `x${group}` : group)).join('/');
};

/** The path of a bundle of entries, or of a tile of hashes of a level, that begins at `256 × index`. Leaf hashes are level 0. */
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

/** Limit of the leaves, because a longer log would take more than four gigabytes of memory. */
const MOST_LEAVES = 50_000_000;
/** Limit of the configurations, because each is compared with the one before. */
const MOST_CONFIGURATIONS = 100_000;
const HEX_HASH = /^[0-9a-f]{64}$/;
/** The names of the fields of a leaf, by kind. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['ballot', 'c e h t v'],
  ['open', 'at closeDue config e end letters roll seed t v'],
  ['config', 'at closeDue config confirmed e end seq t v'],
  ['roll', 'at e heads identityChanges rollChanges seq t v weight'],
  ['letters', 'e n t v'],
  ['close', 'at c e t v'],
  ['void', 'e h index t v'],
]);

/** The only optional field, a number: ballots of rehearsals before the opening, and waiting ballots that the operator dropped. */
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

/** Reads the leaves one by one, and notes the data that later checks need. */
class LeafReader {
  readonly #eventId: string;
  readonly #isRehearsal: boolean;
  #commitments = Buffer.alloc(0);
  #kinds = new Uint8Array(0);
  /** The beginnings of all code tags. Two equal ones mean that a ballot is in the log twice. */
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
  /** Includes confirmed ballots that were dropped later. */
  confirmed = 0;
  readonly drops: Drop[] = [];
  end: RecordedEnd | undefined;
  counted = 0;
  roll: RecordedRoll | undefined;
  rolls = 0;
  letters = 0;
  /** How often the organizers changed voters, by the last roll. It stays when the event becomes a poll, which has no roll. */
  #changes = { identityChanges: 0, rollChanges: 0 };
  last: Fields = {};
  #count = 0;

  constructor({ eventId, isRehearsal }: Pick<LeafQuestions, 'eventId' | 'isRehearsal'>) {
    this.#eventId = eventId;
    this.#isRehearsal = isRehearsal;
  }

  /** Memory grows with the leaves that come, not with the signed size, which may be wrong. */
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
   * Checks a roll. It may grow and shrink, but never below the number of ballots, and its counts of changes never go back. A roll begins or
   * ends if the event changes its type, which needs a change of the configuration, and no ballot yet.
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

  /** Notes the number of printed letters. Their printer could have voted by them, so the number never goes back. */
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

  /** @throws Unbelievable if two ballots have the same confirmation code */
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

/** Reads data that the signed head covers. @throws Unbelievable if the service does not have them */
export function readSigned(read: Read, path: string, maxBytes: number): Promise<Buffer> {
  const readPart: Read = async (...asked) => {
    const reply = await read(...asked);
    if (reply.status === 404) throw new Unbelievable('the service does not have leaves that it signed for');
    return reply;
  };
  return requireBytes(readPart, path, maxBytes);
}

/** Reads all leaves, checks the form of each, and computes the root. The caller must compare the root with the signed one. */
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
