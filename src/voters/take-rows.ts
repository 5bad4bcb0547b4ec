import { and, eq, getTableColumns, inArray, or, sql } from 'drizzle-orm';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { type PlanName, planLimit } from '#src/accounts/plans.ts';
import { holdGroupIds, listGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import { binaryArray, type ElementType } from '#src/database/binary-array.ts';
import {
  type Executor,
  isTrue,
  readNumber,
  type Transaction,
  valuesOf,
  violatedConstraint,
} from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { type IsFaulty, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { type Issue, notFound, validationError } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { lifeRefusal } from '#src/voting-events/lifecycle.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import type { NewVoter } from './repository.ts';
import { noteRoll } from './roll-sum.ts';
import { voters } from './tables.ts';
import { TAKEN, type Voter, type VoterInput, viewVoter } from './voter.ts';
import { identityIssues } from './voter-identity.ts';
import { tagOfVoter } from './voter-tag.ts';

export type VoterDeps = Pick<Deps, 'ids' | 'clock' | 'plans' | 'secrets' | 'ballotKeys'>;

/** The name of a field of row `index` in an answer: `voters[3].email` in a batch, `email` for a single voter. */
export type FieldName = (index: number, field: string) => string;

export const batchField: FieldName = (index, field) => `voters[${index}].${field}`;
export const singleField: FieldName = (_index, field) => field;

/** Validates a row beyond its shape. @param isFaulty whether a field has a wrong shape, and so is not missing */
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

/** Whether some row names a group. Only then must the event's groups be read. */
export const namesGroup = (rows: readonly SoundParts<VoterInput>[]): boolean => rows.some((row) => row.groupId != null);

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
  return {
    ...row,
    tag: tagOfVoter(deps.secrets, row),
    keyUsed: false,
    hasVoted: false,
    approvedByKey: false,
    disclosed: true,
  };
}

const COLUMNS = getTableColumns(voters);
/** The columns of a new voter, besides the event. All other columns get their defaults. */
const INSERTED = [
  ...(['id', 'name', 'email', 'emailKey', 'voterId', 'voterIdKey', 'groupId', 'weightMicro'] as const),
  ...(['status', 'source', 'keyStatus', 'createdAt', 'updatedAt', 'tag'] as const),
];

/**
 * Inserts voters, except voters whose e-mail or voter ID is taken. Returns the inserted IDs.
 * Sends one array for each column, because one parameter for each value would cost several times as much per row.
 * @throws ApiError 404 if the event was deleted meanwhile, 500 `ballot_key_unavailable`
 */
export async function insertVoters(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  rows: readonly ReturnType<typeof newVoter>[],
) {
  if (event.type === 'election') await deps.ballotKeys.requirePlaces();
  const arrays = INSERTED.map((name) => {
    const type = COLUMNS[name].getSQLType() as ElementType;
    const values = rows.map((row) => row[name]);
    return sql`${sql.param(binaryArray(type, values))}::${sql.raw(type)}[]`;
  });
  const inserting = tx.execute<{ id: string }>(sql`
    INSERT INTO voters (voting_event_id, ${sql.raw(INSERTED.map((name) => COLUMNS[name].name).join(', '))})
    SELECT ${event.id}, r.* FROM unnest(${sql.join(arrays, sql`, `)}) AS r ON CONFLICT DO NOTHING RETURNING id`);
  const { rows: inserted } = await inserting.catch((fault: unknown) => {
    throw violatedConstraint(fault) === 'voters_voting_event_id_voting_events_id_fk' ? notFound() : fault;
  });
  const ids = new Set(inserted.map((row) => row.id));
  // The end of a rehearsal removes its registrations, so the roll's sum omits them.
  const isRehearsed = (row: NewVoter): boolean => event.rehearsalSince !== null && row.source === 'registration';
  const noted = rows.filter((row) => ids.has(row.id) && !isRehearsed(row));
  await noteRoll(tx, deps.secrets, event.id, noted, []);
  return ids;
}

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

interface NewVoterSource {
  readonly source: 'organizer' | 'registration';
  readonly status: 'approved' | 'pending';
}

/** Voters whom the organizer adds. They are approved at once, unless the row has another status. */
const BY_ORGANIZER: NewVoterSource = { source: 'organizer', status: 'approved' };

interface Taking {
  /** If set, all rows or none are added. It names the fields of a row in the refusal. */
  readonly atomic?: FieldName;
  readonly dryRun?: boolean;
}

/** A row and its issues. `voter` is set once the row is inserted, so never for a refused row or in a dry run. */
interface JudgedRow {
  readonly input: VoterInput;
  readonly emailKey: string | null;
  readonly voterId: string | null;
  readonly issues: Issue[];
  voter?: Voter;
}

const isRight = ({ issues }: JudgedRow): boolean => issues.length === 0;

/** Adds an issue to each row whose e-mail or voter ID belongs to a voter of the event or to an earlier valid row. */
async function judgeIdentities(tx: Transaction, eventId: string, rows: readonly JudgedRow[]): Promise<void> {
  const waiting = rows.filter(({ voter }) => voter === undefined);
  if (waiting.length === 0) return;
  const emails = waiting.flatMap(({ emailKey: key }) => key ?? []);
  const voterIds = waiting.flatMap(({ voterId }) => voterId ?? []);
  const taken = await findTaken(tx, eventId, emails, voterIds);
  for (const { voter, emailKey: key, voterId } of rows) {
    if (voter === undefined) continue;
    taken.emails.delete(key);
    taken.voterIds.delete(voterId);
  }
  for (const row of rows) {
    const { voter, emailKey: key, voterId, issues } = row;
    if (voter === undefined) {
      if (key !== null && taken.emails.has(key)) issues.push({ field: 'email', message: TAKEN });
      if (voterId !== null && taken.voterIds.has(voterId)) issues.push({ field: 'voterId', message: TAKEN });
      if (!isRight(row)) continue;
    }
    taken.emails.add(key);
    taken.voterIds.add(voterId);
  }
}

/**
 * Validates rows and inserts the valid ones, by the same rules for every route (completions 3, "Voters"). Afterwards the caller must
 * check the plan's limit (`takeRoomForVoters`).
 * @throws ApiError 404 if the event is gone; with `atomic`, 422 naming each bad row, 409 naming each duplicate
 */
export async function addVoters(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  inputs: readonly VoterInput[],
  source: NewVoterSource,
  { atomic, dryRun = false }: Taking,
): Promise<JudgedRow[]> {
  const list = dryRun ? listGroupIds : holdGroupIds;
  const groupIds = namesGroup(inputs) ? await list(tx, event.id) : new Set<string>();
  const judged = inputs.map(
    (input): JudgedRow => ({
      input,
      emailKey: input.email == null ? null : emailKey(input.email),
      voterId: input.voterId ?? null,
      issues: rowIssues(event, input, groupIds, (field) => field),
    }),
  );
  const issuesBy = (name: FieldName): Issue[] =>
    judged.flatMap(({ issues }, index) => issues.map(({ field, message }) => ({ field: name(index, field), message })));
  if (atomic !== undefined && !judged.every(isRight)) throw validationError(issuesBy(atomic));
  const sound = judged.filter(isRight);
  const made = dryRun ? [] : sound.map((row) => ({ row, voter: newVoter(deps, event, row.input, source) }));
  if (made.length > 0) {
    const news = made.map(({ voter }) => voter);
    const inserted = await insertVoters(tx, deps, event, news);
    for (const { row, voter } of made) if (inserted.has(voter.id)) row.voter = voter;
  }
  await judgeIdentities(tx, event.id, sound);
  const missed = dryRun ? [] : sound.filter(({ voter }) => voter === undefined);
  if (atomic !== undefined && missed.length > 0) {
    const issues = issuesBy(atomic);
    const [first] = issues;
    if (first === undefined) throw refuse('voter_just_added', { issues });
    throw refuse('voter_exists', { field: first.field, issues: issues.slice(0, 50) });
  }
  // Between the two statements, another request deleted the voter who had the same identity.
  for (const row of missed.filter(isRight))
    row.issues.push({ field: row.emailKey === null ? 'voterId' : 'email', message: TAKEN });
  await publish(tx, deps, aboutOf(event), 'voter.created', votersOf(sound).map(viewVoter));
  return judged;
}

export type VoterAuthor = Pick<Organizer, 'event' | 'ownerPlan'> & { readonly caller: { readonly keyId: string } };

/**
 * Validates the organizer's rows (one, a batch or an import), and inserts the valid ones. `dryRun` only validates.
 * @throws ApiError as `addVoters`; 409 `event_closed`, 422 `plan_limit` if the plan has no room for all valid rows
 */
export async function takeRows(
  tx: Transaction,
  deps: VoterDeps,
  author: VoterAuthor,
  inputs: readonly VoterInput[],
  how: Taking = {},
): Promise<JudgedRow[]> {
  const { event, ownerPlan } = author;
  const judged = await addVoters(tx, deps, event, inputs, BY_ORGANIZER, how);
  if (how.dryRun === true) {
    await requireRoomForVoters(tx, deps, event.id, ownerPlan, judged.filter(isRight).length);
    return judged;
  }
  const voters = votersOf(judged);
  if (voters.length > 0) {
    await recordCreation(tx, deps, author, voters);
    await requireCountableWeight(tx, event.id, voters);
    await takeRoomForVoters(tx, deps, event, ownerPlan, 'organizer');
  }
  return judged;
}

const votersOf = (judged: readonly JudgedRow[]): Voter[] => judged.flatMap(({ voter }) => voter ?? []);

/** Adds the organizer's own voters, all or none. @throws ApiError as `takeRows` */
export const createVoters = async (
  tx: Transaction,
  deps: VoterDeps,
  author: VoterAuthor,
  inputs: readonly VoterInput[],
  name: FieldName,
): Promise<Voter[]> => votersOf(await takeRows(tx, deps, author, inputs, { atomic: name }));

/** Records new voters in the audit trail, if there are any. */
export async function recordCreation(
  tx: Transaction,
  deps: VoterDeps,
  author: VoterAuthor,
  voters: readonly Voter[],
): Promise<void> {
  if (voters.length === 0) return;
  const action = voters.length === 1 ? 'voter.created' : 'voters.created';
  const resource = voters[0]?.id ?? author.event.id;
  await recordChange(tx, deps, changeBy(author, action, resource, { after: summaryOf(voters) }));
}

/** Summary for the audit record: the fields of a single voter; for several, their number, first and last ID (IDs sort by creation). */
function summaryOf(voters: readonly Voter[]): Record<string, unknown> {
  const [first] = voters;
  if (first === undefined || voters.length > 1) {
    return { count: voters.length, first: first?.id ?? null, last: voters.at(-1)?.id ?? null };
  }
  const { name, email, voterId, groupId, weight, status } = viewVoter(first);
  return { name, email, voterId, groupId, weight, status };
}

/** A ballot gives at most 1,000,000 points. A sum above 2^53 − 1 would be no exact JSON number, and a count refuses it. */
const MOST_WEIGHT = 9_000_000_000;

/** Upper bound of the number of transactions that add weights to an event at the same time. */
const ADDING_TOGETHER = 40;

/**
 * Checks the weight of all voters of an event after this transaction has added or changed some of them. Near the limit, transactions that
 * add weights wait for each other.
 * @param added these voters with their new weights @throws ApiError 422 `plan_limit`
 */
export async function requireCountableWeight(
  tx: Transaction,
  eventId: string,
  added: readonly Pick<Voter, 'weightMicro'>[],
): Promise<void> {
  if (added.every(({ weightMicro }) => weightMicro <= MICRO)) return;
  const ownMicro = added.reduce((sum, { weightMicro }) => sum + weightMicro, 0n);
  const place = sql`hashtextextended('weight ' || ${eventId}, 0)`;
  const exceedsWith = (moreMicro: bigint) =>
    sql`(SELECT sum(weight_micro) FROM roll_figures WHERE voting_event_id = ${eventId}) + ${moreMicro}::numeric
      > ${MOST_WEIGHT}::numeric * ${MICRO}::numeric`;
  await tx.execute(sql`SELECT CASE WHEN ${exceedsWith(ownMicro * BigInt(ADDING_TOGETHER))}
    THEN pg_advisory_xact_lock(${place}) ELSE pg_advisory_xact_lock_shared(${place}) END`);
  // A separate statement, which sees the rows that others committed during the wait.
  if (await isTrue(tx, sql`SELECT ${exceedsWith(0n)}`)) throw planLimit('weight_per_event', MOST_WEIGHT);
}

/** Upper bound of the voters that concurrent transactions add to an event: four imports of an account in each of five processes. */
const NEAR_THE_LIMIT = 100_000;

/**
 * Checks that the plan of the event's account has room for the voters that this transaction has added. This must be the last step of the
 * transaction, because other transactions may wait for its commit. @see take_places
 * @throws ApiError 404, 409 `event_closed`, 422 `plan_limit`; each must roll the transaction back
 */
export async function takeRoomForVoters(
  tx: Transaction,
  { plans }: Pick<VoterDeps, 'plans'>,
  event: VotingEvent,
  plan: PlanName,
  place: 'organizer' | 'registration',
): Promise<void> {
  const limit = plans[plan].votersPerEvent;
  const taking = sql`SELECT take_places(${event.id}, ${place}, ${limit}, ${NEAR_THE_LIMIT})`;
  const [found] = await valuesOf<'room' | 'full' | 'closed' | 'gone'>(tx, taking);
  if (found === 'gone') throw notFound();
  if (found === 'closed') throw lifeRefusal('event_closed', event);
  if (found === 'full')
    throw planLimit(place === 'registration' ? 'voter_registrations_per_event' : 'voters_per_event', limit);
}

/** Checks, without a lock, that the plan has room for `count` more voters of the organizer. @throws ApiError 422 `plan_limit` */
export async function requireRoomForVoters(
  executor: Executor,
  { plans }: Pick<VoterDeps, 'plans'>,
  eventId: string,
  plan: PlanName,
  count: number,
): Promise<void> {
  const present = await readNumber(executor, sql`SELECT organizer FROM voter_places(${eventId})`);
  const limit = plans[plan].votersPerEvent;
  if (present + count > limit) throw planLimit('voters_per_event', limit);
}
