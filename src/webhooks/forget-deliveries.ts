import type { Database } from '#src/database/client.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { deleteRetiredEndpoints } from './repository.ts';
import { dropDeliveries, dropHolds } from './sending-repository.ts';

/** Attempts and payloads of webhooks are kept this long. */
const HISTORY_MS = 30 * DAY_MS;
/** An endpoint whose event was deleted hears of late refunds this long, with time for every attempt. */
const RETIRED_MS = 14 * DAY_MS;
/** Rows that one statement forgets: well within its time limit. */
const CHUNK = 1_000;

/** Forgets what is older than the history that is kept, and what belongs to endpoints that are gone. */
export async function forgetDeliveries(db: Database, nowMs: number): Promise<void> {
  await deleteRetiredEndpoints(db, nowMs - RETIRED_MS);
  await dropHolds(db);
  let after = '';
  for (;;) {
    const step = await dropDeliveries(db, after, nowMs - HISTORY_MS, CHUNK);
    if (step === undefined) return;
    if (step.dropped < CHUNK) after = step.endpointId;
  }
}
