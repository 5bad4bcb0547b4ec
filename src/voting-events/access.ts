import { and, eq, inArray, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm';
import { unauthorized } from '#src/accounts/authenticate.ts';
import { listGuestCells } from '#src/accounts/guests.ts';
import { type PlanFeature, type PlanName, requireFeature } from '#src/accounts/plans.ts';
import type { Database, Executor } from '#src/database/client.ts';
import { rowOfJson } from '#src/database/columns.ts';
import { firstOfCells, otherCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { type Caller, isKeyless, type Role } from '#src/http/caller.ts';
import type { RequestContext } from '#src/http/env.ts';
import { findTarget } from '#src/http/middleware.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { notFound, orNotFound } from '#src/platform/errors.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { isGenuineEvent, isGenuineInvite } from './event-tag.ts';
import { refuseForged, reportForged } from './forged-rows.ts';
import { statusAt } from './lifecycle.ts';
import { findEvent, isCode } from './repository.ts';
import { eventInvites, votingEvents } from './tables.ts';
import type { VotingEvent } from './voting-event.ts';

/** A caller whose key may read or change an event. Made by `requireOrganizer` from a request, by `ownerOf` for the service itself. */
export interface Organizer extends EventAccess {
  readonly caller: Caller;
  /** Separates the types: the compiler accepts no vote caller in place of an organizer, and no organizer in place of a vote caller. */
  readonly isOrganizer: true;
}

/** A server that acts for voters of an event. Made by `requireVoteCaller` from a request, by `voteCallerOf` for the service itself. */
export interface VoteCaller extends EventAccess {
  readonly caller: Caller;
  readonly isOrganizer?: never;
}

/** The organizer for a change that the service makes itself. @param caller of the event's account */
export const ownerOf = (caller: Caller, event: VotingEvent): Organizer => ({
  ...voteCallerOf(caller, event),
  isOrganizer: true,
});

/** The vote caller for a vote that the service casts itself. @param caller of the event's account */
export function voteCallerOf(caller: Caller, event: VotingEvent): VoteCaller {
  return { caller, event, role: 'owner', ownerPlan: caller.plan as PlanName, isForged: false };
}

type GuardDeps = Pick<Deps, 'db' | 'log'>;

type AccessDeps = Pick<Deps, 'db' | 'log' | 'secrets' | 'clock'>;

/**
 * Raises the alarm for a forged event, that is, one whose row the service did not write. The owner's reads continue, and show the event as
 * disputed. Writes are refused, and also reads that a forged column could permit, for example the generation of invites or `logOpen`.
 * @param admits whether columns of the event decide who may read this @throws ApiError 500 `rows_disagree`
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

/** The event in the path, for its owner or an account with which it is shared. @throws ApiError `not_found` for any other event */
async function requireOrganizer(deps: AccessDeps, c: RequestContext): Promise<Organizer> {
  const caller = c.get('caller');
  const found = orNotFound(await findAccess(deps, caller.accountId, c.req.param('idOrCode') ?? ''));
  await requireGenuine(deps, c, found);
  return { caller, ...found, isOrganizer: true };
}

type VoteAccessDeps = Pick<Deps, 'events' | 'clock'>;

/**
 * The event in the path, up to a second old (`EventCache`), for a vote, observe or log key. A draft counts as not found. An
 * observe or log key may read only its own event; a request without a key, only events with an open log.
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

/** An event with an open log (completions 6.4). @throws ApiError 401 for a draft and for any other event, whether or not it exists */
export async function requireOpenLog(deps: VoteAccessDeps, idOrCode: string): Promise<EventAccess> {
  const nowMs = deps.clock.now();
  const found = await deps.events.findOpen(idOrCode, nowMs);
  if (found === undefined || statusAt(found.event, nowMs) === 'draft') throw unauthorized();
  return found;
}

/** The event in the path, for its organizer or for an observe key of this event. */
export async function requireObserver(deps: AccessDeps, c: RequestContext): Promise<Organizer> {
  const organizer = await requireOrganizer(deps, c);
  const { votingEventId } = organizer.caller;
  if (votingEventId !== null && votingEventId !== organizer.event.id) throw notFound();
  return organizer;
}

/** Middleware of an operation for organizers: loads the event in the path, or answers 404 or 403. */
export const loadEvent = (deps: AccessDeps) => findTarget((c) => requireOrganizer(deps, c));

/** As `loadEvent`. Also requires a feature in the plan of the event's account. */
export const loadEventWith = (feature: PlanFeature, deps: AccessDeps & Pick<Deps, 'plans'>) =>
  findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    requireFeature(deps.plans[organizer.ownerPlan], feature);
    return organizer;
  });

/** Middleware of an operation for a vote, observe or log key: loads the event in the path, or answers 404 or 403. */
export const loadPublicEvent = (deps: VoteAccessDeps & GuardDeps) =>
  findTarget(async (c) => {
    const found = await requireVoteCaller(deps, c);
    await requireGenuine(deps, c, found);
    return found;
  });

/** As `loadPublicEvent`, for reads that a setting of the event permits. They are refused for a forged event. */
export const loadShownEvent = (deps: VoteAccessDeps & GuardDeps) => findTarget((c) => requireShown(deps, c));

export async function requireShown(deps: VoteAccessDeps & GuardDeps, c: RequestContext): Promise<VoteCaller> {
  const found = await requireVoteCaller(deps, c);
  await requireGenuine(deps, c, found, true);
  return found;
}

/** As `loadPublicEvent`, for operations that handle forged events themselves (completions 1.6). */
export const loadAnyPublicEvent = (deps: VoteAccessDeps) => findTarget((c) => requireVoteCaller(deps, c));

/** As `loadEvent`. Also loads a row of the event, by the `:id` in the path. */
export const loadRow = <Row>(
  deps: AccessDeps,
  find: (db: Database, eventId: string, id: string) => Promise<Row | undefined>,
) =>
  findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    const row = orNotFound(await find(deps.db, organizer.event.id, c.req.param('id') ?? ''));
    return { ...organizer, row };
  });

export interface EventAccess {
  readonly event: VotingEvent;
  /** `owner` for keys of the event's account; otherwise the role of the accepted invite. */
  readonly role: Role;
  /** The plan of the event's account, which decides the event's features for every caller. */
  readonly ownerPlan: PlanName;
  /** Whether other SQL has changed a column that the event's tag (a MAC) covers (`event-tag.ts`). */
  readonly isForged: boolean;
}

const asker = sql.placeholder('accountId');
const reference = sql.placeholder('reference');

/** Reads a table of another folder: one row by its primary key. */
const ownerPlan = sql<PlanName>`(SELECT a.plan FROM accounts a WHERE a.id = ${votingEvents.accountId})`;

/** Rows as JSON, because Drizzle takes as long to map an event's columns as the database takes to find the event. */
const eventRow = sql<Record<string, unknown>>`to_json(${votingEvents})`;
const inviteRow = sql<Record<string, unknown> | null>`to_json(${eventInvites})`;

/** Every request about an event begins here: it takes one round trip, unique indexes only, and named statements, which keep their plans. */
function prepareStatements(db: Database) {
  // Compare both columns of the code: the event's tag covers `code` but not `code_key`, so other SQL could give a code to another event.
  const byCode = and(eq(votingEvents.codeKey, reference), sql`lower(${votingEvents.code}) = ${reference}`);
  const byId = eq(votingEvents.id, reference);
  const prepare = (isNamed: SQL | undefined, name: string) =>
    db
      .select({ event: eventRow, ownerPlan, invite: inviteRow })
      .from(votingEvents)
      .leftJoin(eventInvites, and(eq(eventInvites.votingEventId, votingEvents.id), eq(eventInvites.accountId, asker)))
      .where(
        and(
          isNamed,
          isNull(votingEvents.deletedAt),
          or(eq(votingEvents.accountId, asker), isNotNull(eventInvites.role)),
        ),
      )
      .prepare(name);
  const prepareOpen = (isNamed: SQL | undefined, name: string) =>
    db
      .select({ event: eventRow, ownerPlan })
      .from(votingEvents)
      .where(and(isNamed, isNull(votingEvents.deletedAt), eq(votingEvents.logOpen, true)))
      .prepare(name);
  return {
    byId: prepare(byId, 'find_event_access_by_id'),
    byCode: prepare(byCode, 'find_event_access_by_code'),
    openById: prepareOpen(byId, 'find_open_event_by_id'),
    openByCode: prepareOpen(byCode, 'find_open_event_by_code'),
  };
}

const prepared = new WeakMap<Database, ReturnType<typeof prepareStatements>>();

const statementsOf = (db: Database) => prepared.getOrInsertComputed(db, prepareStatements);

/** The event with an ID or code, if the account owns it or has accepted an invite to it (completions 2.2). */
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
  const { ownerPlan } = row;
  const stored = rowOfJson(votingEvents, row.event);
  const isForged = !isGenuineEvent(secrets, stored);
  const event = isForged ? { ...stored, finalAt: null } : stored;
  if (event.accountId === accountId) return { event, ownerPlan, isForged, role: 'owner' };
  const invite = row.invite === null ? null : rowOfJson(eventInvites, row.invite);
  if (invite === null || !isGenuineInvite(secrets, invite, event)) return undefined;
  return { event, ownerPlan, isForged, role: invite.role };
}

type ReadDeps = Pick<Deps, 'db' | 'secrets'>;

/** The event of any account with an ID or code, if its log is readable without a key. */
async function findOpenAccess({ db, secrets }: ReadDeps, named: string): Promise<EventAccess | undefined> {
  const statements = statementsOf(db);
  const [row] = isCode(named)
    ? await statements.openByCode.execute({ reference: named.toLowerCase() })
    : await statements.openById.execute({ reference: named });
  if (row === undefined) return undefined;
  const event = rowOfJson(votingEvents, row.event);
  return { event, ownerPlan: row.ownerPlan, isForged: !isGenuineEvent(secrets, event), role: 'viewer' };
}

/** As `findAccess`, but undefined for a forged event: SQL may have given the account an event of another account. */
export async function findGenuineAccess(...of: Parameters<typeof findAccess>): Promise<EventAccess | undefined> {
  const found = await findAccess(...of);
  return found?.isForged === true ? undefined : found;
}

/** As `findGenuineAccess`. Also finds an event of another cell (another of the service's databases) that is shared with the account. */
export async function findSeenAccess(deps: Deps, accountId: string, named: string): Promise<EventAccess | undefined> {
  const found = await findGenuineAccess(deps, accountId, named);
  if (found !== undefined || deps.cells.size === 1) return found;
  const names = await listGuestCells(deps.db, accountId);
  const cells = otherCells(deps).filter(({ cell }) => names.includes(cell));
  return firstOfCells(cells, (cell) => findGenuineAccess(cell, accountId, named));
}

/** An event that an account may see, by ID or code. @throws ApiError `not_found` */
export async function findEventByReference(deps: ReadDeps, accountId: string, reference: string): Promise<VotingEvent> {
  const found = orNotFound(await findGenuineAccess(deps, accountId, reference));
  return found.event;
}

/** Removes from a list the events whose invite of the account is forged. */
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

/** For the operator: the event of any account with an ID or code. @throws ApiError `not_found` */
export const findAnyEvent = async (executor: Executor, reference: string): Promise<VotingEvent> =>
  orNotFound(await findEvent(executor, reference));

/** How long an event is cached. It bounds the age even if the notification of a change is lost. */
const KEPT_MS = SECOND_MS;
/** Memory for cached events. 16,000 events without long texts fit in. */
const KEPT_BYTES = 64 * 2 ** 20;
/** Number of changed events that are remembered: each for longer than an event is cached. */
const MAX_CHANGES = 100_000;

type Ask = () => Promise<EventAccess | undefined>;

interface Kept {
  readonly access: EventAccess;
  /** Time of `performance.now()` before the query was sent. */
  readonly readAt: number;
}

/** About how many bytes of memory a cached event takes. */
const bytesOf = ({ access: { event } }: Kept): number =>
  4_000 + 4 * (event.description?.length ?? 0) + 1_000 * event.missing.length;

/**
 * Caches the events that voters' servers name in every request. A cached event can be a second old, so no write relies only on it: each
 * writing statement checks the stored state of the event and the version of its definition. Drafts and unknown events are not cached, so
 * that a published event is found at once.
 */
export class EventCache {
  readonly #deps: ReadDeps;
  readonly #kept = new RecentMap<Kept>(KEPT_BYTES, bytesOf);
  readonly #reading = new Map<string, Promise<EventAccess | undefined>>();
  /** When an event changed last, by its ID; and when all events may have changed. An event that was read earlier is not used. */
  readonly #changedAt = new RecentMap<number>(MAX_CHANGES);
  #allChangedAt = 0;

  constructor(deps: ReadDeps) {
    this.#deps = deps;
  }

  /** As `findAccess`, at most a second old. */
  find(accountId: string, named: string, nowMs: number): Promise<EventAccess | undefined> {
    return this.#find(accountId, named, nowMs, () => findAccess(this.#deps, accountId, named));
  }

  /** As `findOpenAccess`, at most a second old. */
  findOpen(named: string, nowMs: number): Promise<EventAccess | undefined> {
    return this.#find('', named, nowMs, () => findOpenAccess(this.#deps, named));
  }

  async #find(accountId: string, named: string, nowMs: number, ask: Ask): Promise<EventAccess | undefined> {
    // A code has up to 4,096 spellings in upper and lower case, which share one entry.
    const name = `${accountId} ${isCode(named) ? named.toLowerCase() : named}`;
    const kept = this.#kept.get(name);
    if (kept !== undefined && this.#isFresh(kept)) return kept.access;
    const reading = this.#reading.get(name);
    if (reading !== undefined) return reading;
    const read = this.#read(name, nowMs, ask).finally(() => {
      if (this.#reading.get(name) === read) this.#reading.delete(name);
    });
    this.#reading.set(name, read);
    return read;
  }

  #isFresh({ access, readAt }: Kept): boolean {
    const changedAt = Math.max(this.#allChangedAt, this.#changedAt.get(access.event.id) ?? 0);
    return readAt > changedAt && performance.now() - readAt < KEPT_MS;
  }

  /** Drops an event that may have changed. */
  forget(eventId: string): void {
    this.#reading.clear();
    this.#changedAt.set(eventId, performance.now());
  }

  forgetAll(): void {
    this.#reading.clear();
    this.#allChangedAt = performance.now();
  }

  async #read(name: string, nowMs: number, ask: Ask): Promise<EventAccess | undefined> {
    const readAt = performance.now();
    const access = await ask();
    if (access !== undefined && statusAt(access.event, nowMs) !== 'draft') this.#kept.set(name, { access, readAt });
    return access;
  }
}
