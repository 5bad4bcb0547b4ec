import { decimalOf, figuresOfRankings, NO_FIGURES, NO_MARGIN, tieOf } from './further-figures.ts';
import type { Fields } from './json.ts';
import {
  type CountedRound,
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
import { pickByHistory, policyOf, transfersOf, unluckiest } from './run-off.ts';

/** A pile of equal rankings, which moves from candidate to candidate. */
interface Carried {
  readonly pile: Pile;
  /** The present value of a vote of the pile, in hundred-thousandths. */
  value: bigint;
  holder: string | undefined;
}

type OpenRound = { -readonly [Name in keyof CountedRound]: CountedRound[Name] };

/** The single transferable vote by the weighted inclusive Gregory method (docs/counting.md). Tallies have 11 decimals. */
class Transfers {
  readonly #tally: PositionTally;
  readonly #lot: Lot;
  readonly #carried: Carried[];
  readonly #settled = new Map<string, { weight: bigint; heads: bigint }>();
  readonly #history: Map<string, bigint>[] = [];
  /** The quota as a fraction. It must be exceeded unless every weight is 1. */
  readonly #numerator: bigint;
  readonly #denominator: bigint;
  readonly #reachingIsEnough: boolean;
  #standing: string[];
  readonly elected: string[] = [];
  readonly rounds: OpenRound[] = [];
  #lost = 0n;
  #lastOut: string | undefined;
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

  /** A tally minus the quota, times the denominator of the quota. */
  #surplus(tally: bigint): bigint {
    return tally * this.#denominator - this.#numerator;
  }

  #elect(ids: readonly string[]): void {
    this.elected.push(...ids);
    const round = this.#last;
    round.elected = [...round.elected, ...ids];
    this.#standing = this.#standing.filter((id) => !ids.includes(id));
  }

  get #last(): OpenRound {
    const round = this.rounds.at(-1);
    if (round === undefined) throw new Error('no round is open');
    return round;
  }

  /** The highest candidate without a seat at the end; if all are elected or eliminated, the candidate who was eliminated last. */
  get runnerUp(): string | null {
    const figure = (id: string): bigint => this.weightWon.get(id) ?? 0n;
    const nearest = highestFirst(this.#standing, figure)[0] ?? this.#lastOut;
    return nearest !== undefined && figure(nearest) > 0n ? nearest : null;
  }

  /** Passes votes on at their present value. */
  #pass(from: string, own: readonly Carried[]): bigint {
    const moved = new Map<string, bigint>();
    for (const one of own) {
      one.holder = this.#nextOf(one.pile);
      const to = one.holder ?? '';
      moved.set(to, (moved.get(to) ?? 0n) + one.pile.weight * one.value);
    }
    this.#last.transfers = transfersOf(this.#tally, from, moved);
    return [...moved.values()].reduce((sum, weight) => sum + weight, 0n);
  }

  /** Runs one round. Returns false when the count is over. */
  #round(): boolean {
    const { seats } = this.#tally.position;
    const votes = new Map<string, bigint>();
    const counted = new Map<string, bigint>();
    this.rounds.push({
      ...{ elected: [], eliminated: [], tallies: votes, heads: counted, transfers: [], tie: null },
      ...{ threshold: this.#numerator / this.#denominator, lost: this.#lost },
    });
    for (const id of [...this.#standing, ...this.elected]) {
      const { weight, heads } = this.#held(id);
      votes.set(id, weight);
      this.weightWon.set(id, weight);
      this.headsWon.set(id, heads);
      counted.set(id, heads);
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
    const own = this.#carried.filter(({ holder }) => holder === from);
    for (const one of own) one.value = (one.value * this.#surplus(weight)) / (weight * this.#denominator);
    const passed = own.reduce((sum, { pile, value }) => sum + value * pile.heads, 0n);
    const { threshold } = this.#last;
    this.#last.tie = tieOf(this.#tally.position, equal, policyOf(this.#tally, kept), this.#lot);
    this.#lost += weight - threshold - this.#pass(from, own);
    this.#settled.set(from, { weight: threshold, heads: heads - passed });
  }

  /** Eliminates a candidate. Returns false if all share a tie for the last seats. */
  #eliminate(seats: number, figure: (id: string) => bigint): boolean {
    const { position } = this.#tally;
    const least = this.#standing.map(figure).reduce((a, b) => (b < a ? b : a));
    const lowest = this.#standing.filter((id) => figure(id) === least);
    const forSeat = this.#standing.length === seats - this.elected.length + 1 && lowest.length > 1;
    const tie = tieOf(position, lowest, position.tieBreak, this.#lot);
    if (forSeat) [this.tied, this.#last.tie] = [lowest, tie];
    if (forSeat && position.tieBreak === 'joint') {
      this.#elect(highestFirst(this.#standing, figure));
      return false;
    }
    const picked = forSeat
      ? { out: tieOrder(position, lowest, this.#lot).at(-1) ?? '', tie }
      : unluckiest(this.#tally, lowest, this.#history, this.#lot);
    const { out } = picked;
    [this.#last.eliminated, this.#last.tie, this.#lastOut] = [[out], picked.tie, out];
    this.#standing = this.#standing.filter((id) => id !== out);
    this.#pass(
      out,
      this.#carried.filter(({ holder }) => holder === out),
    );
    return true;
  }
}

export function transferVotes(tally: PositionTally, { seed, root, whole, unit }: RecountOptions): Recount {
  const count = new Transfers(tally, { seed, root }, unit);
  const standing = tally.position.candidates.filter(({ withdrawn }) => !withdrawn).map(({ id }) => id);
  const tallyOf = (candidateId: string, weight: bigint, heads: bigint): Fields => ({
    ...{ candidateId, votesWon: Number(whole ? weight / MILLION : heads), weightWon: decimalOf(weight, 6) },
  });
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
    further: {
      ...{ ...NO_FIGURES, ...figuresOfRankings(tally, standing, tallyOf), runnerUp: count.runnerUp },
      margin: count.tied.length > 0 ? NO_MARGIN : null,
      tie: tieOf(tally.position, count.tied, tally.position.tieBreak, { seed, root }),
    },
  };
}
