import { setImmediate } from 'node:timers/promises';
import { and, asc, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { z } from 'zod';
import { type PlanName, type Plans, planLimit } from '#src/accounts/plans.ts';
import { findAccount } from '#src/accounts/repository.ts';
import { listGroupIds, listPrices } from '#src/ballot-definition/ballot-definition.ts';
import {
  copyBallotDefinition,
  type DefinitionRows,
  readDefinitionRows,
} from '#src/ballot-definition/copy-ballot-definition.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { requireServed } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { created } from '#src/http/answer.ts';
import { change, changeIn, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { nameField } from '#src/http/fields.ts';
import { operation } from '#src/http/operation.ts';
import { refuse } from '#src/http/refusals.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { ApiError } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { loadEvent, type Organizer } from '#src/voting-events/access.ts';
import { carryInvite } from '#src/voting-events/change-invites.ts';
import { createEvent, type EventDeps } from '#src/voting-events/create-event.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { lockForChange, renewBallotDefinition } from '#src/voting-events/guard-change.ts';
import { COPY_RUNNING } from '#src/voting-events/opening.ts';
import { type LockedEvent, lockEvent, updateEvent, updateTaggedEvent } from '#src/voting-events/repository.ts';
import { aboutOf, type VotingEvent, viewEvent, votingEventView } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { lastVoterId } from './notification.ts';
import { rollCopies, voters } from './tables.ts';
import {
  insertVoters,
  newVoter,
  recordCreation,
  requireCountableWeight,
  takeRoomForVoters,
  type VoterDeps,
} from './take-rows.ts';
import { viewVoter } from './voter.ts';
import { isApprovedInRehearsal, isGenuine } from './voter-tag.ts';

const copyEventBody = z.strictObject({
  title: nameField(),
  withVoters: z.boolean().describe('Whether its voters are copied, too.'),
});

/** Settings that a copy takes unchanged from the API's view of the source event. */
const SHARED = [
  ...(['type', 'description', 'timeZone', 'candidate', 'ballot', 'log'] as const),
  ...(['contactEmail', 'language', 'logoUrl'] as const),
] as const;

/** The source event, if it is in another cell (another of the service's databases) than the account that copies it. */
interface AwaySource {
  readonly source: LockedEvent;
  readonly rows: DefinitionRows;
}

const readAwaySource = (deps: Deps, eventId: string): Promise<AwaySource> =>
  inTransaction(deps.db, async (tx) => ({
    source: await lockForChange(tx, eventId),
    rows: await readDefinitionRows(tx, eventId),
  }));

/** Whether a copy belongs to the owner of the source: an editor's copy with voters does, and is shared with the editor. */
const belongsToOwner = ({ role }: Organizer, withVoters: boolean): boolean => withVoters && role !== 'owner';

/** The cell of a guest who copies an event of this cell into an account of another cell; undefined if the copy stays here. */
function homeOfCopy(deps: Deps, organizer: Organizer, withVoters: boolean): Deps | undefined {
  const [home = deps.cell] = organizer.caller.cells ?? [];
  return home === deps.cell || belongsToOwner(organizer, withVoters) ? undefined : deps.cells.get(home);
}

/**
 * Creates a draft with the same settings, groups, positions, candidates and sponsors in the caller's account (completions 10.4). A copy
 * with voters belongs to the source's owner (completions 2.5); a job copies the voters.
 * Prices are copied only within one account, because a payment business belongs to one account.
 * @throws ApiError 409 `not_ready` while voters are still copied into the source; 422 `plan_limit` for events, or for the voters to copy
 */
async function copyEvent(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  { title, withVoters }: z.output<typeof copyEventBody>,
  away?: AwaySource,
): Promise<VotingEvent> {
  const { role } = organizer;
  const isForOwner = belongsToOwner(organizer, withVoters);
  if (withVoters && role === 'viewer') throw refuse('role', { required: 'editor', granted: role });
  const caller = isForOwner
    ? { ...organizer.caller, accountId: organizer.event.accountId, plan: organizer.ownerPlan }
    : organizer.caller;
  const source = away?.source ?? (await lockForChange(tx, organizer.event.id));
  // A job still copies voters into the source event: a copy that is made now would lack the remaining voters.
  if (withVoters && source.copyUntil !== null) throw refuse('not_ready', { missing: [COPY_RUNNING] });
  const { voter: shownVoter, ...shown } = viewEvent(source, source.lockedAt);
  const { pollIdentity: _derived, ...voter } = shownVoter;
  const shared: Parameters<typeof createEvent>[3] = {
    ...pick(shown, SHARED),
    title,
    voter,
    // A rehearsal may show results otherwise than the event will. Copy the setting of the event.
    results: { visibility: source.rehearsalVisibility ?? source.resultsVisibility },
  };
  return createEvent(tx, deps, caller, shared, async (made) => {
    const withPrices = await keepsPrices(tx, deps, { caller }, source);
    const nowMs = source.lockedAt;
    const groups = await copyBallotDefinition(tx, deps.ids, {
      sourceId: source.id,
      eventId: made.id,
      nowMs,
      withPrices,
      withEmails: caller.accountId === source.accountId,
      ...(away === undefined ? {} : { rows: away.rows }),
    });
    const total = withVoters ? await tx.$count(voters, copied(source.id)) : 0;
    const limit = deps.plans[caller.plan as keyof Plans].votersPerEvent;
    if (total > limit) throw planLimit('voters_per_event', limit);
    const copyUntil = total > 0 ? await lastVoterId(tx, source.id) : null;
    await updateTaggedEvent(tx, deps.secrets, made, {
      // `pageIssues` has accepted this URL for the source event, so it needs no second check.
      votingPageUrl: source.votingPageUrl,
      ...(withPrices ? pricesOf(source) : {}),
      ...(withVoters ? { copyTotal: total, copyDone: 0, copyUntil } : {}),
    });
    if (copyUntil !== null) {
      const order = { votingEventId: made.id, sourceId: source.id, groups, copiedTo: '', keyId: caller.keyId };
      await tx.insert(rollCopies).values({ ...order, tag: tagOfCopy(deps.secrets, order, { copyUntil }) });
      await enqueue(tx, COPY_ROLL, { eventId: made.id }, { key: made.id });
    }
    if (isForOwner) await carryInvite(tx, deps, source, made, organizer.caller.accountId);
    return renewBallotDefinition(tx, made.id, nowMs);
  });
}

const pricesOf = (source: VotingEvent) =>
  pick(source, [
    ...(['paymentBusinessId', 'paymentProvider', 'paymentLivemode'] as const),
    ...(['payToVote', 'payToRegisterCandidate', 'repeatVotes'] as const),
  ]);

/** Whether a copy keeps prices and payment business: same account, a plan with paid features, and a business that takes each price. */
async function keepsPrices(
  tx: Transaction,
  deps: EventDeps,
  { caller }: Pick<Organizer, 'caller'>,
  source: VotingEvent,
): Promise<boolean> {
  if (source.accountId !== caller.accountId || source.paymentBusinessId === null) return false;
  if (!deps.plans[caller.plan as keyof Plans].paidFeatures) return false;
  for (const price of await listPrices(tx, source)) {
    if ((await deps.pricing.fault(tx, source, price)) !== undefined) return false;
  }
  return true;
}

/** The route that copies an event (completions 10.4). It is in this folder because it also copies voters. */
export function copyRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('copyVotingEvent', 'POST /voting-events/:idOrCode/copy', {
      summary: 'Copy a voting event',
      scope: 'write',
      description:
        'A draft with a code of its own, in the account of the key; with its voters, in that of the owner, and shared with the editor who asked: settings, groups, positions, candidates and sponsors, without times, ballots and webhook endpoints. Prices and the payment business are taken along within one account, where the plan and the business still allow them. Registrations that were never approved stay behind. With `withVoters` the voters follow in the background: `copy` of the new event shows how many there are, and it does not open before all are.',
      answers: answersCreated(votingEventView, 'The copy, a draft.'),
      refusals: ['plan_limit', 'not_ready', 'role'],
      example: { title: 'Board of the reading club 2027', withVoters: true },
    }),
    loadEvent(deps),
    takeIdempotencyKey(),
    body(copyEventBody),
    async (c) => {
      const [organizer, wanted] = [c.get('target'), c.get('body')];
      const home = homeOfCopy(deps, organizer, wanted.withVoters);
      const away = home && (await readAwaySource(deps, organizer.event.id));
      if (home !== undefined) changeIn(c, requireServed(home));
      const there = home ?? deps;
      return change(c, async (tx) =>
        created(viewEvent(await copyEvent(tx, there, organizer, wanted, away), there.clock.now())),
      );
    },
  );
  return router;
}

const payload = z.strictObject({ eventId: z.string() });
const COPY_ROLL = { name: 'copy_roll', maxAttempts: 25, payload } as const;

const CHUNK_ROWS = 500;

/**
 * Selects the voters to copy: all whom the organizer added, and approved registrants. Leaves out registrants who are pending, whom a
 * first key approved without disclosure, or whom a rehearsal added. The rehearsal mark counts for registrants only, so that other SQL
 * cannot exclude an organizer's voter by it. Erased voters have neither address nor voter ID.
 */
const copied = (sourceId: string) =>
  and(
    eq(voters.votingEventId, sourceId),
    isNull(voters.deletedAt),
    or(
      eq(voters.source, 'organizer'),
      and(
        eq(voters.source, 'registration'),
        eq(voters.status, 'approved'),
        eq(voters.approvedByKey, false),
        sql`NOT coalesce(${voters.beforeRehearsal} ? 'new', false)`,
      ),
    ),
    or(isNotNull(voters.email), isNotNull(voters.voterId)),
  );

type Order = Omit<typeof rollCopies.$inferSelect, 'tag'>;
type Until = Pick<VotingEvent, 'copyUntil'>;

/** The input of the MAC of a copy order. The end of the copy clears the event's `copyUntil`, so that the order cannot be replayed. */
const rowOfCopy = (order: Order, { copyUntil }: Until): DecidingRow => [
  'roll_copies',
  ...[order.votingEventId, order.sourceId, JSON.stringify(order.groups), order.copiedTo, copyUntil, order.keyId],
];

export const tagOfCopy = (secrets: Secrets, order: Order, event: Until): Buffer =>
  tagOfRow(secrets, rowOfCopy(order, event));

type CopyDeps = VoterDeps & Pick<Deps, 'db' | 'log'>;

/** Copies the voters of an event into its copy, page by page. An interrupted job resumes after the last committed page. */
export const copyRollJob = (deps: CopyDeps): Job<z.output<typeof payload>> =>
  defineJob({
    ...COPY_ROLL,
    async work({ eventId }) {
      try {
        while (await inTransaction(deps.db, (tx) => copyChunk(tx, deps, eventId))) await setImmediate();
      } catch (fault) {
        // The plan has no room for the rest: end the copying. `total` stays above `done` and shows how many voters are missing.
        if (!(fault instanceof ApiError) || fault.code !== 'plan_limit') throw fault;
        await inTransaction(deps.db, (tx) => endCopy(tx, deps.secrets, eventId, true));
      }
    },
  });

/** @returns whether there is more to copy */
async function copyChunk(tx: Transaction, deps: CopyDeps, eventId: string): Promise<boolean> {
  const event = await lockEvent(tx, eventId);
  const [copy] = await tx.select().from(rollCopies).where(eq(rollCopies.votingEventId, eventId));
  if (event === undefined || copy === undefined) return false;
  const { copyUntil } = event;
  const isOrdered = isGenuineEvent(deps.secrets, event) && isTagged(deps.secrets, copy.tag, rowOfCopy(copy, event));
  if (!isOrdered || copyUntil === null) {
    await reportForged(deps, eventId);
    return false;
  }
  const page = await tx
    .select()
    .from(voters)
    .where(and(copied(copy.sourceId), gt(voters.id, copy.copiedTo), lte(voters.id, copyUntil)))
    .orderBy(asc(voters.id))
    .limit(CHUNK_ROWS);
  const last = page.at(-1);
  if (last === undefined) {
    // Voters who left the source after the count are not missing.
    await endCopy(tx, deps.secrets, eventId, false);
    return false;
  }
  const genuine = page.filter((row) => isGenuine(deps.secrets, row));
  if (genuine.length < page.length) await reportForged(deps, copy.sourceId);
  // An approval in a rehearsal ends with it. Decide by the tag, because other SQL could mark any voter as approved in a rehearsal.
  const lasting = genuine.filter((row) => !isApprovedInRehearsal(deps.secrets, row));
  await insertCopies(tx, deps, event, copy, lasting);
  const tag = tagOfCopy(deps.secrets, { ...copy, copiedTo: last.id }, event);
  await tx.update(rollCopies).set({ copiedTo: last.id, tag }).where(eq(rollCopies.votingEventId, eventId));
  // Voters who were approved after the count are copied, too, and raise the total.
  const done = (event.copyDone ?? 0) + page.length;
  await updateEvent(tx, eventId, { copyDone: done, copyTotal: Math.max(event.copyTotal ?? 0, done) });
  return true;
}

async function insertCopies(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  { groups, keyId }: typeof rollCopies.$inferSelect,
  page: readonly (typeof voters.$inferSelect)[],
): Promise<void> {
  const copyOf = new Map(groups);
  const present = await listGroupIds(tx, event.id);
  const rows = page.map(({ name, email, voterId, groupId, weightMicro, status }) => {
    const own = groupId === null ? undefined : copyOf.get(groupId);
    const input = {
      name,
      email,
      voterId,
      weight: weightMicro,
      groupId: own !== undefined && present.has(own) ? own : null,
    };
    const source = { source: 'organizer', status: 'approved' } as const;
    return newVoter(deps, event, { ...input, status: status === 'rejected' ? 'rejected' : 'approved' }, source);
  });
  // `insertVoters` skips voters whom the organizer has already added to the copy.
  const inserted = await insertVoters(tx, deps, event, rows);
  const ownerPlan = ((await findAccount(tx, event.accountId))?.plan ?? 'free') as PlanName;
  const author = { event, ownerPlan, caller: { keyId } };
  const created = rows.filter(({ id }) => inserted.has(id));
  await publish(tx, deps, aboutOf(event), 'voter.created', created.map(viewVoter));
  await recordCreation(tx, deps, author, created);
  await requireCountableWeight(tx, event.id, created);
  await takeRoomForVoters(tx, deps, event, ownerPlan, 'organizer');
}

async function endCopy(tx: Transaction, secrets: Secrets, eventId: string, isCutShort: boolean): Promise<void> {
  const event = await lockEvent(tx, eventId);
  if (event === undefined) return;
  await tx.delete(rollCopies).where(eq(rollCopies.votingEventId, eventId));
  await updateTaggedEvent(tx, secrets, event, {
    copyTotal: isCutShort ? event.copyTotal : event.copyDone,
    copyUntil: null,
  });
  await renewBallotDefinition(tx, eventId, event.lockedAt);
}
