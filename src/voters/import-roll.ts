import { and, eq, inArray, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { type Database, firstOf, inTransaction, type Transaction } from '#src/database/client.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, ok } from '#src/http/answer.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import { refuse } from '#src/http/refusals.ts';
import { issuesOf } from '#src/http/validation.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { ApiError, notFound, validationError } from '#src/platform/errors.ts';
import { Pauses } from '#src/platform/loop-turns.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { isAllowed, lifeRefusal } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { rollImports } from './tables.ts';
import { takeRows, type VoterAuthor, type VoterDeps } from './take-rows.ts';
import { createVoterBody, type importRollBody, type RejectedRow, type VoterInput } from './voter.ts';

type Body = z.output<typeof importRollBody>;

/** Maximum number of rejected rows that an answer lists (completions 10.3). */
const MAX_LISTED = 1_000;
/** Rows per transaction of a partial import (completions 10.3). */
const CHUNK_ROWS = 500;

type ImportProgress = Pick<typeof rollImports.$inferSelect, 'rowsDone' | 'accepted' | 'rejected' | 'rejectedCount'>;
type ImportedRoll = Omit<ImportProgress, 'rowsDone'>;

type ReadRow = { readonly index: number } & ({ readonly input: VoterInput } | { readonly rejected: RejectedRow });

/** Parses rows one by one and yields to the event loop in between. Call before any lock is taken. */
export async function readRows(sent: readonly unknown[]): Promise<ReadRow[]> {
  const pauses = new Pauses();
  const rows: ReadRow[] = [];
  for (const [index, row] of sent.entries()) {
    const parsed = createVoterBody.safeParse(row, { reportInput: true });
    const [issue] = parsed.success ? [] : issuesOf(parsed.error);
    rows.push(parsed.success ? { index, input: parsed.data } : { index, rejected: rejectedAt(index, issue) });
    await pauses.take();
  }
  return rows;
}

const rejectedAt = (index: number, issue = { field: '', message: 'must be an object' }): RejectedRow => ({
  index,
  field: issue.field,
  message: issue.message,
});

const byIndex = (one: RejectedRow, other: RejectedRow): number => one.index - other.index;

/** Imports the valid rows, or only validates. @throws ApiError as `takeRows` */
async function takeRead(
  tx: Transaction,
  deps: VoterDeps,
  organizer: VoterAuthor,
  rows: readonly ReadRow[],
  dryRun = false,
): Promise<{ accepted: number; rejected: RejectedRow[] }> {
  const sound = rows.flatMap((row) => ('input' in row ? [row] : []));
  const inputs = sound.map(({ input }) => input);
  const judged = await takeRows(tx, deps, organizer, inputs, { dryRun });
  const rejected = [
    ...rows.flatMap((row) => ('rejected' in row ? [row.rejected] : [])),
    ...sound.flatMap(({ index }, place) =>
      (judged[place]?.issues ?? []).slice(0, 1).map((one) => rejectedAt(index, one)),
    ),
  ];
  return { accepted: rows.length - rejected.length, rejected: rejected.sort(byIndex) };
}

const resultOf = (accepted: number, rejected: readonly RejectedRow[]): ImportedRoll => ({
  accepted,
  rejected: rejected.slice(0, MAX_LISTED),
  rejectedCount: rejected.length,
});

/** @throws ApiError 409 `event_closed` if voters may no longer be added */
function requireOpenRoll(deps: VoterDeps, { event }: Organizer): void {
  if (!isAllowed('add_voters', event, deps.clock.now())) throw lifeRefusal('event_closed', event);
}

/** Imports all rows or none, or only validates (completions 10.3). @throws ApiError 409; 422 naming all bad rows, `plan_limit` */
export async function importWhole(
  tx: Transaction,
  deps: VoterDeps,
  organizer: Organizer,
  { mode, dryRun }: Body,
  rows: readonly ReadRow[],
): Promise<ImportedRoll> {
  requireOpenRoll(deps, organizer);
  const { accepted, rejected } = await takeRead(tx, deps, organizer, rows, dryRun);
  const isRefused = rejected.length > 0 && mode === 'all';
  if (!isRefused || dryRun === true) return resultOf(isRefused ? 0 : accepted, rejected);
  const issues = rejected.map(({ index, field, message }) => ({
    field: field === '' ? `voters[${index}]` : `voters[${index}].${field}`,
    message,
  }));
  throw validationError(issues, { ...resultOf(0, rejected) });
}

/** Imports the valid rows, 500 per transaction. A retry with the same Idempotency-Key resumes. @throws ApiError 409, 422 `plan_limit` */
export async function importPart(
  deps: VoterDeps & Pick<Deps, 'db'>,
  organizer: Organizer,
  { voters }: Body,
  claim: Claim | undefined,
): Promise<Answer> {
  requireOpenRoll(deps, organizer);
  const { id: eventId } = organizer.event;
  const [requestKey, ...earlier] = claim?.requestKeys ?? [];
  // The progress is stored under the request's key. Without an Idempotency-Key, nothing is stored, and no retry can resume.
  const stored =
    requestKey &&
    and(eq(rollImports.votingEventId, eventId), inArray(rollImports.requestKey, [requestKey, ...earlier]));
  const hold = async (tx: Transaction) => stored && firstOf(tx.select().from(rollImports).where(stored).for('update'));
  const rows = await readRows(voters);
  let progress = await inTransaction(deps.db, async (tx) => {
    const begun = await hold(tx);
    if (begun !== undefined) return begun;
    if ((await findEventById(tx, eventId)) === undefined) throw notFound();
    // Throws, before the first row is stored, if the plan has no room for all valid rows.
    await takeRead(tx, deps, organizer, rows, true);
    if (requestKey !== undefined) {
      const begin = { votingEventId: eventId, requestKey, ...NOTHING_DONE, startedAt: deps.clock.now() };
      // Another process may just have begun the same import.
      await tx.insert(rollImports).values(begin).onConflictDoNothing();
    }
    return NOTHING_DONE;
  });
  for (;;) {
    const { accepted } = progress;
    const { next, answer } = await inTransaction(deps.db, async (tx) => {
      // A retry in another process may run the same import. Both go on from the stored progress.
      const done = stored === undefined ? progress : await hold(tx);
      if (done === undefined && (await findEventById(tx, eventId)) === undefined) throw notFound();
      if (done === undefined) throw refuse('idempotency_in_progress');
      const after = await importChunk(tx, deps, organizer, rows, done);
      if (after.rowsDone < voters.length) {
        if (stored !== undefined) await tx.update(rollImports).set(after).where(stored);
        return { next: after, answer: undefined };
      }
      const { accepted, rejected, rejectedCount } = after;
      const result = ok({ accepted, rejected, rejectedCount } satisfies ImportedRoll);
      // The transaction of the last rows also stores the answer, so that a retry gets the same answer.
      await claim?.store(tx, result);
      if (stored !== undefined) await tx.delete(rollImports).where(stored);
      return { next: after, answer: result };
    }).catch((fault: unknown) => {
      throw fault instanceof ApiError && accepted > 0 ? afterSome(fault, accepted) : fault;
    });
    if (answer !== undefined) return answer;
    progress = next;
  }
}

/** A refusal in the middle of an import, for example because the event closed. Earlier rows stay on the roll. */
const afterSome = ({ code, message, details, retryAfterSeconds }: ApiError, accepted: number): ApiError =>
  new ApiError(code, `${message} ${accepted} voters were added before.`, { ...details, accepted }, retryAfterSeconds);

const NOTHING_DONE: ImportProgress = { rowsDone: 0, accepted: 0, rejected: [], rejectedCount: 0 };

async function importChunk(
  tx: Transaction,
  deps: VoterDeps,
  organizer: Organizer,
  all: readonly ReadRow[],
  done: ImportProgress,
): Promise<ImportProgress> {
  const { rowsDone } = done;
  const rows = all.slice(rowsDone, rowsDone + CHUNK_ROWS);
  const { accepted, rejected } = await takeRead(tx, deps, organizer, rows);
  return {
    rowsDone: rowsDone + rows.length,
    accepted: done.accepted + accepted,
    rejected: [...done.rejected, ...rejected].slice(0, MAX_LISTED),
    rejectedCount: done.rejectedCount + rejected.length,
  };
}

/** Deletes the progress of imports that began over a day ago: their Idempotency-Key has expired, so no retry can resume them. */
export async function forgetOldImports(db: Database): Promise<void> {
  await deleteInChunks(db, 'roll_imports', sql`started_at <= now_ms() - ${DAY_MS}`);
}
