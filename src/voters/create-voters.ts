import { type PlanName, type Plans, planLimit } from '#src/accounts/plans.ts';
import { recordChange } from '#src/accounts/record-change.ts';
import { listGroupIds } from '#src/ballot-paper/list-group-ids.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { ApiError, type Issue, validationError } from '#src/platform/errors.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { announce } from '#src/webhooks/record-event.ts';
import { findTaken, insertVoters, type NewVoter, takeVotersFromPlan } from './repository.ts';
import type { VoterInput } from './schemas.ts';
import type { Voter } from './types.ts';
import { viewVoter } from './views.ts';

export interface VoterDeps {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly plans: Plans;
}

/** How a field of row `index` is called in an answer: `voters[3].email` in a batch, `email` alone. */
type FieldName = (index: number, field: string) => string;

export const batchField: FieldName = (index, field) => `voters[${index}].${field}`;
export const singleField: FieldName = (_index, field) => field;

function issuesOf(
  event: VotingEvent,
  rows: readonly VoterInput[],
  groupIds: ReadonlySet<string>,
  name: FieldName,
): Issue[] {
  return rows.flatMap((row, index) => {
    const issues: Issue[] = [];
    if (event.requireVoterId && row.voterId == null)
      issues.push({ field: name(index, 'voterId'), message: 'is required: this event requires voter IDs' });
    else if (row.email == null && row.voterId == null)
      issues.push({ field: name(index, 'email'), message: 'is required where there is no voterId' });
    if (row.groupId != null && !groupIds.has(row.groupId))
      issues.push({ field: name(index, 'groupId'), message: 'is not a group of this event' });
    return issues;
  });
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
      issues.push({ field: name(index, 'email'), message: 'is already used by another voter of this event' });
    if (row.voterIdKey != null && seenIds.has(row.voterIdKey))
      issues.push({ field: name(index, 'voterId'), message: 'is already used by another voter of this event' });
    seenEmails.add(row.emailKey ?? null);
    seenIds.add(row.voterIdKey ?? null);
    seenEmails.delete(null);
    seenIds.delete(null);
  });
  const first = issues[0];
  return new ApiError(
    'conflict',
    first === undefined ? 'A voter with this e-mail or voter ID was just added.' : `${first.field}: ${first.message}`,
    {
      reason: 'voter_exists',
      ...(first === undefined ? {} : { field: first.field }),
      issues: issues.slice(0, 50),
    },
  );
}

export interface NewVoterSource {
  readonly source: 'organizer' | 'registration';
  readonly status: 'approved' | 'pending';
  /** The plan of the event's account. */
  readonly plan: PlanName;
}

/**
 * Adds voters, all or none (completions 3, "Voters").
 * @throws ApiError 422 naming each bad row, 409 naming each duplicate, 422 `plan_limit`
 */
export async function addVoters(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  inputs: readonly VoterInput[],
  source: NewVoterSource,
  name: FieldName,
): Promise<Voter[]> {
  const wanted = inputs.flatMap((row) => (row.groupId == null ? [] : [row.groupId]));
  const issues = issuesOf(event, inputs, wanted.length === 0 ? new Set() : await listGroupIds(tx, event.id), name);
  if (issues.length > 0) throw validationError(issues);
  const limit = deps.plans[source.plan].votersPerEvent;
  if (!(await takeVotersFromPlan(tx, event.id, inputs.length, limit))) throw planLimit('voters_per_event', limit);
  const nowMs = deps.clock.now();
  const rows = inputs.map(
    (input) =>
      ({
        votingEventId: event.id,
        id: deps.ids.sortable('vtr'),
        name: input.name,
        email: input.email ?? null,
        emailKey: input.email == null ? null : emailKey(input.email),
        voterId: input.voterId ?? null,
        voterIdKey: input.voterId ?? null,
        groupId: input.groupId ?? null,
        weightMicro: input.weight ?? MICRO,
        status: input.status ?? source.status,
        source: source.source,
        keyStatus: 'none',
        createdAt: nowMs,
        updatedAt: nowMs,
      }) satisfies NewVoter,
  );
  const inserted = await insertVoters(tx, rows);
  if (inserted.size < rows.length) {
    const others = rows.filter((row) => !inserted.has(row.id));
    const mine = new Set(rows.filter((row) => inserted.has(row.id)).flatMap((row) => [row.emailKey, row.voterIdKey]));
    const emails = others.flatMap((row) => (row.emailKey === null ? [] : [row.emailKey]));
    const voterIds = others.flatMap((row) => (row.voterIdKey === null ? [] : [row.voterIdKey]));
    const found = await findTaken(tx, event.id, emails, voterIds);
    // Those this very batch inserted are not taken: their second mention in the batch is the duplicate.
    throw duplicates(rows, { emails: found.emails.difference(mine), voterIds: found.voterIds.difference(mine) }, name);
  }
  const voters = rows.map(({ emailKey: _email, voterIdKey: _id, ...row }) => ({ ...row, hasVoted: false }));
  const about = { accountId: event.accountId, votingEventId: event.id };
  await announce(tx, deps, about, 'voter.created', voters.map(viewVoter));
  return voters;
}

/** Who adds voters: an organizer, or the operator, who has no key. */
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
  const source: NewVoterSource = { source: 'organizer', status: 'approved', plan: author.ownerPlan };
  const voters = await addVoters(tx, deps, author.event, inputs, source, name);
  await recordChange(tx, deps, {
    accountId: author.event.accountId,
    votingEventId: author.event.id,
    keyId: author.caller.keyId,
    action: voters.length === 1 ? 'voter.created' : 'voters.created',
    resource: voters[0]?.id ?? author.event.id,
    after: summaryOf(voters),
  });
  return voters;
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
