import type { BallotDefinition, BallotDefinitionCache } from '#src/ballot-definition/ballot-definition.ts';
import type { CloseOpening } from '#src/ballot-log/close-opening.ts';
import { type ClosedLog, findOpenedClose } from '#src/ballot-log/find-close.ts';
import { hashOfJson } from '#src/ballot-log/leaf.ts';
import { openSeed } from '#src/ballot-log/lot.ts';
import { findHead } from '#src/ballot-log/repository.ts';
import type { FinalCount } from '#src/ballot-log/seal-ballots.ts';
import type { NoteVerifier } from '#src/ballot-log/signed-note.ts';
import { listSealed } from '#src/ballots/box.ts';
import { isSealed, openBallot, openWaitingOrNot } from '#src/ballots/waiting-ballot.ts';
import type { Database } from '#src/database/client.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import type { Lot, RoundPage } from '#src/tally/types.ts';
import { type CheckedRoll, readTurnoutByGroup } from '#src/voters/check-roll.ts';
import { discloseVoters } from '#src/voters/disclose-voters.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import { isFinalAt, keepsBack, statusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { DISCLOSED_TOGETHER, disclosureOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { loadSnapshot, saveSnapshot } from './count-snapshots.ts';
import type { EventResults } from './event-results.ts';
import { readBox } from './read-box.ts';
import { type CountInputs, readCountInputs, type WaitingBallot } from './read-count-inputs.ts';
import { foldRollFigures } from './read-stats.ts';
import { BallotDefinitionLacks, type EventReportOptions, RunningCount } from './running-count.ts';
import { type Counted, describe, electorateOf, shape } from './shape-count.ts';

/** The reader of a count. An auditor gets every confirmed ballot, whatever is kept back; no API key is one. */
export type ResultsAudience = 'organizer' | 'public' | 'auditor';

const MAX_KEPT = 200;
/** Ballots that came into the box since the count was kept in the database last, until it is stored again. */
const WORTH_SAVING = 20_000n;

/** Which rounds are asked for. */
export interface RoundQuestion {
  readonly positionId: string;
  readonly fromRound: number;
}

/**
 * Whether the count moves with the disclosure: for the public always, for organizers where a weight has few holders, because a
 * weighted count would show how they voted.
 */
function isInSteps(audience: ResultsAudience, inputs: CountInputs): boolean {
  return audience === 'public' || (audience === 'organizer' && inputs.rare);
}

/** A count that has caught up, and what belongs to that moment. */
interface Present {
  readonly running: RunningCount;
  readonly inputs: CountInputs;
  readonly seed: Buffer | undefined;
  readonly lot: Lot | null;
}

/** What one count of an event says. */
interface Count {
  readonly results: EventResults;
  /** All confirmed ballots of that moment, those included that are kept back from the audience. */
  readonly confirmed: number;
}

/** Which report of an event: with ballots held back from the public, whole, or without those reversed after the close. */
type ReportKind = 'disclosed' | 'whole' | 'after reversals';

/**
 * Counts events: keeps a running count of each and adds only what came since, so that no request grows with the box.
 * One count at a time works on an event; those who ask while it works share the next one. A change of the event's definition
 * starts the count again.
 */
export class EventCounter {
  readonly #db: Database;
  readonly #secrets: Secrets;
  readonly #ballotKeys: BallotKeys;
  readonly #definitions: BallotDefinitionCache;
  readonly #logKey: NoteVerifier;
  readonly #keepsSnapshots: boolean;
  readonly #counts = new Map<string, RunningCount>();
  /** The last report of each event and audience, with what it was made of. */
  readonly #reports = new Map<string, { readonly madeOf: string; readonly counted: Counted }>();
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Counts that were asked for and have not begun. */
  readonly #waiting = new Map<string, Promise<Count>>();

  /** @param keepsSnapshots false for a recount: it goes through every ballot whatever was counted before */
  constructor(
    deps: {
      readonly db: Database;
      readonly secrets: Secrets;
      readonly ballotKeys: BallotKeys;
      readonly definitions: BallotDefinitionCache;
      readonly logKey: NoteVerifier;
    },
    keepsSnapshots = true,
  ) {
    this.#keepsSnapshots = keepsSnapshots;
    this.#db = deps.db;
    this.#secrets = deps.secrets;
    this.#ballotKeys = deps.ballotKeys;
    this.#definitions = deps.definitions;
    this.#logKey = deps.logKey;
  }

  /** The results of an event at this moment (completions 5); a confirm that was answered before is in them. */
  async results(definition: BallotDefinition, audience: ResultsAudience, nowMs: number): Promise<EventResults> {
    return (await this.count(definition, audience, nowMs)).results;
  }

  /** The same, with the number of all confirmed ballots. */
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

  /**
   * The result that the log's close leaf is to bear: lots are drawn from the root before it.
   * @throws BallotDefinitionLacks where the definition is older than a ballot
   */
  async finalCount(definition: BallotDefinition, nowMs: number, roll: CheckedRoll | undefined): Promise<FinalCount> {
    const { results } = await this.#inTurn(definition.event.id, () =>
      this.#count(definition, 'auditor', nowMs, { roll }),
    );
    const { positions, stats, lot } = results;
    if (lot.root === null) throw new Error('an event closes whose log has not opened');
    return { result: resultOf({ positions }), abstentions: stats.abstentions, lotRoot: Buffer.from(lot.root, 'hex') };
  }

  /** Some of the rounds of one position, at this moment; undefined where the position is not there or has none. */
  async rounds(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    { positionId, fromRound }: RoundQuestion,
  ): Promise<RoundPage | undefined> {
    const number = definition.positionById.get(positionId)?.number;
    if (number === undefined) return undefined;
    let page: RoundPage | undefined;
    await this.#inTurn(definition.event.id, async () => {
      const close = await this.#findClose(definition.event, nowMs);
      const { running, inputs, lot } = await this.#present(definition, audience, nowMs, close);
      await this.#withInputs(definition, running, inputs, async (options) => {
        page = running.rounds(number, { ...options, lot }, fromRound);
      });
    });
    return page;
  }

  /** The next count of these results, with all others who ask for it before it begins. */
  #shared(definition: BallotDefinition, audience: ResultsAudience, nowMs: number): Promise<Count> {
    const { event } = definition;
    const name = `${event.id} ${event.definitionVersion} ${statusAt(event, nowMs)} ${audience}`;
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) return waiting;
    const mine = this.#inTurn(event.id, () => {
      this.#waiting.delete(name);
      return this.#count(definition, audience, nowMs);
    });
    this.#waiting.set(name, mine);
    return mine;
  }

  /** The definition as it is now, where that is newer: the event that the caller read may be a second old. */
  async #newerDefinition(definition: BallotDefinition): Promise<BallotDefinition | undefined> {
    const event = await findEventById(this.#db, definition.event.id);
    const newer = event === undefined ? undefined : await this.#definitions.get(event);
    return newer !== undefined && newer.event.definitionVersion > definition.event.definitionVersion
      ? newer
      : undefined;
  }

  async #inTurn<T>(eventId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(eventId) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#turns.set(eventId, mine);
    try {
      return await mine;
    } catch (fault) {
      // Half a chunk may have been counted: the next count starts from the beginning.
      this.#counts.delete(eventId);
      throw fault;
    } finally {
      if (this.#turns.get(eventId) === mine) this.#turns.delete(eventId);
    }
  }

  async #running(definition: BallotDefinition): Promise<RunningCount> {
    const kept = this.#counts.get(definition.event.id);
    if (kept?.definitionVersion === definition.event.definitionVersion) return kept;
    if (this.#counts.size >= MAX_KEPT) {
      this.#counts.clear();
      this.#reports.clear();
    }
    const snapshot = this.#keepsSnapshots
      ? await loadSnapshot({ db: this.#db, secrets: this.#secrets }, definition)
      : undefined;
    const fresh = snapshot ?? new RunningCount(definition);
    this.#counts.set(definition.event.id, fresh);
    return fresh;
  }

  /** @param close what lots are drawn by: none before it, and the log as it stands for the close leaf that is about to be written */
  async #present(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    close: ClosedLog | Closing | undefined,
  ): Promise<Present> {
    const { event } = definition;
    const running = await this.#running(definition);
    const whole = await this.#catchUp(event.id, running, keepsBack(event, nowMs));
    const shown = isInSteps(audience, whole) ? whole : { ...whole, hidden: [] };
    const inputs = isClosing(close) ? measuredBy(shown, close) : shown;
    if (this.#keepsSnapshots && running.lastLeaf - running.savedLeaf >= WORTH_SAVING) {
      running.savedLeaf = running.lastLeaf;
      await saveSnapshot({ db: this.#db, secrets: this.#secrets }, definition, running, nowMs);
    }
    await foldRollFigures(this.#db, event.id, inputs.electorate.changes);
    const seed = inputs.lot === undefined ? undefined : openSeed(this.#secrets, event, inputs.lot.seed);
    const root = isClosing(close) ? inputs.log.root() : close?.rootBefore;
    // The seed is secret until the result is final: who knew it could reckon how to break a tie.
    const lot =
      seed === undefined || root === undefined
        ? null
        : { seed: seed.toString('hex'), root: Buffer.from(root).toString('hex') };
    return { running, inputs, seed, lot };
  }

  async #count(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    closing?: Closing,
  ): Promise<Count> {
    const { event } = definition;
    // Before the rest: what is closed then has the lot that it was drawn from.
    const close = await this.#findClose(event, nowMs);
    const { running, inputs, seed, lot } = await this.#present(definition, audience, nowMs, closing ?? close);
    const counted = await this.#report(definition, running, inputs, audience === 'public' ? 'disclosed' : 'whole', lot);
    const { stats, positions, isForged } = counted;
    const left =
      inputs.reversed.length === 0 ? null : await this.#report(definition, running, inputs, 'after reversals', lot);
    const { identity, roll } = inputs.changes;
    const byGroup = close === undefined ? [] : await readTurnoutByGroup(this.#db, event.id);
    // What is final is what was signed for, or it is not shown as that (completions 6.3).
    const seedHash = seed === undefined ? null : sha256(seed).toString('hex');
    const final =
      close?.opening !== undefined &&
      close.seedHash === seedHash &&
      isAsClosed(close.opening, counted, { title: event.title, identityChanges: identity, rollChanges: roll, byGroup });
    const results = {
      // In whatever form these figures are read, they say what they are (completions 10.5).
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
        disclosure: disclosureOf(event, inputs.waiting),
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
    return { results, confirmed: stats.ballots + inputs.hidden.length };
  }

  /** What the log is closed with; undefined for an event that is not over. */
  async #findClose(event: VotingEvent, nowMs: number): Promise<ClosedLog | undefined> {
    if (!isFinalAt(event, nowMs)) return undefined;
    const deps = { db: this.#db, logKey: this.#logKey };
    return findOpenedClose(deps, event, await findHead(this.#db, event.id));
  }

  /** Counts what came into the box, and gives the rest of that moment. */
  async #catchUp(eventId: string, running: RunningCount, isKeptBack: boolean): Promise<CountInputs> {
    const pool = this.#db.$client;
    let disclosed = false;
    for (;;) {
      const inputs = await readCountInputs(pool, eventId, running.lastLeaf, isKeptBack);
      if (inputs.box === undefined) {
        running.lastLeaf = await readBox(
          pool,
          eventId,
          running.lastLeaf,
          (bytes, start, end, weightMicro) => running.addPacked(bytes, start, end, weightMicro, 1),
          (ballots) => running.expect(ballots),
        );
      } else if (!disclosed && inputs.hidden.length >= DISCLOSED_TOGETHER) {
        await discloseVoters(this.#db, eventId);
        disclosed = true;
      } else {
        await running.add(inputs.box.ballots, 1);
        running.lastLeaf = inputs.box.last;
        return inputs;
      }
    }
  }

  /** The report of a moment: that of the one before where nothing came since. */
  async #report(
    definition: BallotDefinition,
    running: RunningCount,
    inputs: CountInputs,
    kind: ReportKind,
    lot: Lot | null,
  ): Promise<Counted> {
    const name = `${definition.event.id} ${kind}`;
    const madeOf = describe(running, inputs, lot);
    const known = this.#reports.get(name);
    if (known?.madeOf === madeOf) return known.counted;
    let counted: Counted | undefined;
    const leftOut = kind === 'after reversals' ? inputs.reversed : [];
    await this.#withInputs(
      definition,
      running,
      inputs,
      async (options, isForged) => {
        counted = { ...(await shape(running, { ...options, lot })), isForged };
      },
      leftOut,
    );
    if (counted === undefined) throw new Error('a count was asked for and not made');
    this.#reports.set(name, { madeOf, counted });
    return counted;
  }

  /** The tags of ballots that wait although they stand in the box. */
  async #listSealed(
    eventId: string,
    waiting: readonly (readonly [WaitingBallot, ReturnType<typeof openWaitingOrNot>])[],
  ): Promise<ReadonlySet<string>> {
    const tags = waiting.flatMap(([, opened]) => opened?.sealed?.codeTag ?? []);
    return new Set((await listSealed(this.#db, eventId, tags)).map((tag) => tag.toString('hex')));
  }

  /** Has the count hold, while it is asked, what belongs to the moment and is not in the box to stay. */
  async #withInputs(
    definition: BallotDefinition,
    running: RunningCount,
    inputs: CountInputs,
    ask: (options: Omit<EventReportOptions, 'lot'>, isForged: boolean) => Promise<void>,
    leftOut: readonly WaitingBallot[] = [],
  ): Promise<void> {
    const all = [...inputs.queue, ...inputs.hidden, ...inputs.voided, ...leftOut];
    // What stands in the log needs no key, so that a result outlives its own.
    const isAnySealed = all.some(({ entries }) => isSealed(entries));
    const secrets = (isAnySealed ? await this.#ballotKeys.find(definition.event) : undefined) ?? this.#secrets;
    // What waits and is not as the service wrote it, or stands in the box already, counts in no result (completions 6.7), and is not
    // taken from one either. A mark beside it decides nothing.
    const forged = new Set<string>();
    const waiting = inputs.queue.map(
      (one) => [one, openWaitingOrNot(secrets, definition.event, one.codeTag, one.entries)] as const,
    );
    const sealed = await this.#listSealed(definition.event.id, waiting);
    const queue = waiting.flatMap(([one, opened]) => {
      const isCopy = sealed.has((opened?.sealed?.codeTag ?? one.codeTag).toString('hex'));
      const isSound = opened !== undefined && !isCopy && (opened.sealed !== undefined || one.weightMicro === MICRO);
      if (!isSound) forged.add(one.codeTag.toString('hex'));
      return isSound ? [countable(one, opened)] : [];
    });
    const notCounted = [...inputs.hidden, ...inputs.voided, ...leftOut].flatMap((one) =>
      forged.has(one.codeTag.toString('hex'))
        ? []
        : [countable(one, openBallot(secrets, definition.event, one.codeTag, one.entries))],
    );
    await running.add(queue, 1);
    await running.add(notCounted, -1);
    const options = {
      electorateMicro: definition.event.type === 'election' ? electorateOf(inputs, running) : null,
      electorateByGroup: inputs.electorate.byGroup,
      wholeWeights: !inputs.fractional && running.fractional === 0,
      unitWeights: !inputs.weighted && running.weighted === 0,
    };
    await ask(options, forged.size > 0);
    await running.add(notCounted, 1);
    await running.add(queue, -1);
  }
}

/** The hashes of counted positions: a report that is shown again is not hashed again. */
const hashes = new WeakMap<EventResults['positions'], string>();

/** What an event is closed by: in an election the roll as it was checked, whatever figures stand beside it. */
interface Closing {
  readonly roll: CheckedRoll | undefined;
}

const isClosing = (close: ClosedLog | Closing | undefined): close is Closing => close !== undefined && 'roll' in close;

function measuredBy(inputs: CountInputs, { roll }: Closing): CountInputs {
  if (roll === undefined) return inputs;
  const byGroup = new Map([...roll.byGroup].map(([id, { weightMicro }]) => [id, weightMicro]));
  return { ...inputs, electorate: { ...inputs.electorate, weightMicro: roll.weightMicro, byGroup } };
}

/** As JSON has it: what readers of the API hash. */
function resultOf({ positions }: Pick<Counted, 'positions'>): string {
  const kept = hashes.get(positions) ?? hashOfJson(JSON.parse(JSON.stringify(positions)));
  hashes.set(positions, kept);
  return kept;
}

/** Whether a final result shows what the `close` leaf commits to. */
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

const countable = (one: WaitingBallot, { entries, sealed }: ReturnType<typeof openBallot>): WaitingBallot => ({
  ...one,
  entries,
  weightMicro: sealed?.weightMicro ?? one.weightMicro,
});
