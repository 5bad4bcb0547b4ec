import type { Database } from '#src/database/client.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { dropExpiredBallots, listEventsWithExpiredBallots } from './repository.ts';

/** Drops ballots that were cast and can no longer be confirmed. An event whose ballots cannot be dropped holds up no other. */
export async function dropAllExpiredBallots({ db, log }: { readonly db: Database; readonly log: Log }): Promise<void> {
  let failed = 0;
  for (const eventId of await listEventsWithExpiredBallots(db.$client)) {
    try {
      await dropExpiredBallots(db.$client, eventId);
    } catch (fault) {
      failed += 1;
      log.error({ event: eventId, fault: summariseFault(fault) }, 'expired ballots could not be dropped');
    }
  }
  if (failed > 0) throw new Error(`expired ballots of ${failed} events could not be dropped`);
}
