import type { BenchService } from './bench-service.ts';

/** One line of the table: our figure beside a reference that was measured in the same run. */
export interface Measurement {
  readonly work: string;
  readonly reference: string;
  /** Units a second, or milliseconds: the same for both. */
  readonly unit: string;
  readonly ours: number;
  readonly theirs: number;
  /** What `ours / theirs` shall be. */
  readonly goal: { readonly atLeast: number } | { readonly atMost: number };
  /** What limits it, where the goal is missed. */
  readonly limit: string;
}

export type BenchLine = (service: BenchService) => Promise<Measurement[]>;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Runs alternatives in turns, in a random order each time, so that what else the machine does hits all of them alike. */
export async function alternate(
  rounds: number,
  alternatives: Readonly<Record<string, () => Promise<number>>>,
): Promise<Record<string, number>> {
  const seen: Record<string, number[]> = Object.fromEntries(Object.keys(alternatives).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const names = Object.keys(alternatives).toSorted(() => Math.random() - 0.5);
    for (const name of names) seen[name]?.push((await alternatives[name]?.()) ?? 0);
    process.stderr.write('.');
  }
  return Object.fromEntries(Object.entries(seen).map(([name, values]) => [name, median(values)]));
}
