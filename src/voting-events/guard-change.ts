import { isDeepStrictEqual } from 'node:util';
import { eq, sql } from 'drizzle-orm';
import { planLimit } from '#src/accounts/plans.ts';
import type { Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { answersBulkChange } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import type { RefusalCase } from '#src/http/refusals.ts';
import { ApiError, type Issue, orNotFound, validationError } from '#src/platform/errors.ts';
import type { Organizer } from './access.ts';
import { isRehearsalOver, type LifeAction, requirePhase, wasOpened } from './lifecycle.ts';
import { type MissingPart, missingForOpening, type OpeningFacts } from './opening.ts';
import {
  hasBallots,
  holdEvent,
  keepOpening,
  type LockedEvent,
  lockEvent,
  readOpening,
  updateEvent,
} from './repository.ts';
import { votingEvents } from './tables.ts';
import type { VotingEvent } from './voting-event.ts';

export const worldChanged = (): ApiError =>
  new ApiError('internal', 'The voting event was changed meanwhile. Retry.', undefined, 1);

/**
 * Locks the event before a change.
 * @throws ApiError `not_found` if it was deleted meanwhile; 500 with `Retry-After` after its start until its rehearsal is wiped, because
 *   the data stored at the start decide whether the event opens
 */
export async function lockForChange(tx: Transaction, eventId: string): Promise<LockedEvent> {
  const event = orNotFound(await lockEvent(tx, eventId));
  if (isRehearsalOver(event, event.lockedAt)) throw worldChanged();
  return event;
}

/** As `lockForChange`, with a shared lock, for changes that need not wait for each other. */
export async function holdForChange(tx: Transaction, eventId: string): Promise<VotingEvent> {
  const event = orNotFound(await holdEvent(tx, eventId));
  if (event.rehearsalSince !== null && isRehearsalOver(event, await readNow(tx))) throw worldChanged();
  return event;
}

/** Refuses an action that the phase of a locked event does not allow. @throws ApiError 409 with the reason in `LIFE` */
export async function guardChange(tx: Transaction, event: LockedEvent, action: LifeAction): Promise<void> {
  await requirePhase(action, event, event.lockedAt, () => hasBallots(tx, event.id));
}

/** @throws ApiError 422 with the issues of a request, if there are any */
export function requireNoIssues(issues: readonly Issue[]): void {
  if (issues.length > 0) throw validationError(issues);
}

/** An operation that changes many rows of an event. */
export const bulkChange = (operationId: string, kind: 'voter' | 'candidate', refusals: readonly RefusalCase[]) =>
  operation(operationId, 'POST /bulk', {
    summary: `Reject or delete up to 1,000 ${kind}s, all or none`,
    scope: 'write',
    description: `What would be refused for one of them refuses them all. An unknown ID is named as \`${kind}Ids[<index>]\`. Rejected registrations free their place under the ceiling.`,
    answers: answersBulkChange(`How many ${kind}s were changed: those that were rejected before stay as they are.`),
    refusals,
    example: { action: 'reject', [`${kind}Ids`]: [EXAMPLE[kind]] },
  });

/** Changes the rows with these IDs, all or none. @returns how many it changed */
export type BulkChange<Needs> = (
  tx: Transaction,
  deps: Needs,
  organizer: Organizer,
  ids: readonly string[],
) => Promise<number>;

/** An issue for each ID in a body's list that names no row of the event. */
export function strangerIssues(
  kind: 'voter' | 'candidate' | 'position',
  ids: readonly (string | undefined)[],
  rows: readonly { readonly id: string }[],
): Issue[] {
  const known = new Set(rows.map(({ id }) => id));
  return ids.flatMap((id, index) =>
    id === undefined || known.has(id)
      ? []
      : [{ field: `${kind}Ids[${index}]`, message: `is not a ${kind} of this event` }],
  );
}

/** The rows that a bulk change names. @throws ApiError 422 with the issues of `strangerIssues` */
export function requireOwn<Row extends { readonly id: string }>(
  kind: 'voter' | 'candidate',
  ids: readonly string[],
  rows: readonly Row[],
): readonly Row[] {
  requireNoIssues(strangerIssues(kind, ids, rows));
  return rows;
}

/** The fields of an update that differ from the stored values, because clients may send back unchanged fields. */
export function changedFields<Sent extends object>(sent: Sent, stored: { readonly [Key in keyof Sent]?: unknown }) {
  const names = Object.keys(sent) as (keyof Sent)[];
  return Object.fromEntries(
    names.filter((name) => !isDeepStrictEqual(sent[name], stored[name])).map((name) => [name, sent[name]]),
  ) as Partial<Sent>;
}

/** What prevents the opening of a locked event. @param event as the change leaves it; its settings may not be stored yet */
export async function missingAfter(
  tx: Transaction,
  { id, type, voterSelfRegistration: selfRegistration, startsAt, ...prices }: VotingEvent,
  found: Partial<OpeningFacts>,
): Promise<MissingPart[]> {
  const isPriced = prices.payToVote !== null || prices.payToRegisterCandidate !== null;
  const own = { type, selfRegistration, hasStart: startsAt !== null, isPriced };
  return missingForOpening({ ...(await readOpening(tx, id)), ...found, ...own });
}

/** Call after a change of positions or candidates. Raises the version of the definition, and stores what prevents the opening. */
export async function renewBallotDefinition(tx: Transaction, eventId: string, nowMs: number): Promise<VotingEvent> {
  return storeMissing(tx, eventId, nowMs, missingForOpening(await readOpening(tx, eventId)));
}

/** Call after a change outside of the event's row. Stores what prevents the opening, if the change can affect it. */
export async function renewMissing(tx: Transaction, eventId: string, found: Partial<OpeningFacts> = {}): Promise<void> {
  const event = await lockEvent(tx, eventId);
  if (event === undefined || wasOpened(event, event.lockedAt)) return;
  if (event.closedAt !== null && event.rehearsalSince === null) return;
  const missing = missingForOpening({ ...(await readOpening(tx, eventId)), ...found });
  if (!isDeepStrictEqual(missing, event.missing)) await storeMissing(tx, eventId, event.lockedAt, missing);
}

async function storeMissing(
  tx: Transaction,
  eventId: string,
  nowMs: number,
  missing: MissingPart[],
): Promise<VotingEvent> {
  const ready = missing.length === 0;
  // An event that was ready at its start has opened. It stays open although it is no longer ready.
  if (!ready) await keepOpening(tx, eventId);
  return updateEvent(tx, eventId, { ready, missing, updatedAt: nowMs });
}

/** Call after a change of the ballot on which the opening does not depend. Only raises the version of the definition. */
export const touchBallotDefinition = (tx: Transaction, eventId: string, nowMs: number): Promise<VotingEvent> =>
  updateEvent(tx, eventId, { updatedAt: nowMs });

/** Limit of candidate numbers, which are consecutive: a count allocates four bytes for each number up to the largest. */
export const MAX_CANDIDATE_NUMBER = 500_000;

/** @throws ApiError 422 `plan_limit` for a number above the limit, which no ballot may name: the event has had too many candidates */
export function requireCandidateNumber(number: number): void {
  if (number > MAX_CANDIDATE_NUMBER) throw planLimit('candidates_ever_per_event', MAX_CANDIDATE_NUMBER);
}

/**
 * The next small number for a position or candidate of an event. Numbers are not reused while stored ballots may refer to them.
 * @throws ApiError 422 `plan_limit` once an event has had 500,000 candidates
 */
export async function takeNumber(tx: Transaction, eventId: string, kind: 'position' | 'candidate'): Promise<number> {
  const column = kind === 'position' ? votingEvents.lastPositionNumber : votingEvents.lastCandidateNumber;
  const [row] = await tx
    .update(votingEvents)
    .set(kind === 'position' ? { lastPositionNumber: sql`${column} + 1` } : { lastCandidateNumber: sql`${column} + 1` })
    .where(eq(votingEvents.id, eventId))
    .returning({ number: column });
  if (row === undefined) throw new Error('a locked event is gone');
  if (kind === 'candidate') requireCandidateNumber(row.number);
  return row.number;
}
