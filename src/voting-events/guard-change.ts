import type { Transaction } from '#src/database/client.ts';
import { conflict, notFound } from '#src/platform/errors.ts';
import { hasBallots, lockEvent, missingForOpening, updateEvent } from './repository.ts';
import type { VotingEvent } from './types.ts';

/** Locks the event before a change of its ballot paper. @throws ApiError `not_found` when it was deleted meanwhile */
export async function lockForChange(tx: Transaction, eventId: string): Promise<VotingEvent> {
  const event = await lockEvent(tx, eventId);
  if (event === undefined) throw notFound();
  return event;
}

/** @throws ApiError 409 `event_has_ballots` once a ballot was cast: what it depends on is frozen. Call with the event locked. */
export async function requireNoBallots(tx: Transaction, eventId: string): Promise<void> {
  if (await hasBallots(tx, eventId)) {
    throw conflict('event_has_ballots', 'Ballots have been cast: what they depend on can no longer be changed.');
  }
}

/** After a change of positions or candidates: a new version of the paper, and whether the event could open now. */
export async function renewPaper(tx: Transaction, eventId: string, nowMs: number): Promise<VotingEvent> {
  const missing = await missingForOpening(tx, eventId);
  const ready = !missing.position && missing.candidatesFor.length === 0;
  return updateEvent(tx, eventId, { ready, updatedAt: nowMs });
}
