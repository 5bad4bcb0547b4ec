import { readFileSync } from 'node:fs';
import { type Figure, figureOf } from './line.ts';
import { TICKS_A_SECOND, ticksOfTree } from './processor-ticks.ts';
import type { Draw } from './seed.ts';

/** Other programs may take this much of a core while a window is measured. */
const OTHERS_AT_MOST = 0.25;
/** Windows of one comparison that are measured again because of other programs. */
const REPEATS = 3;
/** Fewer undisturbed windows than this make no median: then all count, and the table says so. */
const LEAST_WINDOWS = 2;

interface Usage {
  readonly machine: number;
  readonly ours: number;
}

/** Ticks of the processor by everything on the machine, and by this program and all it started. Undefined where the system does not say. */
function readUsage(): Usage | undefined {
  try {
    // What the host of a virtual machine gave to others is foreign load too: the last of these.
    const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, stolen = 0] = (
      readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
    )
      .split(/\s+/)
      .map(Number);
    return { machine: user + nice + system + irq + softIrq + stolen, ours: ticksOfTree(process.pid) };
  } catch {
    return undefined;
  }
}

/** Measures one window; says whether other programs disturbed it. */
async function measureWindow(measure: () => Promise<number>): Promise<Window> {
  const before = readUsage();
  const begin = performance.now();
  const value = await measure();
  const seconds = (performance.now() - begin) / 1_000;
  const after = readUsage();
  if (before === undefined || after === undefined) return { value, disturbed: false };
  const others = after.machine - before.machine - (after.ours - before.ours);
  // Two ticks are as fine as the system counts.
  return { value, disturbed: others > OTHERS_AT_MOST * TICKS_A_SECOND * seconds + 2 };
}

interface Window {
  readonly value: number;
  readonly disturbed: boolean;
}

/** Leaves out the windows that other programs disturbed, unless hardly any is left. */
function figureOfWindows(windows: readonly Window[]): Figure {
  const good = [...windows.keys()].filter((window) => windows[window]?.disturbed === false);
  const isEnough = good.length >= Math.min(LEAST_WINDOWS, windows.length);
  const kept = isEnough ? good : [...windows.keys()];
  return figureOf(
    kept.flatMap((window) => windows[window]?.value ?? []),
    { kept, dropped: windows.length - kept.length, disturbed: !isEnough },
  );
}

/**
 * Runs alternatives in turns, in a drawn order each time, so that what else the machine does hits all of them alike.
 * Windows that other programs disturbed are measured again, a few times, and do not count.
 */
export async function alternate<Name extends string>(
  { draw }: { readonly draw: Draw },
  rounds: number,
  alternatives: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, Figure>> {
  const names = Object.keys(alternatives) as Name[];
  const seen = new Map(names.map((name) => [name, [] as Window[]]));
  let repeats = REPEATS;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of draw.shuffled(names)) {
      let window = await measureWindow(alternatives[name]);
      seen.get(name)?.push(window);
      while (window.disturbed && repeats > 0) {
        repeats -= 1;
        window = await measureWindow(alternatives[name]);
        seen.get(name)?.push(window);
      }
    }
    process.stderr.write('.');
  }
  return Object.fromEntries([...seen].map(([name, windows]) => [name, figureOfWindows(windows)])) as Record<
    Name,
    Figure
  >;
}
