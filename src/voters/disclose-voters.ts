import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Database, inTransaction, valuesOf } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { summariseFault } from '#src/platform/log.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { listVotersByIds } from './repository.ts';
import { viewVoter } from './voter.ts';

const payload = z.strictObject({ eventId: z.string(), voterIds: z.array(z.string()) });
const PUBLISH_APPROVED = { name: 'announce_approved_voters', maxAttempts: 25, payload } as const;
/** In one message of the queue. */
const APPROVED_TOGETHER = 500;

/** Publishes `voter.updated` for voters whose approval by their first key is shown from now on. */
export function publishApprovedJob(deps: Pick<Deps, 'db' | 'ids' | 'clock'>): Job<z.output<typeof payload>> {
  return defineJob({
    ...PUBLISH_APPROVED,
    async work({ eventId, voterIds }) {
      await inTransaction(deps.db, async (tx) => {
        const event = await findEventById(tx, eventId);
        if (event === undefined) return;
        const about = { accountId: event.accountId, votingEventId: eventId };
        const approved = await listVotersByIds(tx, eventId, voterIds);
        await publish(tx, deps, about, 'voter.updated', approved.map(viewVoter));
      });
    },
  });
}

/**
 * Shows who has voted in an election, where that is due (completions 5.6): all voters who wait to be shown, once five wait or the
 * result is final. Fewer at a time could be linked with a change of the live count.
 */
export async function discloseVoters(db: Database, eventId: string): Promise<void> {
  await inTransaction(db, async (tx) => {
    const [shown] = await valuesOf<string[] | null>(tx, sql`SELECT disclose_voters(${eventId})`);
    const approved = shown ?? [];
    for (let from = 0; from < approved.length; from += APPROVED_TOGETHER)
      await enqueue(tx, PUBLISH_APPROVED, { eventId, voterIds: approved.slice(from, from + APPROVED_TOGETHER) });
  });
}

/** Makes the steps that are due in all events. */
export async function discloseAllVoters({ db, log }: Pick<Deps, 'db' | 'log'>): Promise<void> {
  const due = sql`
    SELECT e.id FROM voting_events e WHERE e.deleted_at IS NULL AND e.type = 'election' AND e.id IN (
      SELECT u.voting_event_id FROM undisclosed_voters u UNION SELECT v.voting_event_id FROM voters v WHERE v.approved_by_key)`;
  for (const id of await valuesOf<string>(db, due)) {
    try {
      await discloseVoters(db, id);
    } catch (fault) {
      log.error({ event: id, fault: summariseFault(fault) }, 'who voted could not be disclosed');
    }
  }
}
