import type { Bench } from './bench-service.ts';

/** What was seen in several windows of one alternative. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** The numbers of the windows that count, from 0 on in the order in which they were measured. */
  readonly kept: readonly number[];
  /** Windows that were left out because other programs took more than a quarter of a core meanwhile. */
  readonly dropped: number;
  /** Whether the windows that count were disturbed themselves, because there were no better ones. */
  readonly disturbed: boolean;
}

/** Microseconds of a core for each request. */
export interface ProcessorMicros {
  readonly service: number;
  /** All processes of the database together. */
  readonly database: number;
  /** What sends the requests: it shares the machine. */
  readonly load: number;
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
  /** The goal of `ours / theirs`, or `ours` by itself where there is no reference. Undefined: the figure is watched, and has no goal. */
  readonly goal: Goal | undefined;
  /** What limits it, where the goal is missed. */
  readonly limit: string;
  readonly processor?: ProcessorMicros;
}

/** A line that could not be measured here. */
export interface NotMeasured {
  readonly work: string;
  readonly goal?: Goal;
  /** What is missing, and how to get it. */
  readonly missing: string;
  /** It was begun, and ended with a fault. */
  readonly failed?: boolean;
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

export function figureOf(values: readonly number[], windows?: Pick<Figure, 'kept' | 'dropped' | 'disturbed'>): Figure {
  const whole = { kept: [...values.keys()], dropped: 0, disturbed: false };
  return {
    median: median(values),
    low: Math.min(...values),
    high: Math.max(...values),
    ...(windows ?? whole),
  };
}

/** Another figure of the same windows, where each gave several. */
export function alsoOf(values: readonly number[], { kept, dropped, disturbed }: Figure): Figure {
  return figureOf(
    kept.map((window) => values[window] ?? Number.NaN),
    { kept, dropped, disturbed },
  );
}

/** The figure that the goal is about. */
export function ratioOf({ ours, theirs }: Measurement): number {
  return theirs === undefined ? ours.median : ours.median / theirs.median;
}

export function isReached(line: Measurement): boolean {
  const [ratio, { goal }] = [ratioOf(line), line];
  if (goal === undefined) return true;
  return 'atLeast' in goal ? ratio >= goal.atLeast : ratio <= goal.atMost;
}

export function isBeyond(line: Measurement): boolean {
  const { goal } = line;
  if (goal?.beyond === undefined) return false;
  return 'atLeast' in goal ? ratioOf(line) >= goal.beyond : ratioOf(line) <= goal.beyond;
}
