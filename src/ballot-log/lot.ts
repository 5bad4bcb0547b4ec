import { randomBytes } from 'node:crypto';
import { unlessSpoilt } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

const SEED_BYTES = 32;
const ROUND_BYTES = 4;

export const lotSeedPlace = (eventId: string) => ({ table: 'ballot_logs', column: 'lot_seed', row: eventId });

/** Identifies the log of an event that a seed belongs to: the number of the rehearsal, or 0 for the real vote. */
type Round = Pick<VotingEvent, 'id' | 'rehearsalSince' | 'rehearsalNumber'>;
const roundOf = ({ rehearsalSince, rehearsalNumber }: Round): number => (rehearsalSince === null ? 0 : rehearsalNumber);

/** Draws the seed and encrypts it with its round's number: SQL must not reuse the seed of a past rehearsal, which is public. */
export function drawSeed(secrets: Secrets, event: Round): { readonly seed: Buffer; readonly sealed: string } {
  const plain = randomBytes(SEED_BYTES + ROUND_BYTES);
  plain.writeUInt32BE(roundOf(event), SEED_BYTES);
  return { seed: plain.subarray(0, SEED_BYTES), sealed: secrets.seal(plain, lotSeedPlace(event.id)) };
}

/** Decrypts the seed of an event's lots; undefined if direct SQL replaced it. @param sealed the `lot_seed` column */
export const openSeed = (secrets: Secrets, event: Round, sealed: string): Buffer | undefined =>
  unlessSpoilt(() => {
    const plain = secrets.open(sealed, lotSeedPlace(event.id));
    return plain.readUInt32BE(SEED_BYTES) === roundOf(event) ? plain.subarray(0, SEED_BYTES) : undefined;
  });
