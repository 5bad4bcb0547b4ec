import { and, eq, inArray, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { unauthorized } from '#src/accounts/authenticate.ts';
import { type PlanFeature, type PlanName, requireFeature } from '#src/accounts/plans.ts';
import type { Database, Executor } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { type Caller, isKeyless, type Role } from '#src/http/caller.ts';
import type { RequestContext } from '#src/http/env.ts';
import { findTarget } from '#src/http/middleware.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { notFound, orNotFound } from '#src/platform/errors.ts';
import { isGenuineEvent, isGenuineInvite } from './event-tag.ts';
import { refuseForged, reportForged } from './forged-rows.ts';
import { statusAt } from './lifecycle.ts';
import { findEvent, isCode } from './repository.ts';
import { eventInvites, votingEvents } from './tables.ts';
import type { VotingEvent } from './voting-event.ts';

/** Somebody who may see or change an event, as their key shows: made by `requireOrganizer`, and by `ownerOf` for the service itself. */
export interface Organizer extends EventAccess {
  readonly caller: Caller;
  /** The compiler refuses a vote caller where an organizer is asked for, and an organizer where a vote caller is. */
  readonly isOrganizer: true;
}

/** A customer's server that speaks for voters of an event: made by `requireVoteCaller`, and by `voteCallerOf` for the service itself. */
export interface VoteCaller extends EventAccess {
  readonly caller: Caller;
  readonly isOrganizer?: never;
}

/** The organizer of an event that was made in its own account's name. */
export const ownerOf = (caller: Caller, event: VotingEvent): Organizer => ({
  ...voteCallerOf(caller, event),
  isOrganizer: true,
});

/** The same account, speaking for voters of its event. */
export function voteCallerOf(caller: Caller, event: VotingEvent): VoteCaller {
  return { caller, event, role: 'owner', ownerPlan: caller.plan as PlanName, isForged: false };
}

type GuardDeps = Pick<Deps, 'db' | 'log'>;

type AccessDeps = Pick<Deps, 'db' | 'log' | 'secrets' | 'clock'>;

/**
 * Reads that no setting admits go on, and show the event as disputed. Others see an event by its generation of invites, or by its open log.
 * @param admits whether the settings of the event say who may read this
 * @throws ApiError 500 `rows_disagree` where something would be done, or shown, by what SQL wrote
 */
async function requireGenuine(
  deps: GuardDeps,
  c: RequestContext,
  { event, isForged, role }: EventAccess,
  admits = role !== 'owner',
): Promise<void> {
  if (!isForged) return;
  if (admits || (c.req.method !== 'GET' && c.req.method !== 'HEAD')) throw await refuseForged(deps, event.id);
  await reportForged(deps, event.id);
}

/** The event that the path names, for its organizer or one it is shared with. @throws ApiError `not_found` for every event the key may not see */
async function requireOrganizer(deps: AccessDeps, c: RequestContext): Promise<Organizer> {
  const caller = c.get('caller');
  const found = orNotFound(await findAccess(deps, caller.accountId, c.req.param('idOrCode') ?? ''));
  await requireGenuine(deps, c, found);
  return { caller, ...found, isOrganizer: true };
}

type VoteAccessDeps = Pick<Deps, 'events' | 'clock'>;

/**
 * The event that the path names, for a vote, observe or log key; it may be a second old (`EventCache`). A draft is not there
 * yet; an observe or log key sees its one event, and a request without a key those whose log is open.
 */
export async function requireVoteCaller(deps: VoteAccessDeps, c: RequestContext): Promise<VoteCaller> {
  const caller = c.get('caller');
  if (isKeyless(caller)) return { caller, ...(await requireOpenLog(deps, c.req.param('idOrCode') ?? '')) };
  const nowMs = deps.clock.now();
  const found = await deps.events.find(caller.accountId, c.req.param('idOrCode') ?? '', nowMs);
  if (found === undefined || statusAt(found.event, nowMs) === 'draft') throw notFound();
  if (caller.votingEventId !== null && caller.votingEventId !== found.event.id) throw notFound();
  return { caller, ...found };
}

/**
 * An event whose log answers without a key (completions 6.4). A draft is not there yet.
 * @throws ApiError 401 `unauthorized` for every other one, and where there is none: a key would be needed
 */
export async function requireOpenLog(deps: VoteAccessDeps, idOrCode: string): Promise<EventAccess> {
  const nowMs = deps.clock.now();
  const found = await deps.events.findOpen(idOrCode, nowMs);
  if (found === undefined || statusAt(found.event, nowMs) === 'draft') throw unauthorized();
  return found;
}

/** The event that the path names, for its organizer or for an observer whose key was made for it. */
export async function requireObserver(deps: AccessDeps, c: RequestContext): Promise<Organizer> {
  const organizer = await requireOrganizer(deps, c);
  const { votingEventId } = organizer.caller;
  if (votingEventId !== null && votingEventId !== organizer.event.id) throw notFound();
  return organizer;
}

/** 404 and 403 of an operation for organizers. */
export const loadEvent = (deps: AccessDeps) => findTarget((c) => requireOrganizer(deps, c));

/** The same where the plan of the event's account must have a feature. */
export const loadEventWith = (feature: PlanFeature, deps: AccessDeps & Pick<Deps, 'plans'>) =>
  findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    requireFeature(deps.plans[organizer.ownerPlan], feature);
    return organizer;
  });

/** 404 and 403 of an operation for a vote, observe or log key. */
export const loadPublicEvent = (deps: VoteAccessDeps & GuardDeps) =>
  findTarget(async (c) => {
    const found = await requireVoteCaller(deps, c);
    await requireGenuine(deps, c, found);
    return found;
  });

/** The same for reads that the settings of the event admit, or refuse. */
export const loadShownEvent = (deps: VoteAccessDeps & GuardDeps) => findTarget((c) => requireShown(deps, c));

export async function requireShown(deps: VoteAccessDeps & GuardDeps, c: RequestContext): Promise<VoteCaller> {
  const found = await requireVoteCaller(deps, c);
  await requireGenuine(deps, c, found, true);
  return found;
}

/** The same for operations that answer alike for every event that SQL changed (completions 1.6). */
export const loadAnyPublicEvent = (deps: VoteAccessDeps) => findTarget((c) => requireVoteCaller(deps, c));

/** The same with a row of the event that the path names by `:id`. */
export const loadRow = <Row>(
  deps: AccessDeps,
  find: (db: Database, eventId: string, id: string) => Promise<Row | undefined>,
) =>
  findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    const row = orNotFound(await find(deps.db, organizer.event.id, c.req.param('id') ?? ''));
    return { ...organizer, row };
  });

interface EventAccess {
  readonly event: VotingEvent;
  /** `owner` for keys of the event's account, otherwise what an accepted invite says. */
  readonly role: Role;
  /** The plan of the event's account: it decides what the event may have, whichever caller asks. */
  readonly ownerPlan: PlanName;
  /** SQL changed whose it is, who may vote, or where its mails lead. */
  readonly isForged: boolean;
}

const asker = sql.placeholder('accountId');
const reference = sql.placeholder('reference');

/** One row of another slice's table, by its key. */
const ownerPlan = sql<PlanName>`(SELECT a.plan FROM accounts a WHERE a.id = ${votingEvents.accountId})`;

/** One trip and unique indexes only: every request about an event begins here. Named, so that nothing is planned twice. */
function prepareStatements(db: Database) {
  // The code itself is bound to the service's keys; the form that it is found by is not.
  const isNamed = (column: typeof votingEvents.id | typeof votingEvents.codeKey) =>
    column === votingEvents.id
      ? eq(column, reference)
      : and(eq(column, reference), sql`lower(${votingEvents.code}) = ${reference}`);
  const prepare = (column: typeof votingEvents.id | typeof votingEvents.codeKey, name: string) =>
    db
      .select({
        event: votingEvents,
        ownerPlan,
        invite: eventInvites,
      })
      .from(votingEvents)
      .leftJoin(eventInvites, and(eq(eventInvites.votingEventId, votingEvents.id), eq(eventInvites.accountId, asker)))
      .where(
        and(
          isNamed(column),
          isNull(votingEvents.deletedAt),
          or(eq(votingEvents.accountId, asker), isNotNull(eventInvites.role)),
        ),
      )
      .prepare(name);
  const prepareOpen = (column: typeof votingEvents.id | typeof votingEvents.codeKey, name: string) =>
    db
      .select({ event: votingEvents, ownerPlan })
      .from(votingEvents)
      .where(and(isNamed(column), isNull(votingEvents.deletedAt), eq(votingEvents.logOpen, true)))
      .prepare(name);
  return {
    byId: prepare(votingEvents.id, 'find_event_access_by_id'),
    byCode: prepare(votingEvents.codeKey, 'find_event_access_by_code'),
    openById: prepareOpen(votingEvents.id, 'find_open_event_by_id'),
    openByCode: prepareOpen(votingEvents.codeKey, 'find_open_event_by_code'),
  };
}

const prepared = new WeakMap<Database, ReturnType<typeof prepareStatements>>();

function statementsOf(db: Database): ReturnType<typeof prepareStatements> {
  const kept = prepared.get(db);
  if (kept !== undefined) return kept;
  const fresh = prepareStatements(db);
  prepared.set(db, fresh);
  return fresh;
}

/** The event that an ID or code names, if it is the account's own or shared with it by an accepted invite (completions 2.2). */
export async function findAccess(
  { db, secrets }: ReadDeps,
  accountId: string,
  named: string,
): Promise<EventAccess | undefined> {
  const statements = statementsOf(db);
  const [row] = isCode(named)
    ? await statements.byCode.execute({ accountId, reference: named.toLowerCase() })
    : await statements.byId.execute({ accountId, reference: named });
  if (row === undefined) return undefined;
  const { ownerPlan, invite } = row;
  const isForged = !isGenuineEvent(secrets, row.event);
  const event = isForged ? { ...row.event, finalAt: null } : row.event;
  if (event.accountId === accountId) return { event, ownerPlan, isForged, role: 'owner' };
  if (invite === null || !isGenuineInvite(secrets, invite, event)) return undefined;
  return { event, ownerPlan, isForged, role: invite.role };
}

type ReadDeps = Pick<Deps, 'db' | 'secrets'>;

/** The event that an ID or code names, of whichever account, if its log answers without a key. */
async function findOpenAccess({ db, secrets }: ReadDeps, named: string): Promise<EventAccess | undefined> {
  const statements = statementsOf(db);
  const [row] = isCode(named)
    ? await statements.openByCode.execute({ reference: named.toLowerCase() })
    : await statements.openById.execute({ reference: named });
  if (row === undefined) return undefined;
  return { ...row, isForged: !isGenuineEvent(secrets, row.event), role: 'viewer' };
}

/** The same, and undefined for an event that SQL changed, which may be another account's. */
export async function findGenuineAccess(...of: Parameters<typeof findAccess>): Promise<EventAccess | undefined> {
  const found = await findAccess(...of);
  return found?.isForged === true ? undefined : found;
}

/** An event that an account may see, by ID or code. @throws ApiError `not_found` */
export async function findEventByReference(deps: ReadDeps, accountId: string, reference: string): Promise<VotingEvent> {
  const found = orNotFound(await findGenuineAccess(deps, accountId, reference));
  return found.event;
}

/** Leaves out of a list the events that only SQL shared with the account. */
export async function withoutForgedShares(
  { db, secrets }: ReadDeps,
  accountId: string,
  events: readonly VotingEvent[],
): Promise<VotingEvent[]> {
  const shared = events.filter((event) => event.accountId !== accountId).map(({ id }) => id);
  if (shared.length === 0) return [...events];
  const invites = await db
    .select()
    .from(eventInvites)
    .where(and(inArray(eventInvites.votingEventId, shared), eq(eventInvites.accountId, accountId)));
  return events.filter(
    (event) =>
      event.accountId === accountId ||
      (isGenuineEvent(secrets, event) &&
        invites.some((invite) => invite.votingEventId === event.id && isGenuineInvite(secrets, invite, event))),
  );
}

/** An event of any account, for the operator. @throws ApiError `not_found` */
export const findAnyEvent = async (executor: Executor, reference: string): Promise<VotingEvent> =>
  orNotFound(await findEvent(executor, reference));

/** How old what is kept may be, whatever happened to the announcement of a change: an edit is seen everywhere by then. */
const KEPT_MS = SECOND_MS;
const MAX_KEPT = 20_000;

interface Kept {
  readonly access: EventAccess;
  /** By the clock of `performance.now()`, from before it was asked for. */
  readonly readAt: number;
}

/**
 * Keeps the events that voters' servers ask about with every request. What is kept can be a second old, so nothing is
 * decided by it alone: the statements that write check the event's state and the version of its definition themselves.
 * Drafts and unknown events are not kept, so that an event is there the moment it is published.
 */
export class EventCache {
  readonly #deps: ReadDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #namesOf = new Map<string, Set<string>>();
  readonly #reading = new Map<string, Promise<EventAccess | undefined>>();
  /** Counts what was forgotten: an event that was read meanwhile may be from before the change. */
  #changes = 0;

  constructor(deps: ReadDeps) {
    this.#deps = deps;
  }

  /** The event that an ID or code names for an account, at most a second old; undefined where there is none to see. */
  find(accountId: string, named: string, nowMs: number): Promise<EventAccess | undefined> {
    return this.#find(`${accountId} ${named}`, nowMs, () => findAccess(this.#deps, accountId, named));
  }

  /** The event that an ID or code names for those without a key, at most a second old; undefined unless its log is open. */
  findOpen(named: string, nowMs: number): Promise<EventAccess | undefined> {
    return this.#find(` ${named}`, nowMs, () => findOpenAccess(this.#deps, named));
  }

  async #find(
    name: string,
    nowMs: number,
    ask: () => Promise<EventAccess | undefined>,
  ): Promise<EventAccess | undefined> {
    const kept = this.#kept.get(name);
    if (kept !== undefined && performance.now() - kept.readAt < KEPT_MS) return kept.access;
    const reading = this.#reading.get(name);
    if (reading !== undefined) return reading;
    const read = this.#read(name, nowMs, ask).finally(() => {
      if (this.#reading.get(name) === read) this.#reading.delete(name);
    });
    this.#reading.set(name, read);
    return read;
  }

  /** Forgets an event that was changed, or may have been. */
  forget(eventId: string): void {
    this.#changes += 1;
    this.#reading.clear();
    for (const name of this.#namesOf.get(eventId) ?? []) this.#kept.delete(name);
    this.#namesOf.delete(eventId);
  }

  forgetAll(): void {
    this.#changes += 1;
    this.#reading.clear();
    this.#kept.clear();
    this.#namesOf.clear();
  }

  async #read(
    name: string,
    nowMs: number,
    ask: () => Promise<EventAccess | undefined>,
  ): Promise<EventAccess | undefined> {
    const [changes, readAt] = [this.#changes, performance.now()];
    const access = await ask();
    if (access === undefined || statusAt(access.event, nowMs) === 'draft' || changes !== this.#changes) return access;
    if (this.#kept.size >= MAX_KEPT) this.forgetAll();
    this.#kept.set(name, { access, readAt });
    const names = this.#namesOf.get(access.event.id) ?? new Set();
    this.#namesOf.set(access.event.id, names.add(name));
    return access;
  }
}
