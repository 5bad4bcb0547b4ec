import { requireThat } from './count-refused.ts';
import type { SavedCount } from './types.ts';

/** How many ballots answered a position and how many did not, in heads. */
export class Participation {
  #ballots: number;
  #abstentions: number;

  constructor(saved?: SavedCount) {
    this.#ballots = saved?.ballots ?? 0;
    this.#abstentions = saved?.abstentions ?? 0;
  }

  add(answered: boolean, times: number): void {
    if (answered) {
      this.#ballots += times;
    } else {
      this.#abstentions += times;
    }
  }

  get ballots(): number {
    requireThat(this.#ballots >= 0, 'more ballots were taken out than added');
    return this.#ballots;
  }

  get abstentions(): number {
    requireThat(this.#abstentions >= 0, 'more abstentions were taken out than added');
    return this.#abstentions;
  }
}
