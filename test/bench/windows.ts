import { readdirSync, readFileSync } from 'node:fs';
import { type Figure, figureOf } from './line.ts';

/** Other programs may take this much of a core while a window is measured. */
const OTHERS_AT_MOST = 0.25;
/** Windows of one comparison that are measured again because of other programs; then what is seen counts, and says so. */
const REPEATS = 3;
const TICKS_A_SECOND = 100;

interface Usage {
  readonly machine: number;
  readonly ours: number;
}

/** Ticks of the processor by everything on the machine, and by this program and all it started. Undefined where the system does not tell. */
function readUsage(): Usage | undefined {
  try {
    const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = (
      readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
    )
      .split(/\s+/)
      .map(Number);
    return { machine: user + nice + system + irq + softIrq, ours: ticksOfTree() };
  } catch {
    return undefined;
  }
}

/** Ticks of this process, its descendants that run, and those of them that ended. */
function ticksOfTree(): number {
  const children = new Map<number, { pid: number; ticks: number }[]>();
  const ticksOf = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    let fields: string[];
    try {
      // The name of the program stands in parentheses and may hold anything; the fields follow the last one.
      fields = (readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ');
    } catch {
      continue;
    }
    const [parent, pid] = [Number(fields[1]), Number(name)];
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    ticksOf.set(pid, ticks);
    children.set(parent, [...(children.get(parent) ?? []), { pid, ticks }]);
  }
  const sum = (pid: number): number =>
    (ticksOf.get(pid) ?? 0) + (children.get(pid) ?? []).reduce((total, child) => total + sum(child.pid), 0);
  return sum(process.pid);
}

/** Measures one window; says whether other programs disturbed it. */
async function measureWindow(measure: () => Promise<number>): Promise<{ value: number; disturbed: boolean }> {
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

/**
 * Runs alternatives in turns, in a random order each time, so that what else the machine does hits all of them alike.
 * Windows that other programs disturbed are measured again, a few times.
 */
export async function alternate<Name extends string>(
  rounds: number,
  alternatives: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, Figure>> {
  const names = Object.keys(alternatives) as Name[];
  const seen = new Map(names.map((name) => [name, { values: [] as number[], disturbed: 0 }]));
  let repeats = REPEATS;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names.toSorted(() => Math.random() - 0.5)) {
      let window = await measureWindow(alternatives[name]);
      while (window.disturbed && repeats > 0) {
        repeats -= 1;
        window = await measureWindow(alternatives[name]);
      }
      const own = seen.get(name);
      own?.values.push(window.value);
      if (own !== undefined && window.disturbed) own.disturbed += 1;
    }
    process.stderr.write('.');
  }
  return Object.fromEntries(
    [...seen].map(([name, { values, disturbed }]) => [name, figureOf(values, disturbed)]),
  ) as Record<Name, Figure>;
}
