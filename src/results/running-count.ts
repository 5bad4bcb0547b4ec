import type { BallotPaper, PaperPosition } from '#src/ballot-paper/paper.ts';
import type { Candidate } from '#src/ballot-paper/types.ts';
import { BallotReader } from '#src/ballots/ballot-encoding.ts';
import { Pauses } from '#src/platform/pauses.ts';
import { startCount } from '#src/tally/start-count.ts';
import type {
  PositionCount,
  PositionResult,
  ReportOptions,
  RoundPage,
  SavedCount,
  TallyPosition,
} from '#src/tally/types.ts';

const WHOLE_MICRO = 1_000_000n;

export interface StoredBallot {
  readonly entries: Uint8Array;
  readonly weightMicro: bigint;
}

/** A ballot was judged by a newer version of the paper than the count has. */
export class PaperLacks extends Error {}

interface Counted {
  readonly count: PositionCount;
  /** By a candidate's number: its index in the count, or -1. */
  readonly indexByNumber: Int32Array;
  /** How often ballots name each candidate. */
  readonly named: Float64Array;
  /** By index: candidates who are shown only where a ballot names them. */
  readonly unlisted: readonly boolean[];
}

/** Numbers of candidates are small and given once each: an array finds them faster than a map. */
function indexNumbers(candidates: readonly Candidate[]): Int32Array {
  const numbers = candidates.map((candidate) => candidate.number);
  const indexes = new Int32Array(Math.max(0, ...numbers) + 1).fill(-1);
  for (const [index, number] of numbers.entries()) indexes[number] = index;
  return indexes;
}

function tallyPosition(position: PaperPosition, candidates: readonly Candidate[]): TallyPosition {
  return {
    id: position.id,
    title: position.title,
    votingMethod: position.votingMethod,
    seats: position.seats,
    tieBreak: position.tieBreak,
    rules: position.rules,
    majorityRequired: position.majorityRequired,
    scoreMin: position.scoreMin,
    scoreMax: position.scoreMax,
    candidates: candidates.map((candidate) => ({
      id: candidate.id,
      name: candidate.name,
      sortOrder: candidate.sortOrder,
      withdrawn: candidate.status !== 'approved',
      referendumRole: candidate.referendumRole,
    })),
  };
}

/** A running count as plain values; positions by their number. */
export interface SavedRunningCount {
  readonly lastLeaf: bigint;
  readonly ballots: number;
  readonly weightMicro: bigint;
  readonly entries: number;
  readonly fractional: number;
  readonly weighted: number;
  readonly positions: ReadonlyMap<number, SavedCount & { readonly named: Float64Array }>;
}

/** A count of all positions of an event, under one version of its paper, that grows with the box. */
export class RunningCount {
  readonly paperVersion: number;
  /** The last leaf that was counted; -1 before the first. */
  lastLeaf = -1n;
  /** The last leaf of the count that was kept in the database last. */
  savedLeaf = -1n;
  ballots = 0;
  weightMicro = 0n;
  /** Votes: entries of all ballots together. */
  entries = 0;
  /** Ballots whose weight is not whole. */
  fractional = 0;
  /** Ballots whose weight is not 1. */
  weighted = 0;
  readonly #positions = new Map<number, Counted>();
  readonly #reader = new BallotReader();

  constructor(paper: BallotPaper, saved?: SavedRunningCount) {
    this.paperVersion = paper.event.paperVersion;
    for (const position of paper.positions) {
      // Whatever their status: a ballot that was cast may name them, and a count that failed on it would leave no result.
      const candidates = position.allCandidates;
      const before = saved?.positions.get(position.number);
      this.#positions.set(position.number, {
        count: startCount(tallyPosition(position, candidates), before),
        indexByNumber: indexNumbers(candidates),
        named: before?.named.slice() ?? new Float64Array(candidates.length),
        unlisted: candidates.map(({ status }) => status === 'pending' || status === 'rejected'),
      });
    }
    if (saved === undefined) return;
    this.lastLeaf = saved.lastLeaf;
    this.savedLeaf = saved.lastLeaf;
    this.ballots = saved.ballots;
    this.weightMicro = saved.weightMicro;
    this.entries = saved.entries;
    this.fractional = saved.fractional;
    this.weighted = saved.weighted;
  }

  /** The count as it stands; undefined where a position is not worth saving. */
  save(): SavedRunningCount | undefined {
    const positions = new Map<number, SavedCount & { readonly named: Float64Array }>();
    for (const [number, { count, named }] of this.#positions) {
      const saved = count.save();
      if (saved === undefined) return undefined;
      positions.set(number, { ...saved, named });
    }
    const { lastLeaf, ballots, weightMicro, entries, fractional, weighted } = this;
    return { lastLeaf, ballots, weightMicro, entries, fractional, weighted, positions };
  }

  /** Counts ballots, or takes them out again with `times` -1. */
  async add(stored: readonly StoredBallot[], times: 1 | -1): Promise<void> {
    const pauses = new Pauses();
    for (const { entries, weightMicro } of stored) {
      this.addPacked(entries, 0, entries.length, weightMicro, times);
      await pauses.take();
    }
  }

  /** Counts the packed ballot that is `bytes` from `start` to before `end`. */
  addPacked(bytes: Uint8Array, start: number, end: number, weightMicro: bigint, times: 1 | -1): void {
    const reader = this.#reader;
    reader.open(bytes, start, end);
    while (reader.next()) {
      const counted = this.#positions.get(reader.position);
      if (counted === undefined)
        throw new PaperLacks(`a ballot names position ${reader.position}, which the paper does not have`);
      const { candidates, length } = reader;
      const { indexByNumber, named } = counted;
      for (let entry = 0; entry < length; entry += 1) {
        const number = candidates[entry] as number;
        const index = number < indexByNumber.length ? (indexByNumber[number] as number) : -1;
        if (index < 0) throw new PaperLacks(`a ballot names candidate ${number}, which the position does not have`);
        candidates[entry] = index;
        named[index] = (named[index] as number) + times;
      }
      this.entries += times * length;
      counted.count.add(reader, weightMicro, times);
    }
    this.ballots += times;
    this.weightMicro += times === 1 ? weightMicro : -weightMicro;
    if (weightMicro !== WHOLE_MICRO) this.weighted += times;
    if (weightMicro % WHOLE_MICRO !== 0n) this.fractional += times;
  }

  /** Some of the rounds of a position, by its number. */
  rounds(positionNumber: number, options: ReportOptions, fromRound: number): RoundPage | undefined {
    return this.#positions.get(positionNumber)?.count.rounds(options, fromRound);
  }

  /** The results of all positions, with pauses between two of them: a ranked one may take a second. */
  async report(options: ReportOptions): Promise<PositionResult[]> {
    const results: PositionResult[] = [];
    const pauses = new Pauses();
    for (const { count, named, unlisted } of this.#positions.values()) {
      const result = count.report(options);
      const candidates = unlisted.includes(true)
        ? result.candidates.filter((_, index) => unlisted[index] === false || named[index] !== 0)
        : result.candidates;
      results.push({ ...result, candidates });
      await pauses.take();
    }
    return results;
  }
}
