import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Database, inTransaction, type Transaction, valuesOf } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, endJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { aboutOf, DISCLOSED_TOGETHER } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { listVotersByIds } from './repository.ts';
import { viewVoter } from './voter.ts';

const payload = z.strictObject({ eventId: z.string(), voterIds: z.array(z.string()) });
const PUBLISH_APPROVED = { name: 'announce_approved_voters', maxAttempts: 25, payload } as const;
const APPROVED_TOGETHER = 500;

/** Sends webhook `voter.updated` for voters whose approval by their first key has just been disclosed. */
export const publishApprovedJob = (deps: Pick<Deps, 'db' | 'ids' | 'clock'>): Job<z.output<typeof payload>> =>
  defineJob({
    ...PUBLISH_APPROVED,
    async work({ eventId, voterIds }, run) {
      await inTransaction(deps.db, async (tx) => {
        const event = await findEventById(tx, eventId);
        if (event === undefined || !(await endJob(tx, run))) return;
        const approved = await listVotersByIds(tx, eventId, voterIds);
        await publish(tx, deps, aboutOf(event), 'voter.updated', approved.map(viewVoter));
      });
    },
  });

/** The data from which a disclosure makes the public snapshot of results. They are read from one database snapshot. */
export interface StepMoment {
  /** The last logged leaf; -1 while the log has no ballot. */
  readonly lastLeaf: bigint;
  /** The last signed head of the log; undefined before the first head. */
  readonly note: string | undefined;
  /** Confirmed ballots that are not in the log yet. */
  readonly queue: readonly { readonly codeTag: Buffer; readonly entries: Buffer; readonly weightMicro: bigint }[];
  /** The encrypted public snapshot of the previous disclosure. */
  readonly before: Buffer | undefined;
}

type StepRow = {
  kind: 'approved' | 'more' | 'box' | 'queue' | 'before';
  id: string | null;
  number: string | null;
  tag: Buffer | null;
  content: Buffer | null;
};

/** Parameters of a step. */
interface StepOrder {
  /** The step does nothing while more ballots than this are queued. */
  readonly most: number;
  /** The number of ballots that a snapshot showed under a key of the event. The step does nothing until there are five more. */
  readonly shown: { readonly ballotKey: string | null; readonly ballots: number };
  /** Whether to wait while a change locks the event, and to disclose any number of voters. A job does; a request uses earlier steps. */
  readonly waits: boolean;
  /** Whether the previous call returned the snapshot of this step, and left voters to disclose. */
  readonly goesOn: boolean;
}

interface Step {
  /** The content of the next public snapshot. Undefined if no step was due, at the final result, and in further calls of a step. */
  readonly moment: StepMoment | undefined;
  /** Whether more voters wait for disclosure. */
  readonly isMore: boolean;
}

/**
 * Discloses who has voted in an election (completions 5.6): all undisclosed voters together, once there are five or the result is
 * final. Fewer voters at a time could be linked with a change of the live count.
 */
export async function discloseVoters(
  tx: Transaction,
  eventId: string,
  { most, shown, waits, goesOn }: StepOrder,
): Promise<Step> {
  const least = shown.ballots + DISCLOSED_TOGETHER;
  const { rows } = await tx.execute<StepRow>(
    sql`SELECT * FROM disclose_voters(${eventId}, ${most}, ${least}, ${shown.ballotKey}, ${waits}, ${goesOn})`,
  );
  const approved = rows.flatMap(({ kind, id }) => (kind === 'approved' && id !== null ? [id] : []));
  for (let from = 0; from < approved.length; from += APPROVED_TOGETHER)
    await enqueue(tx, PUBLISH_APPROVED, { eventId, voterIds: approved.slice(from, from + APPROVED_TOGETHER) });
  return { moment: momentOf(rows), isMore: rows.some(({ kind }) => kind === 'more') };
}

function momentOf(rows: readonly StepRow[]): StepMoment | undefined {
  const box = rows.find(({ kind }) => kind === 'box');
  if (box === undefined) return undefined;
  return {
    lastLeaf: BigInt(box.number ?? -1),
    note: box.content?.toString(),
    queue: rows.flatMap(({ kind, number, tag, content }) =>
      kind === 'queue' && number !== null && tag !== null && content !== null
        ? [{ codeTag: tag, entries: content, weightMicro: BigInt(number) }]
        : [],
    ),
    before: rows.find(({ kind }) => kind === 'before')?.content ?? undefined,
  };
}

export function listUndisclosed(db: Database): Promise<string[]> {
  const undisclosed = sql`SELECT e.id FROM voting_events e WHERE e.deleted_at IS NULL AND e.type = 'election' AND e.id IN (
    SELECT u.voting_event_id FROM undisclosed_voters u UNION SELECT v.voting_event_id FROM voters v WHERE v.approved_by_key)`;
  return valuesOf(db, undisclosed);
}
