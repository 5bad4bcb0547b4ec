import type { Transaction } from '#src/database/client.ts';
import { insertVoid } from './repository.ts';

/**
 * Makes a confirmed ballot void, because its payment was reversed: from here on it does not count, and a `void` leaf follows
 * its own into the log (completions 6.3). Doing it again changes nothing; a code that confirmed no ballot voids none.
 * @param codeTag SHA-256("code" ‖ confirmation code), 32 bytes
 */
export async function voidBallot(tx: Transaction, eventId: string, codeTag: Buffer): Promise<void> {
  await insertVoid(tx, eventId, codeTag);
}
