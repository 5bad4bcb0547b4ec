import { randomBytes } from 'node:crypto';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

const SEED_BYTES = 32;
const ROUND_BYTES = 4;

export const lotSeedPlace = (eventId: string) => ({ table: 'ballot_logs', column: 'lot_seed', row: eventId });

/** The log of an event that a seed is for: 0 is that of the votes in earnest. */
type Round = Pick<VotingEvent, 'id' | 'rehearsalSince' | 'rehearsalNumber'>;
const roundOf = ({ rehearsalSince, rehearsalNumber }: Round): number => (rehearsalSince === null ? 0 : rehearsalNumber);

/**
 * Draws the seed of an event's lot, sealed for its log and its round: everybody knows the seed of a rehearsal that is over, and SQL could
 * put it back. The log opens with its hash.
 */
export function drawSeed(secrets: Secrets, event: Round): { readonly seed: Buffer; readonly sealed: string } {
  const plain = randomBytes(SEED_BYTES + ROUND_BYTES);
  plain.writeUInt32BE(roundOf(event), SEED_BYTES);
  return { seed: plain.subarray(0, SEED_BYTES), sealed: secrets.seal(plain, lotSeedPlace(event.id)) };
}

/** The seed of an event's lot; undefined where SQL put another one there. @param sealed as it stands with the log */
export function openSeed(secrets: Secrets, event: Round, sealed: string): Buffer | undefined {
  try {
    const plain = secrets.open(sealed, lotSeedPlace(event.id));
    return plain.readUInt32BE(SEED_BYTES) === roundOf(event) ? plain.subarray(0, SEED_BYTES) : undefined;
  } catch {
    return undefined;
  }
}
