import { atOneMoment, type Database, type Executor, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { findTarget } from '#src/http/middleware.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import { refuseForged } from '#src/voting-events/forged-rows.ts';
import { endsOf } from '#src/voting-events/lifecycle.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import type { Price, VotingEvent } from '#src/voting-events/voting-event.ts';
import { listCandidates, listGroups, listPositions, listSponsors } from './repository.ts';
import type { Candidate, Group, Position, Sponsor } from './types.ts';

/** A position with the candidates that stand for it, in their order. */
export interface BallotPosition extends Position {
  /** Approved candidates: those a voter may choose. */
  readonly candidates: readonly Candidate[];
  /** Approved and withdrawn candidates: those a stored ballot may name. */
  readonly everCandidates: readonly Candidate[];
  /** Whatever their status: a count never fails on one. */
  readonly allCandidates: readonly Candidate[];
  /** Resolved: as many as there are candidates where the organizer set no bound. */
  readonly selectionLimit: number;
  /** `minSelections`, or all candidates where fewer stand since one withdrew: the bound is frozen, and people must be able to vote. */
  readonly selectionFloor: number;
}

/** Everything that a ballot is judged by, read at one moment and never changed afterwards: a change makes a new version. */
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
  /** SQL changed what confirmed ballots depend on: no ballot is cast or confirmed by it. */
  readonly isForged: boolean;
}

/** Numbers are given one after the other; a count keeps four bytes of each position up to the largest. */
const MAX_CANDIDATE_NUMBER = 500_000;

/** Whether the service may have written a candidate: others make counts disagree, or take all memory. */
const isOwn = ({ number, positionIds }: Candidate): boolean =>
  number > 0 && number <= MAX_CANDIDATE_NUMBER && new Set(positionIds).size === positionIds.length;

export function assembleBallotDefinition(
  event: VotingEvent,
  rows: {
    positions: readonly Position[];
    candidates: readonly Candidate[];
    groups: readonly Group[];
    sponsors: readonly Sponsor[];
  },
): BallotDefinition {
  // One pass: a thousand candidates in a hundred positions each would be looked through a hundred times.
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

/** Reads a definition at one moment, so that its event, positions and candidates belong together. Undefined when the event is gone. */
export async function loadBallotDefinition(db: Database, eventId: string): Promise<BallotDefinition | undefined> {
  return atOneMoment(db, async (tx) => {
    const event = await findEventById(tx, eventId);
    return event === undefined ? undefined : readBallotDefinition(tx, event);
  });
}

/** Reads a definition within a transaction that keeps it from changing, or reads all as of one moment. */
async function readBallotDefinition(tx: Transaction, event: VotingEvent): Promise<BallotDefinition> {
  return assembleBallotDefinition(event, {
    positions: await listPositions(tx, event.id),
    candidates: await listCandidates(tx, event.id),
    groups: await listGroups(tx, event.id),
    sponsors: await listSponsors(tx, event.id),
  });
}

/** Whether SQL changed a definition, or the event that it is of. */
type IsForged = (db: Database, definition: BallotDefinition) => Promise<boolean>;

/** Whether a definition is that of an event as it was read, or newer. An end that moved without a new version was moved by SQL. */
const isAsNew = (kept: BallotDefinition, event: VotingEvent): boolean =>
  kept.event.definitionVersion > event.definitionVersion ||
  (kept.event.definitionVersion === event.definitionVersion && endsOf(kept.event) === endsOf(event));

const MAX_KEPT = 500;

/** Keeps definitions by version. What is kept can be old but never wrong: writes check the version they were judged by. */
export class BallotDefinitionCache {
  readonly #db: Database;
  readonly #definitions = new Map<string, BallotDefinition>();
  readonly #loading = new Map<string, Promise<BallotDefinition | undefined>>();
  readonly #isForged: IsForged;

  /** @param isForged asked when a definition is read; left out where no ballot is taken */
  constructor(db: Database, isForged: IsForged = async () => false) {
    this.#db = db;
    this.#isForged = isForged;
  }

  /** The definition at least as new as a version of the event that was just read. */
  async get(event: VotingEvent): Promise<BallotDefinition | undefined> {
    const kept = this.#definitions.get(event.id);
    if (kept !== undefined && isAsNew(kept, event)) return kept;
    const loading = this.#loading.get(event.id);
    const loaded = await (loading ?? this.#load(event.id));
    // A load that began before the version we ask for was made does not count.
    return loaded === undefined || isAsNew(loaded, event) ? loaded : this.#load(event.id);
  }

  /**
   * The definition as it is now, for a transaction that decides by it: no change of it can be committed before that ends.
   * Uses that transaction's connection alone: one that waited for a second would keep it from others that wait for it.
   */
  async getForUpdate(tx: Transaction, eventId: string): Promise<BallotDefinition | undefined> {
    const event = await holdEvent(tx, eventId);
    if (event === undefined) return undefined;
    const kept = this.#definitions.get(eventId);
    // What no ballot depends on changes without a new version: the event is the row that is held, whatever was kept of it.
    return kept?.event.definitionVersion === event.definitionVersion
      ? { ...kept, event }
      : readBallotDefinition(tx, event);
  }

  async #load(eventId: string): Promise<BallotDefinition | undefined> {
    const loading = this.#read(eventId).finally(() => this.#loading.delete(eventId));
    this.#loading.set(eventId, loading);
    const definition = await loading;
    // One that SQL changed is looked at again each time: it may have been mended without a new version.
    if (definition === undefined || definition.isForged) this.#definitions.delete(eventId);
    else {
      if (this.#definitions.size >= MAX_KEPT) this.#definitions.clear();
      this.#definitions.set(eventId, definition);
    }
    return definition;
  }

  async #read(eventId: string): Promise<BallotDefinition | undefined> {
    const definition = await loadBallotDefinition(this.#db, eventId);
    return definition && { ...definition, isForged: await this.#isForged(this.#db, definition) };
  }
}

/** The ballot of an event. @throws ApiError `not_found` where the event is gone meanwhile */
export async function requireBallotDefinition(
  definitions: BallotDefinitionCache,
  event: VotingEvent,
): Promise<BallotDefinition> {
  const definition = orNotFound(await definitions.get(event));
  return definition;
}

/** 404 and 403 of an operation for a vote key, with the ballot of the event. */
export const loadPublicBallotDefinition = (deps: Pick<Deps, 'events' | 'definitions' | 'clock' | 'db' | 'log'>) =>
  findTarget(async (c) => {
    const caller = await requireVoteCaller(deps, c);
    const definition = await requireBallotDefinition(deps.definitions, caller.event);
    if (definition.isForged) throw await refuseForged(deps, caller.event.id);
    return { ...caller, definition };
  });

/** The IDs of an event's groups, for checking a reference to one. */
export const listGroupIds = async (executor: Executor, eventId: string): Promise<Set<string>> =>
  new Set((await listGroups(executor, eventId)).map((group) => group.id));

/** The IDs of groups whose voters stay in them. One that a position asks for is not deleted by the service: SQL said so. */
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
    offer.pricingModel === 'ratio'
      ? [{ currency: offer.currency, amountMinor: offer.pricePerCreditMinor * offer.minCredits }]
      : offer.tiers.map(({ amountMinor }) => ({ currency: offer.currency, amountMinor })),
  );
  return [event.payToVote, event.payToRegisterCandidate, ...offered].filter((price) => price !== null);
}
