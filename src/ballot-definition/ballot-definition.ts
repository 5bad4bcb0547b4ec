import { atOneMoment, type Database, type Executor, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { findTarget } from '#src/http/middleware.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { SharedTurns } from '#src/platform/shared-turns.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import { refuseForged } from '#src/voting-events/forged-rows.ts';
import { holdForChange, MAX_CANDIDATE_NUMBER } from '#src/voting-events/guard-change.ts';
import { endsOf } from '#src/voting-events/lifecycle.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import type { Price, VotingEvent } from '#src/voting-events/voting-event.ts';
import { topUpPrices } from './record-ballot-change.ts';
import { type BallotRows, listGroups, listParts, listPositions, readSmallBallot } from './repository.ts';
import type { Candidate, Group, Position, Sponsor } from './types.ts';

export interface BallotPosition extends Position {
  /** Approved candidates, which a voter may choose. */
  readonly candidates: readonly Candidate[];
  /** Approved and withdrawn candidates, which a stored ballot may name. */
  readonly everCandidates: readonly Candidate[];
  /** Candidates of any status, so that a count finds every candidate that a ballot names. */
  readonly allCandidates: readonly Candidate[];
  /** `maxSelections`, or the number of candidates if the organizer set no limit. */
  readonly selectionLimit: number;
  /** `minSelections`, but at most the number of candidates: after a withdrawal people must still be able to vote. */
  readonly selectionFloor: number;
}

/** Everything that decides whether a ballot is valid, read from one snapshot. Immutable: a change creates a new version. */
export interface BallotDefinition {
  readonly event: VotingEvent;
  readonly positions: readonly BallotPosition[];
  readonly candidates: readonly Candidate[];
  readonly groups: readonly Group[];
  readonly sponsors: readonly Sponsor[];
  readonly positionById: ReadonlyMap<string, BallotPosition>;
  readonly positionByNumber: ReadonlyMap<number, BallotPosition>;
  readonly candidateById: ReadonlyMap<string, Candidate>;
  readonly candidateByNumber: ReadonlyMap<number, Candidate>;
  /** True if SQL outside the service changed rows that confirmed ballots depend on: no ballot may then be cast or confirmed. */
  readonly isForged: boolean;
  /** False if the event had no ballot log in the snapshot that was read: there is then no logged definition that it could differ from. */
  readonly mayBeLogged: boolean;
}

/** Whether the service can have written a candidate. SQL could forge numbers or repeat positions to falsify counts or exhaust memory. */
const isOwn = ({ number, positionIds }: Candidate): boolean =>
  number > 0 && number <= MAX_CANDIDATE_NUMBER && new Set(positionIds).size === positionIds.length;

export function assembleBallotDefinition(event: VotingEvent, rows: BallotRows): BallotDefinition {
  // One pass for all positions: a pass for each would read a thousand candidates a hundred times.
  const standing = new Map<string, Candidate[]>(rows.positions.map(({ id }) => [id, []]));
  for (const candidate of rows.candidates)
    if (candidate.number <= MAX_CANDIDATE_NUMBER)
      for (const id of new Set(candidate.positionIds)) standing.get(id)?.push(candidate);
  const positions = rows.positions.map((position): BallotPosition => {
    const allCandidates = standing.get(position.id) ?? [];
    const everCandidates = allCandidates.filter(({ status }) => status === 'approved' || status === 'withdrawn');
    const candidates = everCandidates.filter((candidate) => candidate.status === 'approved');
    return {
      ...position,
      candidates,
      everCandidates,
      allCandidates,
      selectionLimit: position.maxSelections ?? Math.max(1, candidates.length),
      selectionFloor: Math.min(position.minSelections, candidates.length),
    };
  });
  return {
    ...rows,
    event,
    isForged: !rows.candidates.every(isOwn),
    positions,
    positionById: new Map(positions.map((position) => [position.id, position])),
    positionByNumber: new Map(positions.map((position) => [position.number, position])),
    candidateById: new Map(rows.candidates.map((candidate) => [candidate.id, candidate])),
    candidateByNumber: new Map(rows.candidates.map((candidate) => [candidate.number, candidate])),
  };
}

/** Reads a definition from one snapshot, so that event, positions and candidates belong together. Undefined if the event is gone. */
export async function loadBallotDefinition(
  db: Database,
  eventId: string,
  known?: VotingEvent,
): Promise<BallotDefinition | undefined> {
  const small = await readSmallBallot(db.$client, eventId, known);
  if (small !== 'large') return small && assembleBallotDefinition(small.event, small);
  return atOneMoment(db, async (tx) => {
    const event = await findEventById(tx, eventId);
    return event === undefined ? undefined : readBallotDefinition(tx, event);
  });
}

/** Reads a definition. The transaction must hold the event's lock or read from one snapshot. */
const readBallotDefinition = async (tx: Transaction, event: VotingEvent): Promise<BallotDefinition> =>
  assembleBallotDefinition(event, { ...(await listParts(tx, event.id)), mayBeLogged: true });

type IsForged = (db: Database, definition: BallotDefinition) => Promise<boolean>;

/** Whether a cached definition is at least as new as the event. At equal versions, only direct SQL makes the ends differ. */
const isAsNew = (kept: BallotDefinition, event: VotingEvent): boolean =>
  kept.event.definitionVersion > event.definitionVersion ||
  (kept.event.definitionVersion === event.definitionVersion && endsOf(kept.event) === endsOf(event));

/** Above this sum of description characters and ten times the choices, reading a definition takes tens of milliseconds. */
const LARGE = 100_000;

/** Characters of all descriptions of a ballot. */
const describedIn = ({ positions, candidates, groups }: BallotDefinition): number =>
  [...positions, ...candidates, ...groups].reduce((sum, { description }) => sum + (description?.length ?? 0), 0);

/** Candidates, counted once for each of their positions. */
export const choicesIn = ({ positions }: BallotDefinition): number =>
  positions.reduce((sum, { allCandidates }) => sum + allCandidates.length, 0);

const isLarge = (definition: BallotDefinition | undefined): boolean =>
  definition !== undefined && describedIn(definition) + 10 * choicesIn(definition) > LARGE;

/** Memory of the cache, in bytes: 4,000 definitions of ten candidates, or 11 definitions of 1,000 candidates in each of 100 positions. */
const KEPT_BYTES = 128 * 2 ** 20;

const partsOf = ({ positions, candidates, groups, sponsors }: BallotDefinition): object[] => [
  ...positions,
  ...candidates,
  ...groups,
  ...sponsors,
];

/** Characters of all texts of a definition, including names and addresses: a thousand sponsors can have megabytes of them. */
export const charactersIn = (definition: BallotDefinition): number =>
  partsOf(definition)
    .flatMap((part) => Object.values(part))
    .reduce((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);

/** Estimates the bytes in memory of a definition and of the texts of its ballot (`BallotText`). */
function bytesOf(definition: BallotDefinition): number {
  const topUps = definition.positions.map(({ quadraticTopUp }) => JSON.stringify(quadraticTopUp ?? ''));
  const characters = charactersIn(definition) + topUps.join('').length;
  return 20_000 + 100 * choicesIn(definition) + 1_000 * partsOf(definition).length + 4 * characters;
}

/** Caches definitions by event. An outdated definition does no harm: each write checks that its definition's version is current. */
export class BallotDefinitionCache {
  readonly #db: Database;
  readonly #definitions: RecentMap<BallotDefinition>;
  readonly #loading = new Map<string, Promise<BallotDefinition | undefined>>();
  /** Loads of one account take turns, with a rest after a large one: an account that keeps changing a large ballot blocks no other. */
  readonly #turns = new SharedTurns<BallotDefinition | undefined>({ rests: isLarge });
  readonly #isForged: IsForged;

  /** @param isForged called for each definition that is read; omitted in a thread that only counts ballots */
  constructor(db: Database, isForged: IsForged = async () => false, keptBytes = KEPT_BYTES) {
    this.#db = db;
    this.#isForged = isForged;
    this.#definitions = new RecentMap(keptBytes, bytesOf);
  }

  /** A definition at least as new as `event`, which the caller has just read. Undefined if the event is gone. */
  async get(event: VotingEvent): Promise<BallotDefinition | undefined> {
    const kept = this.#definitions.get(event.id);
    if (kept !== undefined && isAsNew(kept, event)) return kept;
    const load = () => this.#turns.share(event.accountId, event.id, () => this.#load(event));
    const loaded = await (this.#loading.get(event.id) ?? load());
    // The running load may have begun before the event's version was committed: its callers then share the next load.
    return loaded === undefined || isAsNew(loaded, event) ? loaded : load();
  }

  /** The present definition; the event stays locked until the transaction ends. Takes no second connection, which could deadlock. */
  async getForUpdate(tx: Transaction, eventId: string): Promise<BallotDefinition | undefined> {
    const event = await holdEvent(tx, eventId);
    if (event === undefined) return undefined;
    const kept = this.#definitions.get(eventId);
    // Settings that no ballot depends on change without a new version, so the event comes from the locked row, not the cache.
    return kept?.event.definitionVersion === event.definitionVersion
      ? { ...kept, event }
      : readBallotDefinition(tx, event);
  }

  async #load(event: VotingEvent): Promise<BallotDefinition | undefined> {
    const { id: eventId } = event;
    const loading = this.#read(event).finally(() => this.#loading.delete(eventId));
    this.#loading.set(eventId, loading);
    const definition = await loading;
    // A forged definition is not cached, because it may be repaired without a new version.
    if (definition === undefined || definition.isForged) this.#definitions.delete(eventId);
    else this.#definitions.set(eventId, definition);
    return definition;
  }

  async #read(event: VotingEvent): Promise<BallotDefinition | undefined> {
    const definition = await loadBallotDefinition(this.#db, event.id, event);
    return definition && { ...definition, isForged: await this.#isForged(this.#db, definition) };
  }
}

/** The ballot definition of an event. @throws ApiError `not_found` if the event was deleted meanwhile */
export const requireBallotDefinition = async (definitions: BallotDefinitionCache, event: VotingEvent) =>
  orNotFound(await definitions.get(event));

/** Loads the event and its definition for an operation with a vote key. @throws ApiError 404, 403 */
export const loadPublicBallotDefinition = (deps: Pick<Deps, 'events' | 'definitions' | 'clock' | 'db' | 'log'>) =>
  findTarget(async (c) => {
    const caller = await requireVoteCaller(deps, c);
    const definition = await requireBallotDefinition(deps.definitions, caller.event);
    if (definition.isForged) throw await refuseForged(deps, caller.event.id);
    return { ...caller, definition };
  });

export const listGroupIds = async (executor: Executor, eventId: string): Promise<Set<string>> =>
  new Set((await listGroups(executor, eventId)).map((group) => group.id));

/** As `listGroupIds`; no group is deleted before this transaction ends. @throws ApiError 404 if the event is gone */
export async function holdGroupIds(tx: Transaction, eventId: string): Promise<Set<string>> {
  await holdForChange(tx, eventId);
  return listGroupIds(tx, eventId);
}

/** IDs of groups that keep their voters: groups not deleted, and groups that a position requires, even if other SQL deleted them. */
export async function listKeptGroupIds(executor: Executor, eventId: string): Promise<string[]> {
  const asked = (await listPositions(executor, eventId)).flatMap(({ groupId }) => groupId ?? []);
  return [...(await listGroupIds(executor, eventId)), ...asked];
}

/** Every price that an event and its positions ask for. */
export async function listPrices(
  executor: Executor,
  event: Pick<VotingEvent, 'id' | 'payToVote' | 'payToRegisterCandidate'>,
): Promise<Price[]> {
  const offers = (await listPositions(executor, event.id)).flatMap(({ quadraticTopUp }) => quadraticTopUp ?? []);
  const offered = offers.flatMap((offer) =>
    topUpPrices(offer).map(({ amountMinor }) => ({ currency: offer.currency, amountMinor })),
  );
  return [event.payToVote, event.payToRegisterCandidate, ...offered].filter((price) => price !== null);
}
