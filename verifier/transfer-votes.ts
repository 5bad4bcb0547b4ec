import {
  FINE,
  highestFirst,
  type Lot,
  MILLION,
  type Pile,
  type PositionTally,
  pickOrder,
  type Recount,
  type RecountOptions,
  tieOrder,
} from './recount.ts';
import { pickByHistory, unluckiest } from './run-off.ts';

/** A pile on its way through the rounds. */
interface Carried {
  readonly pile: Pile;
  /** What a vote of it still counts, in hundred-thousandths. */
  value: bigint;
  holder: string | undefined;
}

/** The single transferable vote, weighted inclusive Gregory (docs/counting.md). Tallies have 11 decimals. */
class Transfers {
  readonly #tally: PositionTally;
  readonly #lot: Lot;
  readonly #carried: Carried[];
  readonly #settled = new Map<string, { weight: bigint; heads: bigint }>();
  readonly #history: Map<string, bigint>[] = [];
  /** The quota as a fraction, which must be exceeded where every weight is not 1. */
  readonly #numerator: bigint;
  readonly #denominator: bigint;
  readonly #reachingIsEnough: boolean;
  #standing: string[];
  readonly elected: string[] = [];
  readonly rounds: { elected: string[]; eliminated: string[]; tallies: ReadonlyMap<string, bigint> }[] = [];
  readonly weightWon: Map<string, bigint>;
  readonly headsWon: Map<string, bigint>;
  tied: string[] = [];

  constructor(tally: PositionTally, lot: Lot, unit: boolean) {
    this.#tally = tally;
    this.#lot = lot;
    this.#standing = tally.position.candidates.filter(({ withdrawn }) => !withdrawn).map(({ id }) => id);
    this.#carried = [...tally.piles.values()].map((pile) => ({ pile, value: FINE, holder: this.#nextOf(pile) }));
    const valid = this.#carried
      .filter(({ holder }) => holder !== undefined)
      .reduce((sum, { pile }) => sum + pile.weight, 0n);
    const parts = BigInt(tally.position.seats + 1);
    this.#reachingIsEnough = unit;
    this.#numerator = this.#reachingIsEnough ? (valid / (parts * MILLION) + 1n) * MILLION * FINE : valid * FINE;
    this.#denominator = this.#reachingIsEnough ? 1n : parts;
    this.weightWon = new Map(tally.position.candidates.map(({ id }) => [id, 0n]));
    this.headsWon = new Map(this.weightWon);
    if (valid > 0n) while (this.#round());
  }

  #nextOf({ ranking }: Pile): string | undefined {
    return ranking.find((id) => this.#standing.includes(id));
  }

  #held(id: string): { weight: bigint; heads: bigint } {
    const own = this.#carried.filter(({ holder }) => holder === id);
    return (
      this.#settled.get(id) ?? {
        weight: own.reduce((sum, { pile, value }) => sum + pile.weight * value, 0n),
        heads: own.reduce((sum, { pile, value }) => sum + pile.heads * value, 0n),
      }
    );
  }

  /** A tally minus the quota, times the quota's denominator. */
  #surplus(tally: bigint): bigint {
    return tally * this.#denominator - this.#numerator;
  }

  #elect(ids: readonly string[]): void {
    this.elected.push(...ids);
    this.rounds.at(-1)?.elected.push(...ids);
    this.#standing = this.#standing.filter((id) => !ids.includes(id));
  }

  /** One round; false when the count is over. */
  #round(): boolean {
    const { seats } = this.#tally.position;
    const votes = new Map<string, bigint>();
    this.rounds.push({ elected: [], eliminated: [], tallies: votes });
    for (const id of [...this.#standing, ...this.elected]) {
      const { weight, heads } = this.#held(id);
      votes.set(id, weight);
      this.weightWon.set(id, weight);
      this.headsWon.set(id, heads);
    }
    const figure = (id: string): bigint => votes.get(id) ?? 0n;
    this.#elect(
      highestFirst(
        this.#standing.filter((id) => this.#surplus(figure(id)) > (this.#reachingIsEnough ? -1n : 0n)),
        figure,
      ),
    );
    if (this.#standing.length <= seats - this.elected.length) this.#elect(highestFirst(this.#standing, figure));
    if (this.elected.length >= seats || this.#standing.length === 0) return false;
    const over = this.elected.filter((id) => !this.#settled.has(id) && this.#surplus(figure(id)) > 0n);
    if (over.length > 0) this.#passSurplus(over, figure);
    else if (!this.#eliminate(seats, figure)) return false;
    this.#history.push(votes);
    return true;
  }

  #passSurplus(over: readonly string[], figure: (id: string) => bigint): void {
    const most = over.map(figure).reduce((a, b) => (b > a ? b : a));
    const equal = over.filter((id) => figure(id) === most);
    const kept = pickByHistory(equal, this.#history, (a, b) => a > b);
    const from = pickOrder(this.#tally.position, kept, this.#lot)[0] ?? '';
    const { weight, heads } = this.#held(from);
    let passed = 0n;
    for (const one of this.#carried.filter(({ holder }) => holder === from)) {
      one.value = (one.value * this.#surplus(weight)) / (weight * this.#denominator);
      one.holder = this.#nextOf(one.pile);
      passed += one.value * one.pile.heads;
    }
    this.#settled.set(from, { weight: this.#numerator / this.#denominator, heads: heads - passed });
  }

  /** False where a tie for the last seat is shared by all. */
  #eliminate(seats: number, figure: (id: string) => bigint): boolean {
    const { position } = this.#tally;
    const least = this.#standing.map(figure).reduce((a, b) => (b < a ? b : a));
    const lowest = this.#standing.filter((id) => figure(id) === least);
    const forSeat = this.#standing.length === seats - this.elected.length + 1 && lowest.length > 1;
    if (forSeat) this.tied = lowest;
    if (forSeat && position.tieBreak === 'joint') {
      this.#elect(highestFirst(this.#standing, figure));
      return false;
    }
    const out = forSeat
      ? (tieOrder(position, lowest, this.#lot).at(-1) ?? '')
      : unluckiest(this.#tally, lowest, this.#history, this.#lot);
    this.rounds.at(-1)?.eliminated.push(out);
    this.#standing = this.#standing.filter((id) => id !== out);
    for (const one of this.#carried.filter(({ holder }) => holder === out)) one.holder = this.#nextOf(one.pile);
    return true;
  }
}

export function transferVotes(tally: PositionTally, { seed, root, whole, unit }: RecountOptions): Recount {
  const count = new Transfers(tally, { seed, root }, unit);
  const inVotes = ([id, weight]: [string, bigint]): [string, bigint] => [
    id,
    whole ? weight / (MILLION * FINE) : (count.headsWon.get(id) ?? 0n) / FINE,
  ];
  return {
    votesWon: new Map([...count.weightWon].map(inVotes)),
    weightWon: count.weightWon,
    winners: count.elected,
    tied: count.tied,
    totalVotes: whole ? tally.answeredWeight / MILLION : tally.answered,
    referendum: null,
    rounds: count.rounds,
  };
}
