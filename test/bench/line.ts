import type { Bench } from './bench-service.ts';

/** What was seen in several windows of one alternative. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly windows: number;
  /** Windows among them in which other programs took more than a quarter of a core, when there was no time for better ones. */
  readonly disturbed: number;
}

export type Goal =
  | { readonly atLeast: number; readonly beyond?: number }
  | { readonly atMost: number; readonly beyond?: number };

/** One line of the table: our figure beside a reference that was measured in the same run. */
export interface Measurement {
  readonly work: string;
  /** Undefined where the goal is a figure by itself, not a ratio. */
  readonly reference: string | undefined;
  /** Units a second, or milliseconds: the same for both. */
  readonly unit: string;
  readonly ours: Figure;
  readonly theirs: Figure | undefined;
  /** What `ours / theirs` shall be, or `ours` by itself where there is no reference. */
  readonly goal: Goal;
  /** What limits it, where the goal is missed. */
  readonly limit: string;
}

/** A line that could not be measured here. */
export interface NotMeasured {
  readonly work: string;
  readonly goal?: Goal;
  /** What is missing, and how to get it. */
  readonly missing: string;
}

export type Line = Measurement | NotMeasured;
export type BenchLine = (bench: Bench) => Promise<Line[]>;

export function isMeasured(line: Line): line is Measurement {
  return 'ours' in line;
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((left, right) => left - right),
    0.5,
  );
}

/** A quantile of sorted values, between two of them where it falls there. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0];
  return below + (above - below) * (at - Math.floor(at));
}

export function figureOf(values: readonly number[], disturbed = 0): Figure {
  return {
    median: median(values),
    low: Math.min(...values),
    high: Math.max(...values),
    windows: values.length,
    disturbed,
  };
}

/** The figure that the goal is about. */
export function ratioOf({ ours, theirs }: Measurement): number {
  return theirs === undefined ? ours.median : ours.median / theirs.median;
}

export function isReached(line: Measurement): boolean {
  const ratio = ratioOf(line);
  return 'atLeast' in line.goal ? ratio >= line.goal.atLeast : ratio <= line.goal.atMost;
}

export function isBeyond(line: Measurement): boolean {
  const { goal } = line;
  if (goal.beyond === undefined) return false;
  return 'atLeast' in goal ? ratioOf(line) >= goal.beyond : ratioOf(line) <= goal.beyond;
}
