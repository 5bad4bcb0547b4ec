import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import type { Caller } from '#src/http/caller.ts';
import { refuse } from '#src/http/refusals.ts';
import { ApiError, type Issue, validationError } from '#src/platform/errors.ts';
import { type Organizer, ownerOf } from '#src/voting-events/access.ts';
import { createEvent, type EventDeps } from '#src/voting-events/create-event.ts';
import { guardChange, lockForChange, renewBallotDefinition } from '#src/voting-events/guard-change.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { updateVotingEvent } from '#src/voting-events/update-event.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { applyDefinition, rowIssues } from './apply-definition.ts';
import type { Difference, EventDefinition } from './definition-schema.ts';
import { differencesOf, type ReadDefinition, readDefinition } from './read-definition.ts';

/** Fills settings that the document leaves out with the defaults of a new event. */
function withDefaults({ event }: EventDefinition) {
  const { code, ...settings } = event;
  return {
    ...(code === undefined ? {} : { code }),
    description: null,
    startsAt: null,
    endsAt: null,
    timeZone: 'UTC',
    votingPageUrl: null,
    contactEmail: null,
    language: 'en' as const,
    logoUrl: null,
    ...settings,
    voter: {
      requireVoterId: false,
      selfRegistration: false,
      approval: 'automatic' as const,
      saveVoterInfo: false,
      ...event.voter,
    },
    candidate: { selfRegistration: false, ...event.candidate },
    ballot: {
      candidateOrder: 'fixed' as const,
      opening: 'observer' as const,
      receipt: event.type === 'poll' ? ('full' as const) : ('inclusion' as const),
      ...event.ballot,
    },
    results: { visibility: 'hidden' as const, ...event.results },
    log: { open: false, ...event.log },
    payments: { payToVote: null, payToRegisterCandidate: null, repeatVotes: false, ...event.payments },
  };
}

/** Rethrows validation errors of the event with paths inside the document, together with all issues of the rows. */
const inDocument =
  (definition: EventDefinition) =>
  (fault: unknown): never => {
    if (!(fault instanceof ApiError) || fault.code !== 'validation_error') throw fault;
    const issues = (fault.details?.['issues'] ?? []) as readonly Issue[];
    const ofEvent = issues.map(({ field, message }) => ({ field: `event.${field}`, message }));
    throw ofEvent.length === 0 ? fault : validationError([...ofEvent, ...rowIssues(definition)]);
  };

/**
 * Makes a draft exactly what a document says (completions 10.6).
 * @throws ApiError 409 `not_a_draft`, 409 `event_has_ballots`; 422 with all issues; 409 `code_in_use`
 */
export async function replaceDefinition(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  definition: EventDefinition,
): Promise<{ readonly before: ReadDefinition; readonly after: ReadDefinition }> {
  const locked = await lockForChange(tx, organizer.event.id);
  if (statusAt(locked, locked.lockedAt) !== 'draft') throw refuse('not_a_draft');
  await guardChange(tx, locked, 'change_ballot_rules');
  const before = await readDefinition(tx, locked);
  const event = await updateVotingEvent(tx, deps, organizer, withDefaults(definition)).catch(inDocument(definition));
  await applyDefinition(tx, deps, organizer, event, definition);
  if (event.startsAt !== null) await deps.giveOptions(tx, { ...organizer, event });
  const renewed = await renewBallotDefinition(tx, event.id, locked.lockedAt);
  const after = await readDefinition(tx, renewed);
  // A document without changes leaves no entry in the audit trail.
  if ((await differencesOf(locked.id, before, after)).length > 0)
    await recordDefinition(tx, deps, organizer, definition);
  return { before, after };
}

/** Creates an event from a document (completions 10.6). @throws ApiError 422; 409 `code_in_use`; 422 `plan_limit` */
export async function createFromDefinition(
  tx: Transaction,
  deps: EventDeps,
  caller: Caller,
  definition: EventDefinition,
): Promise<VotingEvent> {
  let named = inDocument(definition);
  const create = createEvent(tx, deps, caller, definition.event, async (event) => {
    // Later errors already have paths inside the document.
    named = (fault) => {
      throw fault;
    };
    const organizer = ownerOf(caller, event);
    await applyDefinition(tx, deps, organizer, event, definition);
    if (event.startsAt !== null) await deps.giveOptions(tx, organizer);
    await recordDefinition(tx, deps, organizer, definition);
    return renewBallotDefinition(tx, event.id, deps.clock.now());
  });
  return create.catch((fault: unknown) => named(fault));
}

/** Thrown to roll back the transaction of a dry run. */
class Undone extends Error {}

/** Lists what `replaceDefinition` would change: runs it, compares, and rolls back. */
export async function compareDefinition(
  db: Database,
  deps: EventDeps,
  organizer: Organizer,
  definition: EventDefinition,
): Promise<Difference[]> {
  let differences: Difference[] = [];
  try {
    await inTransaction(db, async (tx) => {
      const { before, after } = await replaceDefinition(tx, deps, organizer, definition);
      differences = await differencesOf(organizer.event.id, before, after);
      throw new Undone();
    });
  } catch (fault) {
    if (!(fault instanceof Undone)) throw fault;
  }
  return differences;
}

async function recordDefinition(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  { groups, positions, candidates, sponsors }: EventDefinition,
): Promise<void> {
  const after = {
    groups: groups.length,
    positions: positions.length,
    candidates: candidates.length,
    sponsors: sponsors.length,
  };
  await recordChange(tx, deps, changeBy(organizer, 'voting_event.defined', organizer.event.id, { after }));
}
