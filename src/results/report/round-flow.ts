import type { PositionResult, Round } from '#src/tally/types.ts';
import { decimalToScaled } from './exact-figures.ts';

/** A candidate, or the ballots that name no continuing candidate (null), in one round. */
export interface FlowNode {
  readonly candidateId: string | null;
  readonly name: string;
  readonly figure: string;
  readonly scaled: bigint;
}

export interface FlowLink {
  readonly from: string | null;
  readonly to: string | null;
  readonly scaled: bigint;
}

export interface FlowStep {
  readonly round: number;
  readonly nodes: readonly FlowNode[];
  /** To the next round's nodes. */
  readonly links: readonly FlowLink[];
}

export const MAX_ROUNDS_DRAWN = 8;
const MAX_CANDIDATES = 14;

/** The last rounds that can be drawn legibly: no more than eight, with no more than fourteen candidates. */
export function roundsToDraw(rounds: readonly Round[]): readonly Round[] {
  const last = rounds.slice(-MAX_ROUNDS_DRAWN);
  const from = last.findIndex((round) => round.tallies.length <= MAX_CANDIDATES);
  return from === -1 ? [] : last.slice(from);
}

/** From where to where the weight goes between the rounds. What neither moves nor exhausts stays. */
export function flowOf(result: PositionResult, rounds: readonly Round[]): FlowStep[] {
  const names = new Map(result.candidates.map(({ id, name }) => [id, name]));
  // One order in all rounds, so that few flows cross: those who stayed longest stand on top.
  const standing = new Map<string, number>();
  for (const round of rounds) for (const { candidateId } of round.tallies) standing.set(candidateId, round.round);
  const finals = new Map(result.candidates.map(({ id, weightWon }) => [id, decimalToScaled(weightWon)]));
  const before = (left: string, right: string): number => {
    const places = [left, right].map((id) => result.winners.indexOf(id)).map((at) => (at === -1 ? Infinity : at));
    const [mine = Infinity, other = Infinity] = places;
    if (mine !== other) return mine < other ? -1 : 1;
    const stayed = (standing.get(right) ?? 0) - (standing.get(left) ?? 0);
    if (stayed !== 0) return stayed;
    return (finals.get(right) ?? 0n) > (finals.get(left) ?? 0n) ? 1 : -1;
  };
  return rounds.map((round, index) => {
    const tallies = round.tallies.toSorted((left, right) => before(left.candidateId, right.candidateId));
    const nodes: FlowNode[] = tallies.map(({ candidateId, weightWon }) => ({
      candidateId,
      name: names.get(candidateId) ?? '',
      figure: weightWon,
      scaled: decimalToScaled(weightWon),
    }));
    const exhausted = decimalToScaled(round.exhausted);
    nodes.push({ candidateId: null, name: 'Exhausted', figure: round.exhausted, scaled: exhausted });
    return { round: round.round, nodes, links: index === rounds.length - 1 ? [] : linksOf(round, nodes) };
  });
}

function linksOf(round: Round, nodes: readonly FlowNode[]): FlowLink[] {
  const moved = new Map<string, bigint>();
  const transfers = round.transfers.map(({ from, to, weight }) => {
    const scaled = decimalToScaled(weight);
    moved.set(from, (moved.get(from) ?? 0n) + scaled);
    return { from, to, scaled };
  });
  const stays = nodes.map(({ candidateId, scaled }) => ({
    from: candidateId,
    to: candidateId,
    scaled: scaled - (candidateId === null ? 0n : (moved.get(candidateId) ?? 0n)),
  }));
  return [...stays, ...transfers].filter(({ scaled }) => scaled > 0n);
}
