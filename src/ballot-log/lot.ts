import { randomBytes } from 'node:crypto';
import type { Secrets } from '#src/platform/secrets.ts';

const SEED_BYTES = 32;

export const lotSeedPlace = (eventId: string) => ({ table: 'ballot_logs', column: 'lot_seed', row: eventId });

/** Draws the seed of an event's lot, sealed for its log. Drawn when the log opens, so that its hash is published at once. */
export function drawSeed(secrets: Secrets, eventId: string): string {
  return secrets.seal(randomBytes(SEED_BYTES), lotSeedPlace(eventId));
}

/** The seed of an event's lot. @param sealed as it stands with the log */
export const openSeed = (secrets: Secrets, eventId: string, sealed: string): Buffer =>
  secrets.open(sealed, lotSeedPlace(eventId));
