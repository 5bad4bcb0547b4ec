import { readdirSync, readFileSync } from 'node:fs';

/** What `/proc` counts in: hundredths of a second. */
export const TICKS_A_SECOND = 100;

interface ProcessTicks {
  readonly parent: number;
  /** Of the process itself. */
  readonly own: number;
  /** Of its children that have ended and were waited for. */
  readonly ended: number;
}

function readProcess(pid: number): ProcessTicks | undefined {
  try {
    // The name of the program stands in parentheses and may hold anything; the fields follow the last one.
    const fields = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ').map(Number);
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [fields[1], ...fields.slice(11, 15)];
    return { parent, own: user + system, ended: endedUser + endedSystem };
  } catch {
    // It has ended meanwhile, or this is no Linux.
    return undefined;
  }
}

export const parentOf = (pid: number): number | undefined => readProcess(pid)?.parent;

/** Ticks of a process alone, without what it started. */
export const ticksOf = (pid: number): number => readProcess(pid)?.own ?? 0;

/** Ticks of a process, its descendants that run, and those of them that ended. */
export function ticksOfTree(root: number): number {
  const children = new Map<number, number[]>();
  const seen = new Map<number, ProcessTicks>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const ticks = readProcess(pid);
    if (ticks === undefined) continue;
    seen.set(pid, ticks);
    const siblings = children.get(ticks.parent);
    if (siblings === undefined) children.set(ticks.parent, [pid]);
    else siblings.push(pid);
  }
  const sum = (pid: number): number => {
    const { own = 0, ended = 0 } = seen.get(pid) ?? {};
    return (children.get(pid) ?? []).reduce((total, child) => total + sum(child), own + ended);
  };
  return sum(root);
}
