import { type Database, inTransaction } from '#src/database/client.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { listKeyless } from './ballot-key-repository.ts';
import type { BallotKeys } from './ballot-keys.ts';
import { lockEvent, updateEvent } from './repository.ts';

interface TendKeysDeps {
  readonly db: Database;
  readonly log: Log;
  readonly ballotKeys: BallotKeys;
}

/**
 * Destroys keys that nothing needs any more, until none is left, and gives one to elections that were scheduled before there
 * were keys of events. Runs every minute.
 */
export async function tendBallotKeys(deps: TendKeysDeps): Promise<void> {
  await deps.ballotKeys.destroyRetired();
  for (const eventId of await listKeyless(deps.db)) {
    try {
      await giveKey(deps, eventId);
    } catch (fault) {
      deps.log.error({ event: eventId, fault: summariseFault(fault) }, 'a scheduled election got no key');
    }
  }
}

async function giveKey({ db, ballotKeys }: TendKeysDeps, eventId: string): Promise<void> {
  await inTransaction(db, async (tx) => {
    const event = await lockEvent(tx, eventId);
    if (event === undefined) return;
    const key = await ballotKeys.prepare(tx, event, event);
    if (key.ballotKey !== undefined) await updateEvent(tx, eventId, key);
  });
}
