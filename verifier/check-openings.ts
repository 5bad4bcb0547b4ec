import { type BallotPosition, readBallotDefinition } from './ballot-definition.ts';
import { brokenRule } from './check-rules.ts';
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './json.ts';
import { Unbelievable } from './note.ts';
import { sha256 } from './primitives.ts';
import { commitmentOfOpening, type ReadLog } from './read-leaves.ts';
import { type Read, readJson, Unreadable } from './read-service.ts';
import { MILLION, type OpenedVote, PositionTally } from './recount.ts';

/** The ballots, opened and added to the counters. */
export interface OpenedLog {
  readonly tallies: readonly PositionTally[];
  /** The same without ballots that became void after the close; undefined if there are none. */
  readonly afterReversals: { readonly tallies: readonly PositionTally[]; readonly ballots: number } | undefined;
  readonly tieSeed: string;
  /** The event's title, from the configuration. */
  readonly title: unknown;
  /** The content that is claimed to open the `close` leaf. */
  readonly close: unknown;
  /** Root of the log before its `close` leaf, in hex. */
  readonly lotRoot: string;
  readonly ballots: number;
  /** Number of entries of all ballots that count. */
  readonly entries: number;
  readonly weight: bigint;
  /** Whether every opened weight is whole. */
  readonly whole: boolean;
  /** Whether every opened weight is 1. */
  readonly unit: boolean;
}

/** Converts an exact decimal to millionths. */
export function toMicro(text: string): bigint {
  const [, sign, units, decimals = ''] = /^(-?)(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (units === undefined) throw new Unbelievable(`${text} is no weight`);
  const micro = BigInt(units) * MILLION + BigInt(decimals.padEnd(6, '0'));
  return sign === '-' ? -micro : micro;
}

function readVotes(value: unknown, index: number): OpenedVote[] {
  return listOf(value).map((one) => {
    const { positionId, candidateId, value: points, rank } = fieldsOf(one);
    if (typeof positionId !== 'string' || typeof candidateId !== 'string')
      throw new Unbelievable(`the ballot at ${index} has an entry without position or candidate`);
    return {
      positionId,
      candidateId,
      ...(typeof points === 'number' ? { value: points } : {}),
      ...(typeof rank === 'number' ? { rank } : {}),
    };
  });
}

const PAGE = 1_000;

/** Reads a page of openings from a leaf on; undefined if this key may not see openings. */
async function readPage(read: Read, base: string, fromIndex: number): Promise<Fields | undefined> {
  const page = await readJson(read, `${base}/openings?fromIndex=${fromIndex}&limit=${PAGE}`);
  return page === undefined ? undefined : fieldsOf(page);
}

/** The index at which the next page begins. It must be after a ballot that was opened: otherwise the pages might never end. */
function nextIndexOf(page: Fields, before: number, last: number): number | undefined {
  const next = page['nextIndex'];
  if (next === null) return undefined;
  if (typeof next !== 'number' || !Number.isSafeInteger(next) || next <= last || last <= before)
    throw new Unbelievable('the pages of openings do not lead on');
  return next;
}

/**
 * Opens every ballot of the log: each opening must match the commitment of its leaf, and each ballot is opened once. Void ballots are
 * opened, but not counted. One page is in memory at a time.
 * @param configuration the last configuration of the log
 * @param fewest by position ID: the fewest candidates that ever stood
 * @returns undefined if this key may not see openings
 */
export async function checkOpenings(
  read: Read,
  base: string,
  log: ReadLog,
  configuration: Fields,
  fewest: ReadonlyMap<string, number>,
  onProgress: (ballots: number) => void,
): Promise<OpenedLog | undefined> {
  let page = await readPage(read, base, 0);
  if (page === undefined) return undefined;
  const tieSeed = textOf(page['tieSeed']);
  if (log.open['seed'] !== sha256(Buffer.from(tieSeed, 'hex')).toString('hex'))
    throw new Unbelievable('the seed of the lot is not the one whose hash is in the log');
  const definition = readBallotDefinition(configuration, fewest);
  const { close } = page;
  const { type, title } = configuration;
  if (type !== 'election' && type !== 'poll') throw new Unbelievable('the log is neither of an election nor of a poll');
  if ((type === 'election') !== (log.roll !== undefined))
    throw new Unbelievable('the log of an election has a roll, and that of a poll none');
  if (type === 'election' && log.voided.size + log.reversed.size > 0)
    throw new Unbelievable('the log takes ballots of an election back, where nothing can be reversed');
  const tallies = definition.map((position) => new PositionTally(position));
  const left = log.reversed.size === 0 ? undefined : definition.map((position) => new PositionTally(position));
  let [newer, before] = [false, -1];
  let [opened, counted, entries, weight, whole, unit, last] = [0, 0, 0, 0n, true, true, -1];
  for (;;) {
    for (const value of listOf(page['data'])) {
      const one = fieldsOf(value);
      const index = numberOf(one['index']);
      // The ballot was logged after the head was read. It may be opened although it is not part of this check.
      newer = index >= log.size && log.close === undefined;
      if (newer) break;
      const commitment = index > last ? log.commitmentOf(index) : undefined;
      if (commitment === undefined)
        throw new Unbelievable(`an opening names leaf ${index}, which is no ballot or was opened`);
      const own = commitmentOfOpening(
        Buffer.from(textOf(one['salt']), 'base64'),
        listOf(one['votes']),
        textOf(one['weight']),
      );
      if (!own.equals(commitment)) throw new Unbelievable(`the ballot at ${index} was opened with another content`);
      last = index;
      opened += 1;
      const micro = toMicro(textOf(one['weight']));
      whole &&= micro % MILLION === 0n;
      unit &&= micro === MILLION;
      if (type === 'poll' && !unit) throw new Unbelievable(`the ballot at ${index} weighs another than 1 in a poll`);
      if (log.voided.has(index)) continue;
      counted += 1;
      weight += micro;
      const votes = readVotes(one['votes'], index);
      entries += votes.length;
      if (micro <= 0n) throw new Unbelievable(`the ballot at ${index} has no weight`);
      requireRules(definition, votes, index);
      takeIn(tallies, votes, micro, index);
      if (left !== undefined && !log.reversed.has(index)) takeIn(left, votes, micro, index);
    }
    onProgress(opened);
    const next = newer ? undefined : nextIndexOf(page, before, last);
    if (next === undefined) break;
    before = last;
    page = await readPage(read, base, next);
    if (page === undefined) throw new Unreadable('the openings ended before their last page');
  }
  if (opened !== log.ballots) throw new Unbelievable(`${log.ballots - opened} ballots of the log were not opened`);
  const lotRoot = log.rootBeforeClose?.toString('hex') ?? '';
  const afterReversals = left === undefined ? undefined : { tallies: left, ballots: counted - log.reversed.size };
  return { tallies, afterReversals, tieSeed, title, close, lotRoot, ballots: counted, entries, weight, whole, unit };
}

function takeIn(tallies: readonly PositionTally[], votes: readonly OpenedVote[], weight: bigint, index: number): void {
  let known = 0;
  for (const tally of tallies) {
    const own = votes.filter(({ positionId }) => positionId === tally.position.id);
    requireCandidates(tally.position, own, index);
    known += own.length;
    tally.add(own, weight, 1n);
  }
  if (known !== votes.length)
    throw new Unbelievable(`the ballot at ${index} names a position that is not on the definition`);
}

/** @throws Unbelievable for a ballot that the service should have refused */
function requireRules(definition: readonly BallotPosition[], votes: readonly OpenedVote[], index: number): void {
  for (const position of definition) {
    const own = votes.filter(({ positionId }) => positionId === position.id);
    const broken = brokenRule(position, own);
    if (broken !== undefined)
      throw new Unbelievable(`the ballot at ${index} breaks a rule of "${position.title}": ${broken}`);
  }
}

function requireCandidates(position: BallotPosition, votes: readonly OpenedVote[], index: number): void {
  const ids = new Set(votes.map(({ candidateId }) => candidateId));
  const known = position.candidates.filter(({ id }) => ids.has(id)).length;
  if (known !== votes.length)
    throw new Unbelievable(`the ballot at ${index} names a candidate twice or one not on the definition`);
}
