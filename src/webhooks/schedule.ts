import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#src/platform/clock.ts';

/** How long after an attempt the next one comes: ten attempts over 75 hours, so that a weekend's outage loses nothing. */
const PAUSES_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
export const MAX_TRIES = PAUSES_MS.length + 1;
/** Spread, so that what failed together is not tried together. */
const JITTER = 0.2;
/** A receiver that timed out or asked for patience is left alone at least this long. */
const PATIENCE_MS = 60 * SECOND_MS;

export interface FailedTry {
  /** Attempts so far, this one included. */
  readonly tries: number;
  /** The receiver asked for patience, or did not answer in time. */
  readonly slow: boolean;
  /** What its Retry-After says, in ms. */
  readonly retryAfterMs: number | undefined;
}

/** How long to wait after a failed attempt, in ms; undefined after the last. @param random 0 to 1 */
export function pauseAfter({ tries, slow, retryAfterMs }: FailedTry, random: number): number | undefined {
  const planned = PAUSES_MS[tries - 1];
  if (planned === undefined) return undefined;
  const spread = planned * (1 + JITTER * (2 * random - 1));
  // Between once and twice what was planned: deliveries cannot be put off for ever.
  const asked = retryAfterMs === undefined ? spread : Math.min(Math.max(retryAfterMs, spread), 2 * planned);
  return Math.round(Math.max(asked, slow ? PATIENCE_MS : 0));
}
