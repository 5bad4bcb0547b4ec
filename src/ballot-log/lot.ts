import { randomBytes } from 'node:crypto';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

const SEED_BYTES = 32;

export const lotSeedPlace = (eventId: string) => ({ table: 'ballot_logs', column: 'lot_seed', row: eventId });

/** Where logs that opened in earlier versions have their seed. */
export const earlierSeedPlace = (eventId: string) => ({ table: 'voting_events', column: 'tie_seed', row: eventId });

/** Draws the seed of an event's lot, sealed for its log. Drawn when the log opens, so that its hash is published at once. */
export function drawSeed(secrets: Secrets, eventId: string): string {
  return secrets.seal(randomBytes(SEED_BYTES), lotSeedPlace(eventId));
}

/** The seed of an event whose log has opened. @param sealed as it stands with the log; null where it stands with the event */
export function openSeed(secrets: Secrets, event: VotingEvent, sealed: string | null): Buffer {
  if (sealed !== null) return secrets.open(sealed, lotSeedPlace(event.id));
  if (event.tieSeed === null) throw new Error('the log of an event has opened without a seed');
  return secrets.open(event.tieSeed, earlierSeedPlace(event.id));
}
