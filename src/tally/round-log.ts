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

/** A candidate's figures as they are reported. */
type Figures = Pick<CandidateResult, 'votesWon' | 'weightWon'>;

/** The rounds of one ranked count as they happen, and what a report or a later tie wants to know of them. */
export class RoundLog {
  readonly rounds: Round[] = [];
  readonly #position: TallyPosition;
  readonly #piles: Piles;
  readonly #wholeWeights: boolean;
  readonly #tallies: bigint[][] = [];
  readonly #last = new Map<number, Figures>();
  #open: { threshold: string; exhausted: string; listed: readonly number[] } | undefined;

  constructor(position: TallyPosition, piles: Piles, wholeWeights: boolean) {
    this.#position = position;
    this.#piles = piles;
    this.#wholeWeights = wholeWeights;
  }

  /** Tallies by weight, by candidate, of the rounds before the open one, oldest first: what ties look back at. */
  get earlier(): readonly (readonly bigint[])[] {
    return this.#tallies.slice(0, -1);
  }

  /** Notes the tallies with which a round starts; `listed` are the candidates who continue or are elected. */
  open(listed: readonly number[], threshold: bigint): void {
    this.#tallies.push([...this.#piles.weight]);
    let held = 0n;
    for (const candidate of listed) {
      held += this.#piles.weight[candidate] ?? 0n;
      this.#last.set(candidate, this.#figures(candidate));
    }
    this.#open = {
      threshold: scaledToDecimal(threshold, TALLY_DECIMALS),
      exhausted: scaledToDecimal(this.#piles.rankedWeight - held, TALLY_DECIMALS),
      listed,
    };
  }

  close(decision: RoundDecision): void {
    const { threshold = '0', exhausted = '0', listed = [] } = this.#open ?? {};
    this.rounds.push({
      round: this.rounds.length + 1,
      threshold,
      tallies: listed.map((candidate) => ({ candidateId: this.#id(candidate), ...this.figures(candidate) })),
      exhausted,
      elected: decision.elected.map((candidate) => this.#id(candidate)),
      eliminated: decision.eliminated.map((candidate) => this.#id(candidate)),
      transfers: this.#transfers(decision.transfer),
      tie: decision.tie,
    });
  }

  /** The candidate's figures in the last round that listed it. */
  figures(candidate: number): Figures {
    return this.#last.get(candidate) ?? { votesWon: 0, weightWon: '0' };
  }

  #figures(candidate: number): Figures {
    const weight = this.#piles.weight[candidate] ?? 0n;
    return {
      votesWon: this.#wholeWeights
        ? cutToWholeNumber(weight, TALLY_DECIMALS)
        : cutToWholeNumber(this.#piles.heads[candidate] ?? 0n, VALUE_DECIMALS),
      weightWon: scaledToDecimal(weight, TALLY_DECIMALS),
    };
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
