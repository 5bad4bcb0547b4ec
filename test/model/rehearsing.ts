/** A rehearsal (completions 10.5): rounds in which everything is done as in earnest, and nothing of it is left. */
import { conflict, type Expected, ok } from './answer.ts';
import type { Model } from './model.ts';
import { type Event, eventBody, isReady, statusOf } from './state.ts';

/** What came about in a round goes with it: ballots, voter keys, stored answers. */
function wipeRound(model: Model, event: Event): void {
  Object.assign(event, { pendings: [], ballots: [], everCast: false, steps: [0], looseRoll: false });
  event.wrongKeys.splice(0);
  event.voters = event.voters.filter(({ source }) => source !== 'poll');
  for (const voter of event.voters) {
    voter.dropped = [...(voter.dropped ?? []), ...voter.keys];
    Object.assign(voter, { keys: [], hasVoted: false, usedKey: false, perhapsUsed: false, printed: false });
  }
  for (const [name, stored] of model.stored) if (stored.fingerprint.includes(event.id)) model.stored.delete(name);
}

/** A PATCH of the status alone that begins, closes or ends a rehearsal; nothing where it is about none. */
export function rehearse(model: Model, event: Event, now: number, wanted: unknown): Expected[] | undefined {
  const { rehearsal, openedAt, closedAt, visibility } = event;
  if (rehearsal === null && wanted !== 'rehearsal') return undefined;
  if (rehearsal === null && ['open', 'closed'].includes(statusOf(event, now))) return [conflict('was_open')];
  if (rehearsal === null && !isReady(event)) return [conflict('not_ready')];
  const before = rehearsal?.before ?? { openedAt, closedAt, visibility };
  const round = (rehearsal?.round ?? 0) + (wanted === 'rehearsal' ? 1 : 0);
  const goesOn = wanted === 'rehearsal' || wanted === 'closed';
  const now0 = { openedAt: now, closedAt: wanted === 'closed' ? now : null };
  const opened = wanted === 'open' ? { openedAt: now } : {};
  const state = goesOn
    ? { ...now0, rehearsal: { round, closed: wanted === 'closed', before } }
    : { ...before, ...opened, rehearsal: null };
  const ballots = wanted === 'closed' ? event.ballots : [];
  const done = ok(200, eventBody({ ...event, ...state, ballots }, now), () => {
    if (rehearsal !== null && wanted !== 'closed') wipeRound(model, event);
    Object.assign(event, state);
  });
  // Opened once and taken back: whether that may be rehearsed is left open.
  const wasOpen = rehearsal === null && (event.onceOpen === true || openedAt !== null);
  return wasOpen ? [done, conflict('was_open')] : [done];
}
