import { generateKeySeed, hashStoredKey, makeVoterKey } from '#src/voters/voter-key.ts';
import type { TestService } from './test-service.ts';

/** What a key is bound to. */
async function rowOf({ db }: TestService['deps'], votingEventId: string, id: string) {
  const { rows } = await db.$client.query<{ generation: number }>(
    'SELECT key_generation AS generation FROM voters WHERE voting_event_id = $1 AND id = $2',
    [votingEventId, id],
  );
  return { votingEventId, id, keyGeneration: rows[0]?.generation ?? 0 };
}

/** Gives a voter a key without a mail. */
export async function giveVoterKey(
  { deps }: TestService,
  eventId: string,
  voterId: string,
  given?: string,
): Promise<string> {
  const voter = await rowOf(deps, eventId, voterId);
  const key = given ?? makeVoterKey(deps.secrets, voter, generateKeySeed());
  await deps.db.$client.query('INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) VALUES ($1, $2, $3)', [
    eventId,
    voterId,
    hashStoredKey(deps.secrets, voter, key),
  ]);
  return key;
}
