import { generateKeySeed, hashStoredKey, makeVoterKey } from '#src/voters/voter-key.ts';
import type { TestService } from './test-service.ts';

/** Gives a voter a key without a mail. */
export async function giveVoterKey(
  { deps }: TestService,
  eventId: string,
  voterId: string,
  key = makeVoterKey(deps.secrets, generateKeySeed()),
): Promise<string> {
  await deps.db.$client.query('INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) VALUES ($1, $2, $3)', [
    eventId,
    voterId,
    hashStoredKey(deps.secrets, eventId, voterId, key),
  ]);
  return key;
}
