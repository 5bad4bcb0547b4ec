import { type PlanName, type Plans, planLimit } from '#src/accounts/plans.ts';
import { recordChange } from '#src/accounts/record-change.ts';
import { listGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import { type Executor, type Transaction, violatedConstraint } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { type IsFaulty, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import type { Clock } from '#src/platform/clock.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { type ApiError, type Issue, notFound, validationError } from '#src/platform/errors.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { lifeRefusal } from '#src/voting-events/life.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { findTaken, insertVoters, type NewVoter, takeVotersFromPlan } from './repository.ts';
import { TAKEN, type Voter, type VoterInput, viewVoter } from './voter.ts';
import { identityIssues } from './voter-identity.ts';

export interface VoterDeps {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly plans: Plans;
}

/** How a field of row `index` is called in an answer: `voters[3].email` in a batch, `email` alone. */
type FieldName = (index: number, field: string) => string;

export const batchField: FieldName = (index, field) => `voters[${index}].${field}`;
export const singleField: FieldName = (_index, field) => field;

/** What is wrong with a row beyond its shape. @param isFaulty names what was sent in a wrong form: it is not missing */
export function rowIssues(
  event: VotingEvent,
  row: SoundParts<VoterInput>,
  groupIds: ReadonlySet<string>,
  name: (field: string) => string,
  isFaulty = NOTHING_FAULTY,
): Issue[] {
  const given = { voterId: row.voterId ?? undefined, email: row.email ?? undefined };
  const isFieldFaulty: IsFaulty = (field) => isFaulty(name(field));
  const issues = identityIssues(event, given, isFieldFaulty).map((issue) => ({ ...issue, field: name(issue.field) }));
  if (row.groupId != null && !groupIds.has(row.groupId))
    issues.push({ field: name('groupId'), message: 'is not a group of this event' });
  return issues;
}

/** What is wrong with the values of rows whose form is wrong elsewhere. */
export async function judgeRowParts(
  executor: Executor,
  event: VotingEvent,
  rows: readonly (SoundParts<VoterInput> | undefined)[],
  name: FieldName,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const sent = rows.map((row) => row ?? {});
  const groupIds = await groupsFor(executor, event, sent);
  return sent.flatMap((row, index) =>
    rows[index] === undefined ? [] : rowIssues(event, row, groupIds, (field) => name(index, field), isFaulty),
  );
}

/** The groups that rows may name; looked up only where one names a group. */
export async function groupsFor(
  executor: Executor,
  event: VotingEvent,
  rows: readonly SoundParts<VoterInput>[],
): Promise<ReadonlySet<string>> {
  return rows.some((row) => row.groupId != null) ? await listGroupIds(executor, event.id) : new Set();
}

/** The row that a voter becomes. */
export function newVoter(deps: VoterDeps, event: VotingEvent, input: VoterInput, { source, status }: NewVoterSource) {
  const nowMs = deps.clock.now();
  return {
    votingEventId: event.id,
    id: deps.ids.sortable('vtr'),
    name: input.name,
    email: input.email ?? null,
    emailKey: input.email == null ? null : emailKey(input.email),
    voterId: input.voterId ?? null,
    voterIdKey: input.voterId ?? null,
    groupId: input.groupId ?? null,
    weightMicro: input.weight ?? MICRO,
    status: input.status ?? status,
    source,
    keyStatus: 'none',
    createdAt: nowMs,
    updatedAt: nowMs,
  } satisfies NewVoter;
}

/** A 409 that names every row whose e-mail or voter ID stands in the event, or earlier in the same batch. */
function duplicates(
  rows: readonly NewVoter[],
  taken: { emails: ReadonlySet<string | null>; voterIds: ReadonlySet<string | null> },
  name: FieldName,
): ApiError {
  const seenEmails = new Set(taken.emails);
  const seenIds = new Set(taken.voterIds);
  const issues: Issue[] = [];
  rows.forEach((row, index) => {
    if (row.emailKey != null && seenEmails.has(row.emailKey))
      issues.push({ field: name(index, 'email'), message: TAKEN });
    if (row.voterIdKey != null && seenIds.has(row.voterIdKey))
      issues.push({ field: name(index, 'voterId'), message: TAKEN });
    seenEmails.add(row.emailKey ?? null);
    seenIds.add(row.voterIdKey ?? null);
    seenEmails.delete(null);
    seenIds.delete(null);
  });
  const first = issues[0];
  const shown = issues.slice(0, 50);
  return first === undefined
    ? refuse('voter_just_added', { issues: shown })
    : refuse('voter_exists', { field: first.field, issues: shown });
}

interface NewVoterSource {
  readonly source: 'organizer' | 'registration';
  readonly status: 'approved' | 'pending';
}

/**
 * Takes room for voters from the plan of the event's account. Registrations have a ceiling of their own, as high as the
 * plan's: however many strangers register, the organizer's voters find room. The last step of a transaction that adds them:
 * all that add to the same event wait from here to the commit.
 * @throws ApiError 409 `event_closed`, 422 `plan_limit`: both undo what was added
 */
export async function takeRoomForVoters(
  tx: Transaction,
  { plans }: Pick<VoterDeps, 'plans'>,
  event: VotingEvent,
  plan: PlanName,
  place: 'organizer' | 'registration',
  count: number,
): Promise<void> {
  const limit = plans[plan].votersPerEvent;
  const room = await takeVotersFromPlan(tx, event.id, place, count, limit);
  if (room === 'closed') throw lifeRefusal('event_closed');
  if (room === 'full')
    throw planLimit(place === 'registration' ? 'voter_registrations_per_event' : 'voters_per_event', limit);
}

/**
 * Adds voters, all or none (completions 3, "Voters"). Room for them is taken by the caller, at the end.
 * @throws ApiError 422 naming each bad row, 409 naming each duplicate
 */
export async function addVoters(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  inputs: readonly VoterInput[],
  source: NewVoterSource,
  name: FieldName,
): Promise<Voter[]> {
  const groupIds = await groupsFor(tx, event, inputs);
  const issues = inputs.flatMap((row, index) => rowIssues(event, row, groupIds, (field) => name(index, field)));
  if (issues.length > 0) throw validationError(issues);
  const rows = inputs.map((input) => newVoter(deps, event, input, source));
  const inserted = await insertIntoEvent(tx, rows);
  if (inserted.size < rows.length) {
    const others = rows.filter((row) => !inserted.has(row.id));
    const mine = new Set(rows.filter((row) => inserted.has(row.id)).flatMap((row) => [row.emailKey, row.voterIdKey]));
    const emails = others.flatMap((row) => (row.emailKey === null ? [] : [row.emailKey]));
    const voterIds = others.flatMap((row) => (row.voterIdKey === null ? [] : [row.voterIdKey]));
    const found = await findTaken(tx, event.id, emails, voterIds);
    // Those this very batch inserted are not taken: their second mention in the batch is the duplicate.
    throw duplicates(rows, { emails: found.emails.difference(mine), voterIds: found.voterIds.difference(mine) }, name);
  }
  return publishVoters(tx, deps, event, rows);
}

/** @throws ApiError 404 where the event was deleted meanwhile */
async function insertIntoEvent(tx: Transaction, rows: readonly NewVoter[]): Promise<Set<string>> {
  try {
    return await insertVoters(tx, rows);
  } catch (fault) {
    if (violatedConstraint(fault) === 'voters_voting_event_id_voting_events_id_fk') throw notFound();
    throw fault;
  }
}

/** Publishes voters that were just inserted, and returns them as they are. */
async function publishVoters(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  rows: readonly ReturnType<typeof newVoter>[],
): Promise<Voter[]> {
  const voters = rows.map(({ emailKey: _email, voterIdKey: _id, ...row }) => ({
    ...row,
    ...{ hasVoted: false, approvedByKey: false, disclosed: true },
  }));
  const about = { accountId: event.accountId, votingEventId: event.id };
  await publish(tx, deps, about, 'voter.created', voters.map(viewVoter));
  return voters;
}

/** The actor who adds voters: an organizer, or the operator, who has no key. */
export type VoterAuthor = Pick<Organizer, 'event' | 'ownerPlan'> & {
  readonly caller: { readonly keyId: string | null };
};

/** The organizer's own voters: approved at once unless said otherwise. */
export async function createVoters(
  tx: Transaction,
  deps: VoterDeps,
  author: VoterAuthor,
  inputs: readonly VoterInput[],
  name: FieldName,
): Promise<Voter[]> {
  const source: NewVoterSource = { source: 'organizer', status: 'approved' };
  const voters = await addVoters(tx, deps, author.event, inputs, source, name);
  await recordCreation(tx, deps, author, voters);
  await takeRoomForVoters(tx, deps, author.event, author.ownerPlan, 'organizer', voters.length);
  return voters;
}

async function recordCreation(
  tx: Transaction,
  deps: VoterDeps,
  author: VoterAuthor,
  voters: readonly Voter[],
): Promise<void> {
  await recordChange(tx, deps, {
    accountId: author.event.accountId,
    votingEventId: author.event.id,
    keyId: author.caller.keyId,
    action: voters.length === 1 ? 'voter.created' : 'voters.created',
    resource: voters[0]?.id ?? author.event.id,
    after: summaryOf(voters),
  });
}

/** Publishes and audits the organizer's voters that were just inserted. */
export async function tellOfVoters(
  tx: Transaction,
  deps: VoterDeps,
  author: VoterAuthor,
  rows: readonly ReturnType<typeof newVoter>[],
): Promise<void> {
  if (rows.length > 0) await recordCreation(tx, deps, author, await publishVoters(tx, deps, author.event, rows));
}

/** One voter as it is; of many, how many and the first and last: their IDs sort by creation. */
function summaryOf(voters: readonly Voter[]): Record<string, unknown> {
  const [first] = voters;
  if (first === undefined || voters.length > 1) {
    return { count: voters.length, first: first?.id ?? null, last: voters.at(-1)?.id ?? null };
  }
  const { name, email, voterId, groupId, weight, status } = viewVoter(first);
  return { name, email, voterId, groupId, weight, status };
}
