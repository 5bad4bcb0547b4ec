import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { CloseOpening } from '#src/ballot-log/close-opening.ts';
import { type ClosedLog, findOpenedClose } from '#src/ballot-log/find-close.ts';
import { hashOfJson } from '#src/ballot-log/leaf.ts';
import { openSeed } from '#src/ballot-log/lot.ts';
import { findHead } from '#src/ballot-log/repository.ts';
import type { FinalCount } from '#src/ballot-log/seal-ballots.ts';
import type { NoteVerifier } from '#src/ballot-log/signed-note.ts';
import { isSealed } from '#src/ballots/waiting-ballot.ts';
import type { Database } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { SharedTurns } from '#src/platform/shared-turns.ts';
import type { Lot, RoundPage } from '#src/tally/types.ts';
import { type CheckedRoll, readTurnoutByGroup } from '#src/voters/check-roll.ts';
import { isFinalAt, keepsBack, statusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { DISCLOSED_TOGETHER, disclosureOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { askCount, type Moment, type Question } from './ask-count.ts';
import { ballotsOf, type Disclosure, NOTHING_SHOWN, openSnapshot, type PublicSnapshot } from './disclosure.ts';
import type { EventResults } from './event-results.ts';
import { readBox } from './read-box.ts';
import { type CountInputs, readCountInputs } from './read-count-inputs.ts';
import { BallotDefinitionLacks, RunningCount } from './running-count.ts';
import { type Counted, describe, shape } from './shape-count.ts';

/** The audience of a count. An auditor, which no API key can be, gets every confirmed ballot, even while some are kept back. */
export type ResultsAudience = 'organizer' | 'public' | 'auditor';

/** Memory of running counts, a quarter of a thread's: 10,000 of ten candidates, or 5 of 1,000 candidates in each of 100 positions. */
const KEPT_BYTES = 256 * 2 ** 20;

export interface RoundQuestion {
  readonly positionId: string;
  readonly fromRound: number;
}

/** `Moment`, with the lot that decides ties. */
interface Present extends Moment {
  readonly seed: Buffer | undefined;
  readonly lot: Lot | null;
}

interface Count {
  readonly results: EventResults;
  /** Number of all confirmed ballots at that moment, including ballots that the audience may not see yet. */
  readonly confirmed: number;
  /** The weight of the ballots that the audience sees, as an exact decimal. */
  readonly weight: string;
}

/** Which ballots a report counts: the disclosed ones, all, or all except ballots whose payment was reversed after the close. */
type ReportKind = 'disclosed' | 'whole' | 'after reversals';

/** `copy`, which is a read replica if there is one, reads the ballots of closed events. */
interface CounterDeps extends Pick<Deps, 'db' | 'copy' | 'secrets' | 'ballotKeys' | 'definitions'> {
  readonly logKey: NoteVerifier;
  readonly disclosure?: Pick<Disclosure, 'step' | 'remember'>;
}

/**
 * Keeps a running count for each event and adds only newly logged ballots, so that the cost of a request does not grow with the event.
 * One count of an event runs at a time; callers that arrive meanwhile share the next one. A change of the event's definition restarts the
 * count.
 */
export class EventCounter {
  readonly #deps: CounterDeps;
  readonly #db: Database;
  readonly #counts = new RecentMap<RunningCount>(KEPT_BYTES, ({ heldBytes }) => heldBytes);
  /** By `ReportKind`: the last report of a count, with the fingerprint of its inputs (`describe`). */
  readonly #reports = new WeakMap<
    RunningCount,
    Map<ReportKind, { readonly madeOf: string; readonly counted: Counted }>
  >();
  readonly #turns = new SharedTurns();

  /** @param deps with `disclosure`, each count first makes the disclosure step that is due */
  constructor(deps: CounterDeps) {
    this.#deps = deps;
    this.#db = deps.db;
  }

  /** The results of an event now (completions 5), including every ballot confirmed before the call. */
  async results(definition: BallotDefinition, audience: ResultsAudience, nowMs: number): Promise<EventResults> {
    return (await this.count(definition, audience, nowMs)).results;
  }

  /** `results`, and the number of all confirmed ballots. */
  async count(definition: BallotDefinition, audience: ResultsAudience, nowMs: number): Promise<Count> {
    try {
      return await this.#shared(definition, audience, nowMs);
    } catch (fault) {
      if (!(fault instanceof BallotDefinitionLacks)) throw fault;
      const newer = await this.#newerDefinition(definition);
      if (newer === undefined) throw fault;
      return this.count(newer, audience, nowMs);
    }
  }

  /** The result for the log's close leaf. Lots use the root before this leaf. @throws BallotDefinitionLacks for an old definition */
  async finalCount(definition: BallotDefinition, nowMs: number, roll: CheckedRoll | undefined): Promise<FinalCount> {
    const { results } = await this.#inTurn(definition.event.id, () =>
      this.#count(definition, 'auditor', nowMs, { roll }),
    );
    const { positions, stats, lot } = results;
    if (lot.root === null) throw new Error('an event closes whose log has not opened');
    return { result: resultOf({ positions }), abstentions: stats.abstentions, lotRoot: Buffer.from(lot.root, 'hex') };
  }

  /** A page of the present rounds of a position; undefined for an unknown position. */
  async rounds(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    { positionId, fromRound }: RoundQuestion,
  ): Promise<RoundPage | undefined> {
    const number = definition.positionById.get(positionId)?.number;
    if (number === undefined) return undefined;
    return this.#inTurn(definition.event.id, async () => {
      const close = await this.#findClose(definition.event, nowMs);
      const { lot, ...present } = await this.#present(definition, audience, nowMs, close);
      return askCount(this.#db, definition, present, async (count, options) =>
        count.rounds(number, { ...options, lot }, fromRound),
      );
    });
  }

  /** The next count of these results. All callers that ask before it begins share it. */
  #shared(definition: BallotDefinition, audience: ResultsAudience, nowMs: number): Promise<Count> {
    const { event } = definition;
    const name = `${event.id} ${event.definitionVersion} ${statusAt(event, nowMs)} ${audience}`;
    return this.#turns.share(
      event.id,
      name,
      this.#whole(event.id, () => this.#count(definition, audience, nowMs)),
    );
  }

  /** The current definition if it is newer, otherwise undefined. The caller's copy of the event may be a second old. */
  async #newerDefinition(definition: BallotDefinition): Promise<BallotDefinition | undefined> {
    const event = await findEventById(this.#db, definition.event.id);
    const newer = event === undefined ? undefined : await this.#deps.definitions.get(event);
    return newer !== undefined && newer.event.definitionVersion > definition.event.definitionVersion
      ? newer
      : undefined;
  }

  /** Failed work may leave the running count half updated. Drops the count then, so that the next count starts from zero. */
  #whole<T>(eventId: string, work: () => Promise<T>): () => Promise<T> {
    return () =>
      work().catch((fault: unknown) => {
        this.#counts.delete(eventId);
        throw fault;
      });
  }

  #inTurn<T>(eventId: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(eventId, this.#whole(eventId, work));
  }

  #running(definition: BallotDefinition): RunningCount {
    const kept = this.#counts.get(definition.event.id);
    return kept?.definitionVersion === definition.event.definitionVersion ? kept : new RunningCount(definition);
  }

  /** @param close undefined before the close; `Closing` while the close leaf is made. Lots are drawn with the root before this leaf. */
  async #present(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    close: ClosedLog | Closing | undefined,
    isAgain = false,
  ): Promise<Present> {
    const { event } = definition;
    const running = this.#running(definition);
    // Only the count of a closed event reads the replica: an open event changes with each ballot, and a close needs the exact state.
    const source = close === undefined || isClosing(close) ? this.#db : this.#deps.copy;
    const whole = await this.#catchUp(source, event.id, running, keepsBack(event, nowMs));
    // Store it after each count: its new ballots take memory, and the map evicts counts of events that were not asked for lately.
    this.#counts.set(event.id, running);
    // The public always gets the count in disclosure steps. Organizers do if a weight is so rare that it would show its holders' votes.
    const isInSteps = audience === 'public' || (audience === 'organizer' && whole.rare);
    const shown = keepsBack(event, nowMs) && isInSteps ? await this.#shown(event, whole.snapshot) : undefined;
    const secrets = shown === undefined ? await this.#secretsFor(event, whole) : this.#deps.secrets;
    // The log was closed meanwhile, and the event's key destroyed: ballots that waited are logged now. If one still waits, it is forged.
    if (secrets === undefined && !isAgain) return this.#present(definition, audience, nowMs, close, true);
    const inputs = isClosing(close) ? measuredBy(whole, close) : whole;
    const seed = inputs.seed === undefined ? undefined : openSeed(this.#deps.secrets, event, inputs.seed);
    const root = isClosing(close) ? inputs.log.root() : close?.rootBefore;
    // The seed of the lot is secret until the result is final, because a voter who knows it could calculate how to break a tie.
    const lot =
      seed === undefined || root === undefined
        ? null
        : { seed: seed.toString('hex'), root: Buffer.from(root).toString('hex') };
    return { running, inputs, shown, seed, lot, secrets: secrets ?? this.#deps.secrets };
  }

  /** The keys of waiting ballots; undefined if the event's key is destroyed. Logged ballots are not encrypted, and need no key. */
  #secretsFor(event: VotingEvent, { queue, voided, reversed }: CountInputs): Promise<Secrets | undefined> | Secrets {
    const isAnySealed = [...queue, ...voided, ...reversed].some(({ entries }) => isSealed(entries));
    return isAnySealed ? this.#deps.ballotKeys.find(event) : this.#deps.secrets;
  }

  async #count(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    closing?: Closing,
  ): Promise<Count> {
    const { event } = definition;
    // Read the close before the inputs, so that the inputs contain the lot of this close.
    const close = await this.#findClose(event, nowMs);
    const present = await this.#present(definition, audience, nowMs, closing ?? close);
    const { running, inputs, shown, seed, lot } = present;
    const counted = await this.#report(definition, present, shown === undefined ? 'whole' : 'disclosed');
    const { stats, positions, isForged } = counted;
    const left = inputs.reversed.length === 0 ? null : await this.#report(definition, present, 'after reversals');
    const { identity, roll } = inputs.changes;
    const byGroup = close === undefined || event.type === 'poll' ? [] : await readTurnoutByGroup(this.#db, event.id);
    // The result is shown as final only if it equals what the signed close leaf commits to (completions 6.3).
    const seedHash = seed === undefined ? null : sha256(seed).toString('hex');
    const final =
      close?.opening !== undefined &&
      close.seedHash === seedHash &&
      isAsClosed(close.opening, counted, { title: event.title, identityChanges: identity, rollChanges: roll, byGroup });
    const results = {
      // All forms of these figures must say that they are of a rehearsal (completions 10.5).
      ...(event.rehearsalSince === null ? {} : { rehearsal: true as const }),
      votingEventId: event.id,
      title: event.title,
      final,
      disputed: inputs.disputed || isForged || (close !== undefined && !final),
      asOf: nowMs,
      stats: {
        ...stats,
        identityChanges: identity,
        rollChanges: roll,
        lettersPrinted: inputs.letters,
        disclosure: disclosureOf(event, inputs.undisclosed > 0),
      },
      positions,
      afterReversals: left === null ? null : { ballots: left.stats.ballots, positions: left.positions },
      byGroup: final ? byGroup : null,
      log: {
        size: inputs.log.size,
        rootHash: Buffer.from(inputs.log.root()).toString('base64'),
        close: close?.opening ?? null,
      },
      lot: {
        seedHash,
        seed: lot?.seed ?? null,
        root: lot?.root ?? null,
      },
    };
    const confirmed = shown === undefined ? stats.ballots : running.ballots + inputs.queue.length;
    return { results, confirmed, weight: counted.weight };
  }

  /** The close of the log; undefined until the event is over. */
  async #findClose(event: VotingEvent, nowMs: number): Promise<ClosedLog | undefined> {
    return isFinalAt(event, nowMs) ? this.#readClose(event) : undefined;
  }

  async #readClose(event: VotingEvent): Promise<ClosedLog | undefined> {
    return findOpenedClose(this.#deps, event, await findHead(this.#db, event.id));
  }

  /** Adds the newly logged ballots to the count. @returns the other inputs of the same moment */
  async #catchUp(db: Database, eventId: string, running: RunningCount, isKeptBack: boolean): Promise<CountInputs> {
    let disclosed = false;
    for (;;) {
      const inputs = await readCountInputs(db.$client, eventId, running.lastLeaf, isKeptBack);
      if (inputs.box === undefined) {
        running.lastLeaf = await readBox(
          db,
          eventId,
          running.lastLeaf,
          (bytes, start, end, weightMicro) => running.addPacked(bytes, start, end, weightMicro, 1),
          (ballots) => running.expect(ballots),
        );
      } else if (!disclosed && inputs.undisclosed >= DISCLOSED_TOGETHER && this.#deps.disclosure !== undefined) {
        await this.#deps.disclosure.step(eventId);
        disclosed = true;
      } else {
        await running.add(inputs.box.ballots, 1);
        running.lastLeaf = inputs.box.last;
        return inputs;
      }
    }
  }

  /**
   * The public snapshot. It is empty before the first step, or if the service did not write the row. Undefined shows everything: the log
   * was closed since the caller read the event, and the snapshot's key was destroyed.
   */
  async #shown(event: VotingEvent, sealed: Buffer | undefined): Promise<PublicSnapshot | undefined> {
    const secrets = sealed === undefined ? undefined : await this.#deps.ballotKeys.find(event);
    if (sealed === undefined || secrets === undefined)
      return (await this.#readClose(event)) === undefined ? NOTHING_SHOWN : undefined;
    const snapshot = openSnapshot(secrets, event.id, sealed) ?? NOTHING_SHOWN;
    this.#deps.disclosure?.remember(event, ballotsOf(snapshot));
    return snapshot;
  }

  /** The report of a moment. If the inputs are those of the last report, returns that report. */
  async #report(definition: BallotDefinition, present: Omit<Present, 'seed'>, kind: ReportKind): Promise<Counted> {
    const { running, inputs, shown, lot } = present;
    const reports = this.#reports.getOrInsertComputed(running, () => new Map());
    const madeOf = describe(running, inputs, shown, lot);
    const known = reports.get(kind);
    if (known?.madeOf === madeOf) return known.counted;
    const leftOut = kind === 'after reversals' ? inputs.reversed : [];
    const report: Question<Counted> = async (count, options, isForged) => ({
      ...(await shape(count, { ...options, lot })),
      isForged,
    });
    const counted = await askCount(this.#db, definition, present, report, leftOut);
    reports.set(kind, { madeOf, counted });
    return counted;
  }
}

/** Hashes of counted positions. They are kept because reports are reused. */
const hashes = new WeakMap<EventResults['positions'], string>();

/** Input of a close. In an election, the checked roll replaces the stored sums of the electorate. */
interface Closing {
  readonly roll: CheckedRoll | undefined;
}

const isClosing = (close: ClosedLog | Closing | undefined): close is Closing => close !== undefined && 'roll' in close;

function measuredBy(inputs: CountInputs, { roll }: Closing): CountInputs {
  if (roll === undefined) return inputs;
  const byGroup = new Map([...roll.byGroup].map(([id, { weightMicro }]) => [id, weightMicro]));
  return { ...inputs, electorate: { ...inputs.electorate, weightMicro: roll.weightMicro, byGroup } };
}

/** Hashes the positions as JSON, because API clients can hash only JSON. */
function resultOf({ positions }: Pick<Counted, 'positions'>): string {
  return hashes.getOrInsertComputed(positions, () => hashOfJson(JSON.parse(JSON.stringify(positions))));
}

/** Whether a result equals the data to which the `close` leaf commits. */
function isAsClosed(
  opening: CloseOpening,
  counted: Counted,
  shown: Pick<CloseOpening, 'title' | 'identityChanges' | 'rollChanges' | 'byGroup'>,
): boolean {
  const { salt: _, config, participants, electorate, ...figures } = opening;
  const { stats, weight } = counted;
  const own = { ...shown, weight, ballots: stats.ballots, abstentions: stats.abstentions, result: resultOf(counted) };
  return canonicalJson(figures) === canonicalJson(own) && (electorate?.weight ?? null) === counted.electorate;
}
