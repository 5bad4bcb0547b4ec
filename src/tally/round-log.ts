import { scaledToDecimal } from '#src/platform/decimal.ts';
import { EarlierRounds } from './earlier-rounds.ts';
import { compare, cutToWholeNumber, requireThat } from './exact.ts';
import { type Passed, type Piles, TALLY_DECIMALS, VALUE_DECIMALS } from './piles.ts';
import type { Round, RoundTally, RoundTransfer, TieDecision } from './position-result.ts';
import type { TallyPosition } from './types.ts';

/** Most candidates whose tallies a round lists; all other candidates share one sum. */
const MAX_LISTED = 200;
/** Most tallies in one answer. If the rounds have more, the results omit all rounds, and clients read them in pages. */
const MAX_TALLIES = 2_000;

/** What a round decided. Candidates are indexes into the position's candidates. */
interface RoundDecision {
  readonly elected: readonly number[];
  readonly eliminated: readonly number[];
  readonly transfer: { readonly from: number; readonly passed: Passed } | null;
  readonly tie: (() => TieDecision) | null;
  readonly provisional?: boolean;
}

interface OpenRound {
  readonly threshold: bigint;
  /** Undefined if the round is not recorded. */
  readonly shown: Pick<Round, 'tallies' | 'others' | 'exhausted' | 'roundingLoss'> | undefined;
}

/** Records the rounds of a ranked count, up to `MAX_TALLIES` tallies: all tallies of a thousand candidates would take 50 MB. */
export class RoundLog {
  /** The recorded rounds, from the requested round on. */
  rounds: Round[] = [];
  /** The first round that did not fit into `MAX_TALLIES`; null if all rounds fit. */
  nextRound: number | null = null;
  /** Tallies of all rounds so far, for ties that earlier rounds decide. */
  readonly earlier: EarlierRounds;
  readonly #position: TallyPosition;
  readonly #piles: Piles;
  readonly #wholeWeights: boolean;
  readonly #fromRound: number;
  /** By candidate: the tallies in the last round that listed the candidate. */
  readonly #lastWeight: bigint[];
  readonly #lastHeads: bigint[];
  #number = 0;
  #written = 0;
  #sealed = false;
  #open: OpenRound | undefined;

  constructor(position: TallyPosition, piles: Piles, wholeWeights: boolean, fromRound: number) {
    this.#position = position;
    this.#piles = piles;
    this.#wholeWeights = wholeWeights;
    this.#fromRound = fromRound;
    this.earlier = new EarlierRounds(position.candidates.length);
    this.#lastWeight = position.candidates.map(() => 0n);
    this.#lastHeads = position.candidates.map(() => 0n);
  }

  /** Starts a round, and notes its tallies. @param listed the continuing candidates; in a transferable vote also the elected ones */
  open(listed: readonly number[], threshold: bigint, lost = 0n): void {
    this.#number += 1;
    const { weight, heads } = this.#piles;
    this.earlier.note(listed, weight);
    if (this.#sealed) {
      this.#open = { threshold, shown: undefined };
      return;
    }
    for (const candidate of listed) {
      this.#lastWeight[candidate] = weight[candidate] ?? 0n;
      this.#lastHeads[candidate] = heads[candidate] ?? 0n;
    }
    this.#open = { threshold, shown: this.#hasRoom(listed) ? this.#show(listed, lost) : undefined };
  }

  close(decision: RoundDecision): void {
    requireThat(this.#open !== undefined, 'a round ends that did not start');
    const { threshold, shown } = this.#open;
    if (shown === undefined) return;
    this.rounds.push({
      round: this.#number,
      threshold: scaledToDecimal(threshold, TALLY_DECIMALS),
      ...shown,
      elected: decision.elected.map((candidate) => this.#id(candidate)),
      eliminated: decision.eliminated.map((candidate) => this.#id(candidate)),
      transfers: this.#transfers(decision.transfer),
      tie: decision.tie?.() ?? null,
      provisional: decision.provisional === true,
    });
  }

  /** Stops recording. Further rounds only determine `finalTwo`, and must not change the figures of the candidates in the result. */
  seal(): void {
    this.#sealed = true;
  }

  /** How many of the next rounds are not recorded, because they precede `fromRound` or because recording has ended. */
  get unread(): number {
    if (this.#sealed || this.nextRound !== null) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#fromRound - 1 - this.#number);
  }

  /** Advances the round number over rounds that are not recorded and change no tally. */
  skip(rounds: number): void {
    this.#number += rounds;
  }

  /** The candidate's weight in the last round that listed the candidate. */
  lastWeight(candidate: number): bigint {
    return this.#lastWeight[candidate] ?? 0n;
  }

  /** The candidate's figures in the last round that listed the candidate. */
  finalFigures(candidate: number): Omit<RoundTally, 'candidateId'> {
    return this.figures(this.lastWeight(candidate), this.#lastHeads[candidate] ?? 0n);
  }

  figures(weight: bigint, heads: bigint): Omit<RoundTally, 'candidateId'> {
    return {
      votesWon: this.#wholeWeights ? cutToWholeNumber(weight, TALLY_DECIMALS) : cutToWholeNumber(heads, VALUE_DECIMALS),
      weightWon: scaledToDecimal(weight, TALLY_DECIMALS),
    };
  }

  #hasRoom(listed: readonly number[]): boolean {
    if (this.nextRound !== null || this.#number < this.#fromRound) return false;
    const tallies = Math.min(listed.length, MAX_LISTED);
    if (this.#written + tallies > MAX_TALLIES) {
      this.nextRound = this.#number;
      return false;
    }
    this.#written += tallies;
    return true;
  }

  #show(listed: readonly number[], lost: bigint): OpenRound['shown'] {
    const tally = (candidate: number): bigint => this.#lastWeight[candidate] ?? 0n;
    const highest =
      listed.length <= MAX_LISTED
        ? listed
        : listed.toSorted((a, b) => compare(tally(b), tally(a))).slice(0, MAX_LISTED);
    const one = new Set(highest);
    const [named, rest] = [listed.filter((candidate) => one.has(candidate)), listed.filter((each) => !one.has(each))];
    const sum = (of: readonly number[], tallies: readonly bigint[]): bigint =>
      of.reduce((all, candidate) => all + (tallies[candidate] ?? 0n), 0n);
    const held = sum(listed, this.#lastWeight);
    return {
      tallies: named.map((candidate) => ({ candidateId: this.#id(candidate), ...this.finalFigures(candidate) })),
      others:
        rest.length === 0
          ? null
          : { candidates: rest.length, ...this.figures(sum(rest, this.#lastWeight), sum(rest, this.#lastHeads)) },
      exhausted: scaledToDecimal(this.#piles.rankedWeight - held - lost, TALLY_DECIMALS),
      roundingLoss: scaledToDecimal(lost, TALLY_DECIMALS),
    };
  }

  #transfers(transfer: RoundDecision['transfer']): RoundTransfer[] {
    if (transfer === null) return [];
    return transfer.passed
      .filter(({ weight }) => weight !== 0n)
      .map(({ to, weight }) => ({
        from: this.#id(transfer.from),
        to: this.#position.candidates[to]?.id ?? null,
        weight: scaledToDecimal(weight, TALLY_DECIMALS),
      }));
  }

  #id(candidate: number): string {
    return this.#position.candidates[candidate]?.id ?? '';
  }
}
