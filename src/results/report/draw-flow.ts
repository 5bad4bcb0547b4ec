import type { PositionResult, Round } from '#src/tally/position-result.ts';
import { decimalToScaled } from './exact-figures.ts';
import { inOrderOfResult, namesOf } from './report-input.ts';
import { INK, MUTED, type Sheet } from './sheet.ts';

/** A candidate in one round; or null, the ballots that name no continuing candidate. */
interface FlowNode {
  readonly candidateId: string | null;
  readonly name: string;
  readonly figure: string;
  readonly scaled: bigint;
}

const MAX_ROUNDS_DRAWN = 8;
const MAX_CANDIDATES = 14;

/** The last rounds, as far as they can be drawn legibly: at most eight, with at most fourteen candidates each. */
function roundsToDraw(rounds: readonly Round[]): readonly Round[] {
  const last = rounds.slice(-MAX_ROUNDS_DRAWN);
  const from = last.findIndex((round) => round.tallies.length <= MAX_CANDIDATES);
  return from === -1 ? [] : last.slice(from);
}

type FlowStep = ReturnType<typeof flowOf>[number];

/** The weight of each candidate in each round. */
function flowOf(result: PositionResult, rounds: readonly Round[], exhaustedName: string) {
  const nameOf = namesOf(result);
  // All rounds have the same order, with the longest-staying candidates on top, so that few flows cross.
  const places = new Map(inOrderOfResult(result).map(({ id }, place) => [id, place]));
  const placeOf = ({ candidateId }: { readonly candidateId: string }): number => places.get(candidateId) ?? places.size;
  return rounds.map((round) => {
    const tallies = round.tallies.toSorted((left, right) => placeOf(left) - placeOf(right));
    const nodes: FlowNode[] = tallies.map(({ candidateId, weightWon }) => ({
      candidateId,
      name: nameOf(candidateId),
      figure: weightWon,
      scaled: decimalToScaled(weightWon),
    }));
    const exhausted = decimalToScaled(round.exhausted);
    nodes.push({ candidateId: null, name: exhaustedName, figure: round.exhausted, scaled: exhausted });
    return { round, nodes };
  });
}

/** How the weight of a round moves: the transfers, and the weight that stays with its candidate or stays exhausted. */
function linksOf({ round, nodes }: FlowStep) {
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

const COLORS = [
  '#1f4e79',
  '#c8553d',
  '#2e8b57',
  '#8e5aa8',
  '#b8860b',
  '#2b8a9e',
  '#a23b72',
  '#5b6c1f',
  '#6b4423',
  '#3d5a98',
  '#d1783c',
  '#4f7f6b',
  '#7a4e9c',
  '#9c4a4a',
];
const EXHAUSTED = '#afb8c1';
const NODE_WIDTH = 9;
const GAP = 7;
const HEIGHT = 250;
const NAME_WIDTH = 112;
const FIGURE_SIZE = 7;

interface PlacedNode extends FlowNode {
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

const keyOf = (id: string | null): string => id ?? '';

function placeSteps(sheet: Sheet, steps: readonly FlowStep[], top: number): Map<string, PlacedNode>[] {
  const left = sheet.left + NAME_WIDTH;
  const span = sheet.width - 2 * NAME_WIDTH - NODE_WIDTH;
  const mostNodes = Math.max(...steps.map((step) => step.nodes.length));
  const whole = Number(steps[0]?.nodes.reduce((sum, { scaled }) => sum + scaled, 0n) ?? 1n) || 1;
  const scale = (HEIGHT - GAP * (mostNodes - 1)) / whole;
  return steps.map((step, index) => {
    const x = left + (steps.length === 1 ? 0 : (span * index) / (steps.length - 1));
    let y = top;
    return new Map(
      step.nodes.map((node) => {
        const height = Number(node.scaled) * scale;
        const placed = { ...node, x, y, height };
        y += height + (node.scaled > 0n ? GAP : 0);
        return [keyOf(node.candidateId), placed];
      }),
    );
  });
}

function drawLinks(
  sheet: Sheet,
  steps: readonly FlowStep[],
  placed: readonly Map<string, PlacedNode>[],
  colorOf: (id: string | null) => string,
): void {
  const { doc } = sheet;
  steps.forEach((step, index) => {
    const [from, to] = [placed[index], placed[index + 1]];
    if (from === undefined || to === undefined) return;
    const order = new Map([...to.keys()].map((key, place) => [key, place]));
    const source = new Map<string, number>();
    const target = new Map<string, number>();
    const links = linksOf(step).toSorted(
      (left, right) => (order.get(keyOf(left.to)) ?? 0) - (order.get(keyOf(right.to)) ?? 0),
    );
    for (const link of links) {
      const [start, end] = [from.get(keyOf(link.from)), to.get(keyOf(link.to))];
      if (start === undefined || end === undefined || start.scaled === 0n) continue;
      const thickness = (start.height * Number(link.scaled)) / Number(start.scaled);
      const y1 = start.y + (source.get(keyOf(link.from)) ?? 0);
      const y2 = end.y + (target.get(keyOf(link.to)) ?? 0);
      source.set(keyOf(link.from), y1 - start.y + thickness);
      target.set(keyOf(link.to), y2 - end.y + thickness);
      const [x1, x2] = [start.x + NODE_WIDTH, end.x];
      const middle = (x1 + x2) / 2;
      doc
        .moveTo(x1, y1)
        .bezierCurveTo(middle, y1, middle, y2, x2, y2)
        .lineTo(x2, y2 + thickness)
        .bezierCurveTo(middle, y2 + thickness, middle, y1 + thickness, x1, y1 + thickness)
        .fillOpacity(link.from === link.to ? 0.22 : 0.42)
        .fill(colorOf(link.from));
    }
  });
  doc.fillOpacity(1);
}

/** Draws names only beside the first and the last round. If two names would touch, the lower one moves down. */
function drawNames(
  sheet: Sheet,
  nodes: Iterable<PlacedNode>,
  side: 'left' | 'right',
  winners: readonly string[],
): void {
  let free = 0;
  for (const node of nodes) {
    if (node.scaled === 0n) continue;
    const style = { size: 8, color: INK, bold: node.candidateId !== null && winners.includes(node.candidateId) };
    const y = Math.max(node.y + node.height / 2 - 6, free);
    free = y + 10;
    const name = sheet.text.cut(node.name, style, NAME_WIDTH - 10);
    const x = side === 'left' ? node.x - 6 - sheet.text.width(name, style) : node.x + NODE_WIDTH + 6;
    sheet.text.draw(name, x, y, style);
  }
}

function drawFigures(sheet: Sheet, placed: readonly Map<string, PlacedNode>[], room: number): void {
  for (const nodes of placed) {
    for (const node of nodes.values()) {
      if (node.height < FIGURE_SIZE + 1) continue;
      const style = { size: FIGURE_SIZE, color: MUTED };
      const figure = sheet.words.digits(node.figure);
      const last = nodes === placed.at(-1);
      if (sheet.text.width(figure, style) > (last ? NAME_WIDTH - NODE_WIDTH - 6 : room)) continue;
      const y = node.y + node.height / 2 - 5 + (last && node.height > 20 ? 9 : 0);
      if (!last) sheet.text.draw(figure, node.x + NODE_WIDTH + 2, y, style);
      else if (node.height > 20) sheet.text.draw(figure, node.x + NODE_WIDTH + 6, y, style);
    }
  }
}

const ownRounds = (result: PositionResult): readonly Round[] => {
  const rounds = roundsToDraw(result.rounds ?? []);
  return rounds.length < 2 || result.ballots === 0 ? [] : rounds;
};

export const flowHeight = (result: PositionResult): number => (ownRounds(result).length === 0 ? 0 : HEIGHT + 40);

/** Draws how the votes moved from round to round. A flow is as thick as its weight. Draws nothing if it would not be legible. */
export function drawFlow(sheet: Sheet, result: PositionResult): void {
  const { words } = sheet;
  const all = result.rounds ?? [];
  const rounds = ownRounds(result);
  const [first] = rounds;
  if (first === undefined) return;
  const steps = flowOf(result, rounds, words.rounds.exhausted);
  sheet.ensure(flowHeight(result));
  const top = sheet.y + 18;
  const ids = steps[0]?.nodes.map(({ candidateId }) => candidateId) ?? [];
  const colorOf = (id: string | null): string =>
    id === null ? EXHAUSTED : (COLORS[ids.indexOf(id) % COLORS.length] ?? EXHAUSTED);
  const placed = placeSteps(sheet, steps, top);
  const step = placed.length > 1 ? (sheet.width - 2 * NAME_WIDTH) / (placed.length - 1) : 0;
  const last = rounds.at(-1)?.round ?? first.round;
  const alt = words.charts.flow(first.round, last);
  sheet.content(
    'Figure',
    () => {
      drawLinks(sheet, steps, placed, colorOf);
      for (const nodes of placed) {
        for (const node of nodes.values()) {
          if (node.scaled > 0n)
            sheet.doc.rect(node.x, node.y, NODE_WIDTH, Math.max(node.height, 0.5)).fill(colorOf(node.candidateId));
        }
      }
      placed.forEach((nodes, index) => {
        const x = nodes.values().next().value?.x ?? 0;
        const title = String(steps[index]?.round.round);
        const style = { size: 7.5, bold: true, color: MUTED };
        if (index === 0) sheet.text.draw(words.rounds.round, sheet.left, top - 15, style);
        sheet.text.draw(title, x + NODE_WIDTH / 2 - sheet.text.width(title, style) / 2, top - 15, style);
      });
      drawNames(sheet, placed[0]?.values() ?? [], 'left', result.winners);
      drawNames(sheet, placed.at(-1)?.values() ?? [], 'right', result.winners);
      drawFigures(sheet, placed, step * 0.7);
    },
    { alt },
  );
  sheet.y = top + HEIGHT + 8;
  if (rounds.length < all.length)
    sheet.paragraph(words.charts.drawn(first.round, last, all.length), { size: 7.5, color: MUTED });
}
