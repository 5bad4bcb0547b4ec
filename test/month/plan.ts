/** What happens in a simulated month, and when: a plan drawn from a seed, before anything runs. */

export const HOURS = 24 * 30;

export type Outage = 'mail' | 'database' | 'receiver' | 'archive' | 'disk' | 'clock';
export type Deed =
  | { readonly do: 'election' | 'poll'; readonly hours: number; readonly voters: number; readonly candidates: number }
  | { readonly do: 'backup' | 'restore' | 'upgrade' }
  | { readonly do: 'rotate'; readonly step: 1 | 2 | 3 }
  | { readonly do: 'kill'; readonly place: number }
  | { readonly do: 'begin' | 'end'; readonly outage: Outage };

/** Small, seeded and the same everywhere (xorshift32): a plan can be had again by its seed. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 2_654_435_761) ^ 0x9e3779b9) | 1;
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return least + ((this.#state >>> 0) % (most - least + 1));
  }
}

const DAY = 24;

/** The deeds of each hour. Every outage begins and ends, none beside another that would hide what it causes. */
export function planMonth(seed: number): ReadonlyMap<number, readonly Deed[]> {
  const dice = new Dice(seed);
  const plan = new Map<number, Deed[]>();
  const add = (hour: number, deed: Deed): void => {
    plan.set(hour, [...(plan.get(hour) ?? []), deed]);
  };
  const somewhere = (day: number): number => day * DAY + dice.between(8, 18);
  const outage = (day: number, name: Outage, hours: number): void => {
    const from = somewhere(day);
    add(from, { do: 'begin', outage: name });
    add(from + hours, { do: 'end', outage: name });
  };
  for (let day = 0; day < 30; day += 1) {
    add(day * DAY + 3, { do: 'backup' });
    // What begins late would end after the month: its last days only finish what runs.
    if (day >= 26) continue;
    for (const kind of ['election', 'poll'] as const)
      add(day * DAY + dice.between(5, 20), {
        ...{ do: kind, hours: dice.between(5, 60), voters: dice.between(3, 12), candidates: dice.between(2, 5) },
      });
  }
  outage(4, 'mail', dice.between(3, 30));
  outage(6, 'database', 1);
  for (const [day, from] of [
    [8, 1],
    [18, 1],
  ] as const)
    for (const step of [1, 2, 3] as const) add((day + step - from) * DAY + 9, { do: 'rotate', step });
  outage(11, 'receiver', 24 * 6);
  add(somewhere(13), { do: 'restore' });
  outage(15, 'archive', dice.between(13, 30));
  outage(17, 'clock', 2);
  outage(21, 'disk', 1);
  add(somewhere(23), { do: 'upgrade' });
  for (let times = 0; times < 6; times += 1) add(somewhere(dice.between(1, 25)), { do: 'kill', place: times % 2 });
  return plan;
}
