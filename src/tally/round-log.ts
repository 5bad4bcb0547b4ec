import { requireThat } from './count-refused.ts';
import { EarlierRounds } from './earlier-rounds.ts';
import { cutToWholeNumber, scaledToDecimal } from './exact.ts';
import { type Passed, type Piles, TALLY_DECIMALS, VALUE_DECIMALS } from './piles.ts';
import type { CandidateResult, Round, RoundTransfer, TallyPosition, TieDecision } from './types.ts';

/** What was decided in a round; candidates are indexes into the position's. */
export interface RoundDecision {
  readonly elected: readonly number[];
  readonly eliminated: readonly number[];
  readonly transfer: { readonly from: number; readonly passed: Passed } | null;
  readonly tie: TieDecision | null;
}

/** A candidate's tally, and how it is reported. */
interface Figures {
  readonly weight: bigint;
  readonly votesWon: number;
  readonly weightWon: string;
}

/** What a round starts with. */
interface OpenRound {
  readonly listed: readonly number[];
  /** By weight, of every candidate. */
  readonly tallies: readonly bigint[];
  readonly threshold: bigint;
  readonly exhausted: bigint;
}

/** The rounds of one ranked count as they happen, and what a report or a later tie wants to know of them. */
export class RoundLog {
  readonly rounds: Round[] = [];
  /** The rounds before the open one, which ties look back at. */
  readonly earlier: EarlierRounds;
  readonly #position: TallyPosition;
  readonly #piles: Piles;
  readonly #wholeWeights: boolean;
  readonly #last = new Map<number, Figures>();
  #open: OpenRound | undefined;

  constructor(position: TallyPosition, piles: Piles, wholeWeights: boolean) {
    this.#position = position;
    this.#piles = piles;
    this.#wholeWeights = wholeWeights;
    this.earlier = new EarlierRounds(position.candidates.length);
  }

  /** Notes the tallies with which a round starts; `listed` are the candidates who continue or are elected. */
  open(listed: readonly number[], threshold: bigint): void {
    if (this.#open !== undefined) {
      this.earlier.note(this.#open.listed, this.#open.tallies);
    }
    const tallies = [...this.#piles.weight];
    let held = 0n;
    for (const candidate of listed) {
      held += tallies[candidate] ?? 0n;
      this.#noteFigures(candidate);
    }
    this.#open = { listed, tallies, threshold, exhausted: this.#piles.rankedWeight - held };
  }

  close(decision: RoundDecision): void {
    requireThat(this.#open !== undefined, 'a round ends that did not start');
    const { listed, threshold, exhausted } = this.#open;
    this.rounds.push({
      round: this.rounds.length + 1,
      threshold: scaledToDecimal(threshold, TALLY_DECIMALS),
      tallies: listed.map((candidate) => ({ candidateId: this.#id(candidate), ...this.finalFigures(candidate) })),
      exhausted: scaledToDecimal(exhausted, TALLY_DECIMALS),
      elected: decision.elected.map((candidate) => this.#id(candidate)),
      eliminated: decision.eliminated.map((candidate) => this.#id(candidate)),
      transfers: this.#transfers(decision.transfer),
      tie: decision.tie,
    });
  }

  /** The candidate's figures in the last round that listed it. */
  finalFigures(candidate: number): Pick<CandidateResult, 'votesWon' | 'weightWon'> {
    const { votesWon, weightWon } = this.#last.get(candidate) ?? { votesWon: 0, weightWon: '0' };
    return { votesWon, weightWon };
  }

  /**
   * Most tallies stay as they are from one round to the next, and need not be written out again. Where the weight stays,
   * so do the heads: no ballot came or went.
   */
  #noteFigures(candidate: number): void {
    const weight = this.#piles.weight[candidate] ?? 0n;
    const heads = this.#piles.heads[candidate] ?? 0n;
    if (this.#last.get(candidate)?.weight !== weight) {
      this.#last.set(candidate, {
        weight,
        votesWon: this.#wholeWeights
          ? cutToWholeNumber(weight, TALLY_DECIMALS)
          : cutToWholeNumber(heads, VALUE_DECIMALS),
        weightWon: scaledToDecimal(weight, TALLY_DECIMALS),
      });
    }
  }

  #transfers(transfer: RoundDecision['transfer']): RoundTransfer[] {
    if (transfer === null) {
      return [];
    }
    return transfer.passed.weight.flatMap((weight, receiver) =>
      weight === 0n
        ? []
        : {
            from: this.#id(transfer.from),
            to: this.#position.candidates[receiver]?.id ?? null,
            weight: scaledToDecimal(weight, TALLY_DECIMALS),
          },
    );
  }

  #id(candidate: number): string {
    return this.#position.candidates[candidate]?.id ?? '';
  }
}
