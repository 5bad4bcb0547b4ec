import { and, eq, inArray, or, sql } from 'drizzle-orm';
import type { Hono } from 'hono';
import { z } from 'zod';
import { recordChange } from '#src/accounts/changes.ts';
import type { Plans } from '#src/accounts/plans.ts';
import { listGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import { type ArrayElement, binaryArray, type ElementType } from '#src/database/binary-array.ts';
import { type Executor, type Transaction, violatedConstraint } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { answersCreated } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { noOtherMethod } from '#src/http/find-operation.ts';
import { operation } from '#src/http/operation.ts';
import { refuse } from '#src/http/refusals.ts';
import { takeIdempotencyKey } from '#src/http/replay.ts';
import { type IsFaulty, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import type { Clock } from '#src/platform/clock.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { type ApiError, type Issue, notFound, validationError } from '#src/platform/errors.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { loadEvent, type Organizer } from '#src/voting-events/access.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import type { NewVoter } from './repository.ts';
import { noteRoll } from './roll-sum.ts';
import { voters } from './tables.ts';
import {
  createVoterBody,
  createVotersBody,
  TAKEN,
  type Voter,
  type VoterInput,
  viewVoter,
  voterView,
} from './voter.ts';
import { identityIssues } from './voter-identity.ts';
import { takeRoomForVoters } from './voter-places.ts';
import { tagOfVoter } from './voter-tag.ts';

export interface VoterDeps {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly plans: Plans;
  readonly secrets: Secrets;
  readonly ballotKeys: Pick<BallotKeys, 'requirePlaces'>;
}

/** How a field of row `index` is called in an answer: `voters[3].email` in a batch, `email` alone. */
type FieldName = (index: number, field: string) => string;

export const batchField: FieldName = (index, field) => `voters[${index}].${field}`;
export const singleField: FieldName = (_index, field) => field;

export const ROLL_REFUSALS = ['voter_exists', 'roll_closed', 'plan_limit', 'ballot_key_unavailable'] as const;

/** Both ways to create voters: one, or up to 100. */
export function addCreateVoters(router: Hono<Env>, deps: Deps): void {
  const event = loadEvent(deps);
  const createBody = body(createVoterBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgeRowParts(deps.db, of, [sent], singleField, isFaulty),
  );
  const batchBody = body(createVotersBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgeRowParts(deps.db, of, sent.voters ?? [], batchField, isFaulty),
  );
  router.on(
    ...operation({
      operationId: 'createVoter',
      summary: 'Create a voter',
      method: 'POST',
      path: '/',
      scope: 'write',
      answers: answersCreated(voterView, 'The new voter.'),
      refusals: [...ROLL_REFUSALS],
      example: { name: 'Vera Okafor', email: 'vera@club.example' },
    }),
    event,
    takeIdempotencyKey(),
    createBody,
    (c) =>
      change(c, async (tx) => {
        const [row] = await createVoters(tx, deps, c.get('target'), [c.get('body')], singleField);
        return created(row === undefined ? null : viewVoter(row));
      }),
  );
  router.on(
    ...operation({
      operationId: 'createVoters',
      summary: 'Create up to 100 voters, all or none',
      method: 'POST',
      path: '/batch',
      scope: 'write',
      description: 'One bad or duplicate row refuses them all, and is named as `voters[<index>].<field>`.',
      answers: answersCreated(z.array(voterView), 'The new voters, in the order sent.'),
      refusals: [...ROLL_REFUSALS],
      example: {
        voters: [
          { name: 'Vera Okafor', email: 'vera@club.example' },
          { name: 'Tomás Ruiz', voterId: 'M-1042', weight: 1.5 },
        ],
      },
    }),
    event,
    takeIdempotencyKey(),
    batchBody,
    (c) =>
      change(c, async (tx) =>
        created((await createVoters(tx, deps, c.get('target'), c.get('body').voters, batchField)).map(viewVoter)),
      ),
  );
  router.all('/batch', noOtherMethod);
}

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

/** Also judges the values of rows whose shape was refused, so that one answer names all faults. */
async function judgeRowParts(
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
  const row = {
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
    keyGeneration: 0,
    letters: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  } satisfies NewVoter;
  return { ...row, tag: tagOfVoter(deps.secrets, row) };
}

/**
 * Inserts voters, leaving out those whose e-mail or voter ID is taken. Returns the IDs that were inserted.
 * One array a column: a parameter a value would cost several times as much for each row.
 * @throws ApiError 500 `ballot_key_unavailable`
 */
export async function insertVoters(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  rows: readonly ReturnType<typeof newVoter>[],
) {
  if (event.type === 'election') await deps.ballotKeys.requirePlaces();
  const column = (type: ElementType, value: (row: NewVoter) => ArrayElement | undefined) =>
    sql`${sql.param(
      binaryArray(
        type,
        rows.map((row) => value(row) ?? null),
      ),
    )}::${sql.raw(type)}[]`;
  const texts = (value: (row: NewVoter) => string | null | undefined) => column('text', value);
  const numbers = (value: (row: NewVoter) => number | bigint) => column('bigint', value);
  const { rows: inserted } = await tx.execute<{ id: string }>(sql`
    INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, group_id, weight_micro, status,
      source, key_status, created_at, updated_at, tag)
    SELECT * FROM unnest(${texts((row) => row.votingEventId)}, ${texts((row) => row.id)}, ${texts((row) => row.name)},
      ${texts((row) => row.email)}, ${texts((row) => row.emailKey)}, ${texts((row) => row.voterId)},
      ${texts((row) => row.voterIdKey)}, ${texts((row) => row.groupId)}, ${numbers((row) => row.weightMicro)},
      ${texts((row) => row.status)}, ${texts((row) => row.source)}, ${texts((row) => row.keyStatus)},
      ${numbers((row) => row.createdAt)}, ${numbers((row) => row.updatedAt)}, ${column('bytea', (row) => row.tag)})
    ON CONFLICT DO NOTHING RETURNING id`);
  const ids = new Set(inserted.map((row) => row.id));
  // A registration of a rehearsal goes with it.
  const isRehearsed = (row: NewVoter): boolean => event.rehearsalSince !== null && row.source === 'registration';
  const noted = rows.filter((row) => ids.has(row.id) && !isRehearsed(row));
  await noteRoll(tx, deps.secrets, event.id, noted, []);
  return ids;
}

/** Which of these e-mails and voter IDs the event already has. */
export async function findTaken(tx: Executor, eventId: string, emails: string[], voterIds: string[]) {
  const rows = await tx
    .select({ emailKey: voters.emailKey, voterIdKey: voters.voterIdKey })
    .from(voters)
    .where(
      and(
        eq(voters.votingEventId, eventId),
        or(
          inArray(voters.emailKey, emails.length > 0 ? emails : ['']),
          inArray(voters.voterIdKey, voterIds.length > 0 ? voterIds : ['']),
        ),
      ),
    );
  return { emails: new Set(rows.map((row) => row.emailKey)), voterIds: new Set(rows.map((row) => row.voterIdKey)) };
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
  const inserted = await insertIntoEvent(tx, deps, event, rows);
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
export async function insertIntoEvent(...of: Parameters<typeof insertVoters>): Promise<Set<string>> {
  try {
    return await insertVoters(...of);
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
  const voters = rows.map((row) => ({
    ...row,
    keyUsed: false,
    hasVoted: false,
    approvedByKey: false,
    disclosed: true,
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
export async function recordVoters(
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
