import { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { SealedPlace, Secrets } from '#src/platform/secrets.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import { markAddressConfirmed } from './registration-repository.ts';
import { noteBeforeRehearsal } from './voter-key-repository.ts';

const LINK: SealedPlace = { table: 'voters', column: 'confirm_by', row: 'link' };
const linkShape = z.tuple([z.string(), z.string(), z.string()]);

/** The last part of a confirmation link: sealed, so that it can be made by this service alone and says nothing to anybody who sees it. */
export function sealConfirmation(secrets: Secrets, eventId: string, voterId: string, email: string): string {
  return secrets.seal(JSON.stringify([eventId, voterId, emailKey(email)]), LINK);
}

function openConfirmation(secrets: Secrets, token: string): z.output<typeof linkShape> | undefined {
  const text = secrets.openForeign(token, LINK)?.toString('utf8');
  return text === undefined ? undefined : linkShape.parse(JSON.parse(text));
}

/**
 * Confirms the address that a link was mailed to, any number of times before the close. It casts no ballot and approves no voter:
 * a registration whose address is confirmed no longer expires.
 * @returns false for a link that was not made here, whose registration or address is gone, or whose event has closed
 */
export async function confirmAddress(tx: Transaction, secrets: Secrets, token: string): Promise<boolean> {
  const link = openConfirmation(secrets, token);
  if (link === undefined) return false;
  const [eventId, voterId, address] = link;
  const event = await lockEvent(tx, eventId);
  if (event === undefined || statusAt(event, event.lockedAt) === 'closed') return false;
  await noteBeforeRehearsal(tx, eventId, voterId);
  return markAddressConfirmed(tx, eventId, voterId, address);
}
