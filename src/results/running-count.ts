import { type BallotDefinition, type BallotPosition, choicesIn } from '#src/ballot-definition/ballot-definition.ts';
import type { Candidate } from '#src/ballot-definition/types.ts';
import { BallotReader, type CandidateIndexes } from '#src/ballots/ballot-encoding.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { Pauses } from '#src/platform/loop-turns.ts';
import { WeightSum } from '#src/tally/ballot-sums.ts';
import type { PositionResult } from '#src/tally/position-result.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { PositionCount, ReportOptions, RoundPage, TallyPosition } from '#src/tally/types.ts';

export interface StoredBallot {
  readonly entries: Uint8Array;
  readonly weightMicro: bigint;
}

/** A ballot names a position or candidate that this version of the definition lacks. It was cast under a newer version. */
export class BallotDefinitionLacks extends Error {}

interface Counted {
  /** The only group that may vote on the position; null if all voters may. */
  readonly groupId: string | null;
  readonly count: PositionCount;
  readonly indexes: CandidateIndexes;
  /** How many ballots name each candidate. Noted only if some candidate is unlisted. */
  readonly named: Float64Array;
  /** By index: whether the candidate is shown only if a ballot names it. */
  readonly unlisted: readonly boolean[];
  readonly hasUnlisted: boolean;
}

/** Counts the entries of the position at which `reader` stands. @throws BallotDefinitionLacks for an unknown candidate */
export function addAnswer(counted: Counted, reader: BallotReader, weightMicro: bigint, times: 1 | -1): void {
  if (addRanking(counted, reader, weightMicro, times)) return;
  const unknown = reader.readEntries(counted.indexes);
  if (unknown >= 0)
    throw new BallotDefinitionLacks(`a ballot names candidate ${unknown}, which the position does not have`);
  if (counted.hasUnlisted) noteNamed(counted.named, reader, times);
  counted.count.add(reader, weightMicro, times);
}

/** Decodes a ranking directly into the count's memory. @returns false, with nothing read, if that is not possible */
function addRanking(counted: Counted, reader: BallotReader, weightMicro: bigint, times: 1 | -1): boolean {
  const { count, hasUnlisted, indexes } = counted;
  const sink = count.rankingSink;
  if (sink === undefined || hasUnlisted || reader.length === 0) return false;
  sink.makeRoom(reader.length);
  if (!reader.readRanking(indexes, sink.cells, sink.end)) return false;
  sink.addWritten(reader.length, weightMicro, times);
  return true;
}

function noteNamed(named: Float64Array, { candidates, length }: BallotReader, times: 1 | -1): void {
  for (let entry = 0; entry < length; entry += 1) {
    const index = candidates[entry] as number;
    named[index] = (named[index] as number) + times;
  }
}

/** Leaves candidates out of a result. Also subtracts the votes that they got only because their scale has no 0. */
function withoutRows(result: PositionResult, isLeftOut: (index: number) => boolean): PositionResult {
  const gone = result.candidates.filter((_, index) => isLeftOut(index));
  const totalVotes = gone.reduce((total, { votesWon }) => total - votesWon, result.totalVotes);
  return { ...result, totalVotes, candidates: result.candidates.filter((row) => !gone.includes(row)) };
}

/** Tables by candidate number, as arrays, which are faster than maps. @returns the table of each position, and the bytes of all */
function indexCandidates(positions: readonly BallotPosition[]) {
  const numbers = new Set(positions.flatMap(({ allCandidates }) => allCandidates.map(({ number }) => number)));
  const places = new Int32Array([...numbers].reduce((most, number) => Math.max(most, number), 0) + 1);
  for (const [index, number] of [...numbers].entries()) places[number] = index + 1;
  const tables = positions.map(({ allCandidates }): CandidateIndexes => {
    const indexes = new Int32Array(numbers.size + 1).fill(-1);
    for (const [index, { number }] of allCandidates.entries()) indexes[places[number] as number] = index;
    return { places, indexes };
  });
  return { tables, bytes: places.byteLength + 4 * (numbers.size + 1) * positions.length };
}

function tallyPosition(position: BallotPosition, candidates: readonly Candidate[]): TallyPosition {
  const { id, title, votingMethod, seats, tieBreak, rules, majorityRequired, scoreMin, scoreMax } = position;
  return {
    ...{ id, title, votingMethod, seats, tieBreak, rules, majorityRequired, scoreMin, scoreMax },
    candidates: candidates.map((candidate) => ({ ...candidate, withdrawn: candidate.status !== 'approved' })),
  };
}

export interface EventReportOptions extends ReportOptions {
  /** The electorate of each group. Positions of a group are measured against it. */
  readonly electorateByGroup?: ReadonlyMap<string, bigint>;
}

/** A count of all positions of an event under one version of its definition. New ballots are added to it. */
export class RunningCount {
  readonly definitionVersion: number;
  readonly #heldAtStart: number;
  /** The last leaf that was counted; -1 before the first leaf. */
  lastLeaf = -1n;
  ballots = 0;
  readonly #weight = new WeightSum();
  /** Number of votes, that is, of the entries of all ballots. */
  entries = 0;
  /** Number of ballots whose weight is not whole. */
  fractional = 0;
  /** Number of ballots whose weight is not 1. */
  weighted = 0;
  readonly #positions = new Map<number, Counted>();
  readonly #reader = new BallotReader();

  constructor(definition: BallotDefinition) {
    this.definitionVersion = definition.event.definitionVersion;
    const { tables, bytes } = indexCandidates(definition.positions);
    this.#heldAtStart = 20_000 + bytes + 500 * choicesIn(definition);
    for (const [at, position] of definition.positions.entries()) {
      // Candidates of any status, because a cast ballot may name them: if the count failed on such a ballot, there would be no result.
      const candidates = position.allCandidates;
      const unlisted = candidates.map(({ status }) => status === 'pending' || status === 'rejected');
      this.#positions.set(position.number, {
        groupId: position.groupId,
        count: startCount(tallyPosition(position, candidates)),
        indexes: tables[at] as CandidateIndexes,
        named: new Float64Array(candidates.length),
        unlisted,
        hasUnlisted: unlisted.includes(true),
      });
    }
  }

  get weightMicro(): bigint {
    return this.#weight.micro;
  }

  /** About how many bytes of memory the count takes now, with the sums and rankings of its ballots. */
  get heldBytes(): number {
    return [...this.#positions.values()].reduce((sum, { count }) => sum + count.heldBytes, this.#heldAtStart);
  }

  /** Announces the largest number of ballots to expect, so that memory is allocated at once. */
  expect(ballots: number): void {
    for (const { count } of this.#positions.values()) count.rankingSink?.expect(ballots);
  }

  /** Counts ballots. With `times` -1, takes them out again. */
  async add(stored: readonly StoredBallot[], times: 1 | -1): Promise<void> {
    const pauses = new Pauses();
    for (const { entries, weightMicro } of stored) {
      this.addPacked(entries, 0, entries.length, weightMicro, times);
      await pauses.take();
    }
  }

  /** Counts the packed ballot in `bytes` from `start` to before `end`. */
  addPacked(bytes: Uint8Array, start: number, end: number, weightMicro: bigint, times: 1 | -1): void {
    const reader = this.#reader;
    reader.open(bytes, start, end);
    while (reader.nextPosition()) {
      const counted = this.#positions.get(reader.position);
      if (counted === undefined)
        throw new BallotDefinitionLacks(
          `a ballot names position ${reader.position}, which the definition does not have`,
        );
      this.entries += times * reader.length;
      addAnswer(counted, reader, weightMicro, times);
    }
    this.ballots += times;
    this.#weight.add(weightMicro, times);
    if (weightMicro === MICRO) return;
    this.weighted += times;
    if (weightMicro % MICRO !== 0n) this.fractional += times;
  }

  rounds(positionNumber: number, options: ReportOptions, fromRound: number): RoundPage | undefined {
    return this.#positions.get(positionNumber)?.count.rounds(options, fromRound);
  }

  /** The results of all positions, with pauses in between, because a ranked position may take a second. */
  async report({ electorateByGroup, ...options }: EventReportOptions): Promise<PositionResult[]> {
    const results: PositionResult[] = [];
    const pauses = new Pauses();
    for (const { count, named, unlisted, hasUnlisted, groupId } of this.#positions.values()) {
      const isGrouped = groupId !== null && options.electorateMicro !== null;
      const electorateMicro = isGrouped ? (electorateByGroup?.get(groupId) ?? 0n) : options.electorateMicro;
      const result = count.report({ ...options, electorateMicro, atLeastTurnout: isGrouped });
      results.push(
        hasUnlisted ? withoutRows(result, (index) => unlisted[index] === true && named[index] === 0) : result,
      );
      await pauses.take();
    }
    return results;
  }
}
