import { mix } from './seed.ts';

export const RANKED_CANDIDATES = 20;

/** A full ranking that depends on the seed and its number alone (xorshift, Fisher–Yates): nearly all are different. */
export function rankingOf(seed: number, index: number): Uint8Array {
  let state = mix(seed, index) | 1;
  const next = (below: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  const ranking = Uint8Array.from({ length: RANKED_CANDIDATES }, (_, candidate) => candidate);
  for (let place = RANKED_CANDIDATES - 1; place > 0; place -= 1) {
    const other = next(place + 1);
    const moved = ranking[place] ?? 0;
    ranking[place] = ranking[other] ?? 0;
    ranking[other] = moved;
  }
  return ranking;
}
