import { Unbelievable } from './note.ts';

export interface Check {
  readonly name: string;
  /** `left_out`: could not run, although it was requested or the log's rules demand it. `not_asked` does not change the verdict. */
  readonly status: 'verified' | 'failed' | 'left_out' | 'not_asked';
  readonly detail: string;
}

/** Collects the checks and their outcomes. */
export class Checks {
  readonly list: Check[] = [];

  /** A check on which others build: if it fails, the run ends. */
  async run<T>(name: string, work: () => Promise<T> | T, detail: (result: T) => string): Promise<T> {
    try {
      const result = await work();
      this.list.push({ name, status: 'verified', detail: detail(result) });
      return result;
    } catch (fault) {
      if (!(fault instanceof Unbelievable)) throw fault;
      this.list.push({ name, status: 'failed', detail: fault.message });
      throw fault;
    }
  }

  /** A check on which no other builds: if it fails, the others still run. */
  async runAlone(name: string, work: () => void, detail: () => string): Promise<void> {
    try {
      await this.run(name, work, detail);
    } catch (fault) {
      if (!(fault instanceof Unbelievable)) throw fault;
    }
  }

  leaveOut(name: string, detail: string): void {
    this.list.push({ name, status: 'left_out', detail });
  }

  notAsked(name: string, detail: string): void {
    this.list.push({ name, status: 'not_asked', detail });
  }

  /** `yes`: everything is right. `no`: something is wrong. `partial`: right, but something could not be checked. */
  get verdict(): 'yes' | 'no' | 'partial' {
    const has = (sought: Check['status']): boolean => this.list.some(({ status }) => status === sought);
    if (has('failed')) return 'no';
    return has('left_out') || !has('verified') ? 'partial' : 'yes';
  }
}

export function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new Unbelievable(otherwise);
}
