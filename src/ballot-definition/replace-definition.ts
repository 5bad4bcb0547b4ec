import { isDeepStrictEqual } from 'node:util';
import { and, eq, getTableColumns, getTableName, isNull, notInArray, sql } from 'drizzle-orm';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { planLimit } from '#src/accounts/plans.ts';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import type { Caller } from '#src/http/caller.ts';
import { refuse } from '#src/http/refusals.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { ApiError, type Issue, validationError } from '#src/platform/errors.ts';
import { namesOf } from '#src/platform/pick.ts';
import { type Organizer, ownerOf } from '#src/voting-events/access.ts';
import { createEvent, type EventDeps, withDefaults } from '#src/voting-events/create-event.ts';
import {
  guardChange,
  lockForChange,
  renewBallotDefinition,
  requireCandidateNumber,
} from '#src/voting-events/guard-change.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { givenOf, updateEvent } from '#src/voting-events/repository.ts';
import { updateVotingEvent } from '#src/voting-events/update-event.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { viewCandidate } from './candidate.ts';
import { optionsOf } from './change-candidate.ts';
import { linkIssues } from './definition-links.ts';
import type { Difference, EventDefinition } from './definition-schema.ts';
import { REMOVE_DELETED_ROWS } from './delete-rows.ts';
import { nameKeyOf } from './group.ts';
import { type Kind, matchDefinition } from './match-definition.ts';
import { settingIssues, settle } from './position-settings.ts';
import { differencesOf, type ReadDefinition, readDefinition } from './read-definition.ts';
import { CAPS, isStanding, PREFIXES, requireTopUp, type TopUpDeps, topUpIssues } from './record-ballot-change.ts';
import { forgetIdleCredits, isAnyCandidatePaidFor, isPaidFor, listCandidates, listParts } from './repository.ts';
import { candidates, groups, positions, sponsors } from './tables.ts';

const CAPPED = namesOf(CAPS);

type Parts = Awaited<ReturnType<typeof listParts>>;

/** Issues of a document's rows that need no database query. @param stored the event's candidates */
const rowIssues = (definition: EventDefinition, stored: Parts['candidates'] = []): Issue[] => [
  ...linkIssues(definition, ({ id, positionIds, referendumRole = null }) => {
    const before = stored.find((one) => one.id === id);
    return before?.referendumRole === referendumRole && before.positionIds.join() === positionIds.join();
  }),
  ...definition.positions.flatMap((position, index) =>
    within(index, settingIssues(position.votingMethod, givenOf(position), undefined)),
  ),
];

const within = (index: number, issues: readonly Issue[]): Issue[] =>
  issues.map(({ field, message }) => ({ field: `positions[${index}].${field}`, message }));

/**
 * Replaces a draft's groups, positions, candidates and sponsors by those of a document. A row with the ID or name of an existing row
 * updates that row, other rows are new, and rows that the document lacks are deleted. Call with the event locked; renew it afterwards.
 * @throws ApiError 422 with all issues, 422 `plan_limit`; 409 `event_has_ballots` if a deleted candidate's registration was paid
 */
async function applyDefinition(
  tx: Transaction,
  deps: TopUpDeps,
  organizer: Organizer,
  event: VotingEvent,
  definition: EventDefinition,
): Promise<void> {
  const before = await listParts(tx, event.id);
  // Registrations do not count against the cap, so an event can have more rows than the cap. Its document can be sent back.
  const mostOf = (kind: Kind): number => Math.max(CAPS[kind], before[kind].length);
  for (const kind of CAPPED)
    if (definition[kind].length > mostOf(kind)) throw planLimit(`${kind}_per_event`, mostOf(kind));
  requireRoomForCandidates(definition, before);
  const issues = rowIssues(definition, before.candidates);
  const ids = await matchDefinition(definition, before);
  const offered = new Map(before.positions.map(({ id, quadraticTopUp }) => [id, quadraticTopUp]));
  for (const [index, { id, quadraticTopUp = null }] of definition.positions.entries()) {
    // The offer that a position has can be sent back, even if the plan or the payment business does not allow it any more.
    if (event.type === 'poll' && isDeepStrictEqual(offered.get(ids.positions.get(id) ?? ''), quadraticTopUp)) continue;
    requireTopUp(deps, organizer, quadraticTopUp);
    issues.push(...within(index, await topUpIssues(tx, deps, event, quadraticTopUp)));
  }
  if (issues.length > 0) throw new OfRows(validationError(issues));
  await writeRows(tx, deps, event.id, definition, before, ids);
}

/**
 * Requires room for candidates (contract, "Limits"). The cap applies to the organizer's candidates, and to all that stand; other
 * registrations do not count. An event that already has more may keep as many, so that its document can be sent back.
 */
function requireRoomForCandidates(definition: EventDefinition, before: Parts): void {
  const registered = new Set(before.candidates.flatMap(({ id, source }) => (source === 'registration' ? [id] : [])));
  type Counted = Pick<EventDefinition['candidates'][number], 'id' | 'status'>;
  const isOrganizers = ({ id }: Counted) => !registered.has(id);
  const stands = ({ status = 'approved' }: Counted) => isStanding(status);
  for (const counts of [isOrganizers, stands])
    if (
      definition.candidates.filter(counts).length > Math.max(CAPS.candidates, before.candidates.filter(counts).length)
    )
      throw planLimit('candidates_per_event', CAPS.candidates);
}

/** Carries the issues of a document's rows. Their paths already start at the document, unlike those of the event's own issues. */
class OfRows extends Error {
  readonly issues: ApiError;

  constructor(issues: ApiError) {
    super(issues.message);
    this.issues = issues;
  }
}

/** A document in which each referendum without an approved candidate gets Yes, No and Abstain, as by `giveOptions`, if it sets a start. */
function withOptions({ ids }: Pick<TopUpDeps, 'ids'>, definition: EventDefinition): EventDefinition {
  const { event, positions } = definition;
  if (event.startsAt == null) return definition;
  const standing = definition.candidates.filter(({ status = 'approved' }) => status === 'approved');
  const filled = new Set(standing.flatMap(({ positionIds }) => positionIds));
  const bare = positions.filter(({ id, votingMethod }) => votingMethod === 'referendum' && !filled.has(id));
  const options = bare.flatMap(({ id }) => optionsOf(event.language ?? 'en', id));
  const added = options.map((option) => ({ ...option, id: ids.sortable(PREFIXES.candidates) }));
  return { ...definition, candidates: [...definition.candidates, ...added] };
}

async function writeRows(
  tx: Transaction,
  deps: TopUpDeps,
  eventId: string,
  definition: EventDefinition,
  before: Parts,
  ids: Awaited<ReturnType<typeof matchDefinition>>,
): Promise<void> {
  const nowMs = deps.clock.now();
  for (const kind of CAPPED)
    for (const { id } of definition[kind]) ids[kind].getOrInsertComputed(id, () => deps.ids.sortable(PREFIXES[kind]));
  const idOf = (kind: Kind, id: string): string => ids[kind].get(id) ?? id;
  const groupOf = (id: string | null | undefined): string | null => (id == null ? null : idOf('groups', id));
  const goneOf = (kind: Kind): string[] => {
    const kept = new Set(ids[kind].values());
    return before[kind].map(({ id }) => id).filter((id) => !kept.has(id));
  };
  const candidateIds = goneOf('candidates');
  if (candidateIds.length > 0 && (await isAnyCandidatePaidFor(tx, eventId, candidateIds)))
    throw refuse('paid_registrations');
  if (await isPaidFor(tx, eventId, [...goneOf('positions'), ...goneOf('groups')])) throw refuse('paid_registration');
  // A draft has no ballots that name a number, so the numbers of deleted rows are free again.
  const numbersIn = (kind: 'positions' | 'candidates') => {
    const kept = new Set(ids[kind].values());
    return new Map(before[kind].flatMap(({ id, number }) => (kept.has(id) ? [[id, number]] : [])));
  };
  const numbers = { positions: numbersIn('positions'), candidates: numbersIn('candidates') };
  const last = {
    positions: Math.max(0, ...numbers.positions.values()),
    candidates: Math.max(0, ...numbers.candidates.values()),
  };
  const numberOf = (kind: 'positions' | 'candidates', id: string): number => {
    const known = numbers[kind].get(id);
    if (known !== undefined) return known;
    last[kind] += 1;
    return last[kind];
  };
  const common = (kind: Kind, id: string) => ({
    votingEventId: eventId,
    id: idOf(kind, id),
    createdAt: nowMs,
    updatedAt: nowMs,
  });
  await tx.update(groups).set({ nameKey: null }).where(eq(groups.votingEventId, eventId));
  const rows = {
    groups: definition.groups.map((group) => ({
      ...group,
      ...common('groups', group.id),
      nameKey: nameKeyOf(group.name),
    })),
    positions: definition.positions.map((position, index) => ({
      ...position,
      ...settle(position.votingMethod, givenOf(position), undefined),
      ...common('positions', position.id),
      groupId: groupOf(position.groupId),
      sortOrder: position.sortOrder ?? index,
      tieBreak: position.tieBreak ?? ('joint' as const),
      number: numberOf('positions', idOf('positions', position.id)),
    })),
    candidates: definition.candidates.map((candidate, index) => ({
      ...candidate,
      ...common('candidates', candidate.id),
      positionIds: candidate.positionIds.map((id) => idOf('positions', id)),
      groupId: groupOf(candidate.groupId),
      status: candidate.status ?? ('approved' as const),
      source: 'organizer' as const,
      sortOrder: candidate.sortOrder ?? index,
      number: numberOf('candidates', idOf('candidates', candidate.id)),
    })),
    sponsors: definition.sponsors.map((sponsor, index) => ({
      ...sponsor,
      ...common('sponsors', sponsor.id),
      sortOrder: sponsor.sortOrder ?? index,
    })),
  };
  requireCandidateNumber(last.candidates);
  const keptGroups = rows.groups.map(({ id }) => id);
  await tx
    .update(groups)
    .set({ deletedAt: nowMs })
    .where(and(eq(groups.votingEventId, eventId), notInArray(groups.id, keptGroups), isNull(groups.deletedAt)));
  // The job also removes voters from the deleted groups, and renews the MACs of their rows.
  await enqueue(tx, REMOVE_DELETED_ROWS, { kind: 'groups', eventId });
  await replace(tx, eventId, groups, rows.groups);
  await replace(tx, eventId, positions, rows.positions);
  await replace(tx, eventId, candidates, rows.candidates);
  await replace(tx, eventId, sponsors, rows.sponsors);
  await updateEvent(tx, eventId, { lastPositionNumber: last.positions, lastCandidateNumber: last.candidates });
}

type Table = typeof groups | typeof positions | typeof candidates | typeof sponsors;

/** Rows per statement: a thousand candidates can have 20 MB, and serialising them at once would block the event loop. */
const WRITTEN_TOGETHER = 100;

/** Columns that an update never changes: no document sets them. */
const LASTING = new Set([
  ...['votingEventId', 'id', 'number', 'source', 'createdAt'],
  ...['paymentAttemptId', 'rehearsal', 'deletedAt'],
]);

/** Columns that a document does not contain: a difference in them alone does not change the row's `updatedAt`. */
const OWN = new Set(['updatedAt', 'nameKey']);

/** Upserts rows by ID and deletes the event's other rows, except groups, which the caller has marked as deleted. */
async function replace<Rows extends Table>(
  tx: Transaction,
  eventId: string,
  table: Rows,
  rows: readonly Rows['$inferInsert'][],
): Promise<void> {
  const kept = rows.map(({ id }) => id);
  const own = eq(table.votingEventId, eventId);
  if (table !== groups) await tx.delete(table).where(and(own, notInArray(table.id, kept)));
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => !LASTING.has(name));
  const given = (column: { readonly name: string }) => `excluded.${column.name}`;
  const stored = (column: { readonly name: string }) => `${getTableName(table)}.${column.name}`;
  const said = columns.flatMap(([name, column]) => (OWN.has(name) ? [] : [column]));
  const isNew = `(${said.map(stored).join()}) IS DISTINCT FROM (${said.map(given).join()})`;
  const updatedAt = sql.raw(`CASE WHEN ${isNew} THEN ${given(table.updatedAt)} ELSE ${stored(table.updatedAt)} END`);
  const set = {
    ...Object.fromEntries(columns.map(([name, column]) => [name, sql.raw(given(column))])),
    updatedAt,
  };
  for (let from = 0; from < rows.length; from += WRITTEN_TOGETHER)
    await tx
      .insert(table)
      .values(rows.slice(from, from + WRITTEN_TOGETHER) as never)
      .onConflictDoUpdate({ target: [table.votingEventId, table.id], set: set as never });
}

/** Rethrows validation errors of the event with paths inside the document, together with all issues of the rows. */
const inDocument =
  (definition: EventDefinition) =>
  (fault: unknown): never => {
    if (fault instanceof OfRows) throw fault.issues;
    if (!(fault instanceof ApiError) || fault.code !== 'validation_error') throw fault;
    const issues = (fault.details?.['issues'] ?? []) as readonly Issue[];
    const ofEvent = issues.map(({ field, message }) => ({ field: `event.${field}`, message }));
    throw ofEvent.length === 0 ? fault : validationError([...ofEvent, ...rowIssues(definition)]);
  };

/** Gives a draft a document's content (completions 10.6). @throws ApiError 409 `not_a_draft`, `event_has_ballots`, `code_in_use`; 422 */
export async function replaceDefinition(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  given: EventDefinition,
): Promise<{ readonly before: ReadDefinition; readonly after: ReadDefinition }> {
  const definition = withOptions(deps, given);
  const locked = await lockForChange(tx, organizer.event.id);
  if (statusAt(locked, locked.lockedAt) !== 'draft') throw refuse('not_a_draft');
  await guardChange(tx, locked, 'change_ballot_rules');
  await forgetIdleCredits(tx, locked.id);
  const before = await readDefinition(tx, locked, locked.lockedAt);
  // Write the rows before the event is checked: after its start, the event opens with the document's rows, not with the replaced rows.
  const updated = await updateVotingEvent(tx, deps, organizer, withDefaults(definition.event), async (event) => {
    await applyDefinition(tx, deps, organizer, event, definition);
    // The message about the event, which lists what the event lacks, needs the new definition.
    await renewBallotDefinition(tx, locked.id, locked.lockedAt);
  }).catch(inDocument(definition));
  const event = await renewBallotDefinition(tx, locked.id, Math.max(updated.updatedAt, locked.lockedAt));
  const after = await readDefinition(tx, event, locked.lockedAt);
  const changes = await differencesOf(locked.id, before, after);
  await requireUnpaid(tx, locked.id, changes);
  // A document without changes leaves no entry in the audit trail, and all times as they were.
  if (changes.length > 0) await recordDefinition(tx, deps, organizer, definition);
  else await updateEvent(tx, locked.id, { updatedAt: locked.updatedAt });
  await publishCandidates(tx, deps, event, before, changes);
  return { before, after };
}

/** @throws ApiError 409 if a document changes what a registration's payer pays for: a position, or the positions of the candidate */
async function requireUnpaid(tx: Transaction, eventId: string, changes: readonly Difference[]): Promise<void> {
  const idsOf = (kind: Difference['kind'], matters: (field: string) => boolean): string[] =>
    changes.flatMap(({ id, after, ...change }) =>
      change.kind === kind && change.action === 'updated' && Object.keys(after ?? {}).some(matters) ? [id] : [],
    );
  const positionIds = idsOf('position', (field) => field !== 'description');
  const candidateIds = idsOf('candidate', (field) => field === 'positionIds');
  const isPaid =
    (positionIds.length > 0 && (await isPaidFor(tx, eventId, positionIds))) ||
    (candidateIds.length > 0 && (await isAnyCandidatePaidFor(tx, eventId, candidateIds)));
  if (isPaid) throw refuse('paid_registration');
}

/** Publishes the candidates that a document has created, updated or deleted. */
async function publishCandidates(
  tx: Transaction,
  deps: TopUpDeps,
  event: VotingEvent,
  before: ReadDefinition,
  changes: readonly Difference[],
): Promise<void> {
  const ofCandidates = changes.filter(({ kind }) => kind === 'candidate');
  if (ofCandidates.length === 0) return;
  const idsOf = (made: Difference['action']) =>
    new Set(ofCandidates.flatMap(({ action, id }) => (action === made ? [id] : [])));
  const gone = idsOf('deleted');
  const named = before.candidates.flatMap(({ id, name }) => (gone.has(id) ? [{ id, name }] : []));
  await publish(tx, deps, aboutOf(event), 'candidate.deleted', named);
  const candidates = await listCandidates(tx, event.id);
  for (const action of ['created', 'updated'] as const) {
    const ids = idsOf(action);
    const told = candidates.filter(({ id }) => ids.has(id)).map(viewCandidate);
    await publish(tx, deps, aboutOf(event), `candidate.${action}`, told);
  }
}

/** Creates an event from a document (completions 10.6). @throws ApiError 422; 409 `code_in_use`; 422 `plan_limit` */
export async function createFromDefinition(
  tx: Transaction,
  deps: EventDeps,
  caller: Caller,
  given: EventDefinition,
): Promise<VotingEvent> {
  const definition = withOptions(deps, given);
  const create = createEvent(tx, deps, caller, definition.event, async (event) => {
    const organizer = ownerOf(caller, event);
    await applyDefinition(tx, deps, organizer, event, definition);
    await recordDefinition(tx, deps, organizer, definition);
    return renewBallotDefinition(tx, event.id, deps.clock.now());
  });
  return create.catch(inDocument(definition));
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
  const trial = { ...deps, ballotKeys: deps.ballotKeys.onTrial() };
  let differences: Difference[] = [];
  try {
    await inTransaction(db, async (tx) => {
      const { before, after } = await replaceDefinition(tx, trial, organizer, definition);
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
  definition: EventDefinition,
): Promise<void> {
  const after = Object.fromEntries(CAPPED.map((kind) => [kind, definition[kind].length]));
  await recordChange(tx, deps, changeBy(organizer, 'voting_event.defined', organizer.event.id, { after }));
}
