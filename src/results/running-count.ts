import { setImmediate } from 'node:timers/promises';
import type { BallotPaper, PaperPosition } from '#src/ballot-paper/paper.ts';
import { unpackEntries } from '#src/ballots/ballot-encoding.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { PositionCount, PositionResult, ReportOptions, TallyPosition } from '#src/tally/types.ts';
import type { StoredBallot } from './repository.ts';

/** Ballots between two breaths of the event loop. */
const BREATH = 2_000;

interface Counted {
  readonly count: PositionCount;
  /** A candidate's number to its index in the count. */
  readonly indexByNumber: ReadonlyMap<number, number>;
}

function tallyPosition(position: PaperPosition): TallyPosition {
  return {
    id: position.id,
    title: position.title,
    votingMethod: position.votingMethod,
    seats: position.seats,
    tieBreak: position.tieBreak,
    rules: position.rules,
    candidates: position.everCandidates.map((candidate) => ({
      id: candidate.id,
      name: candidate.name,
      sortOrder: candidate.sortOrder,
      withdrawn: candidate.status === 'withdrawn',
      referendumRole: candidate.referendumRole,
    })),
  };
}

/** A count of all positions of an event, under one version of its paper, that grows with the box. */
export class RunningCount {
  readonly paperVersion: number;
  /** The last leaf that was counted; -1 before the first. */
  lastLeaf = -1n;
  ballots = 0;
  weightMicro = 0n;
  /** Votes: entries of all ballots together. */
  entries = 0;
  readonly #positions = new Map<number, Counted>();

  constructor(paper: BallotPaper) {
    this.paperVersion = paper.event.paperVersion;
    for (const position of paper.positions) {
      const indexByNumber = new Map(position.everCandidates.map((candidate, index) => [candidate.number, index]));
      this.#positions.set(position.number, { count: startCount(tallyPosition(position)), indexByNumber });
    }
  }

  /** Counts ballots, or takes them out again with `times` -1. */
  async add(stored: readonly StoredBallot[], times: 1 | -1): Promise<void> {
    for (let index = 0; index < stored.length; index += 1) {
      const ballot = stored[index];
      if (ballot !== undefined) this.#addOne(ballot, times);
      if (index % BREATH === BREATH - 1) await setImmediate();
    }
  }

  #addOne({ entries, weightMicro }: StoredBallot, times: 1 | -1): void {
    for (const packed of unpackEntries(entries)) {
      const counted = this.#positions.get(packed.position);
      if (counted === undefined)
        throw new Error(`a ballot names position ${packed.position}, which the paper does not have`);
      const candidates = packed.entries.map(({ candidate }) => {
        const at = counted.indexByNumber.get(candidate);
        if (at === undefined)
          throw new Error(`a ballot names candidate ${candidate}, which the position does not have`);
        return at;
      });
      this.entries += times * packed.entries.length;
      const values = packed.entries.map(({ value }) => value);
      counted.count.add({ length: candidates.length, candidates, values }, weightMicro, times);
    }
    this.ballots += times;
    this.weightMicro += BigInt(times) * weightMicro;
  }

  report(options: ReportOptions): PositionResult[] {
    return [...this.#positions.values()].map(({ count }) => count.report(options));
  }
}
