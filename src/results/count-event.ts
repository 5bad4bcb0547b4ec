import { readLogSize } from '#src/ballot-log/read-log.ts';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import { openEntries } from '#src/ballots/sealed-entries.ts';
import type { Database } from '#src/database/client.ts';
import { microToNumber } from '#src/platform/decimal.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import type { PositionResult } from '#src/tally/types.ts';
import { isFinalAt, secrecyOf, statusAt } from '#src/voting-events/lifecycle.ts';
import {
  hasFractionalWeights,
  readBox,
  readElectorate,
  readQueue,
  readUnreleased,
  readVoided,
  releaseBallots,
  type WaitingBallot,
} from './repository.ts';
import { RunningCount } from './running-count.ts';

export interface EventResults {
  readonly votingEventId: string;
  readonly title: string;
  readonly final: boolean;
  readonly asOf: number;
  readonly stats: {
    readonly totalVotes: number;
    readonly ballots: number;
    /** Votes that were confirmed: entries of all ballots together. */
    readonly entries: number;
    readonly abstentions: number;
    readonly electorate: number | null;
    readonly turnout: number | null;
  };
  readonly positions: readonly PositionResult[];
  /** The ballot log at this moment: its leaves and its root (base64). What waits to enter it is counted all the same. */
  readonly log: { readonly size: number; readonly rootHash: string };
  /** The lot that decides ties: its seed's SHA-256 (hex) is told from the opening on, the seed itself at the close. */
  readonly lot: { readonly seedHash: string; readonly seed: string | null };
}

export type Audience = 'organizer' | 'public';

const MAX_KEPT = 200;

/** Shares are shown with six decimals; they are for reading, no decision depends on them. */
function share(part: bigint, whole: bigint): number | null {
  return whole === 0n ? null : Number((part * 1_000_000n) / whole) / 1_000_000;
}

/**
 * Counts events: keeps a running count of each and adds only what came since, so that no request grows with the box.
 * One count at a time works on an event; a change of its paper starts the count anew.
 */
export class EventCounter {
  readonly #db: Database;
  readonly #secrets: Secrets;
  readonly #counts = new Map<string, RunningCount>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(db: Database, secrets: Secrets) {
    this.#db = db;
    this.#secrets = secrets;
  }

  /** The results of an event at this moment (completions 5); a confirm that was answered before is in them. */
  async results(paper: BallotPaper, audience: Audience, nowMs: number): Promise<EventResults> {
    const { event } = paper;
    // In a secret election the difference of two live counts would show a single ballot; five together show none.
    const stepped = audience === 'public' && secrecyOf(event) === 'secret' && statusAt(event, nowMs) === 'open';
    if (stepped) await releaseBallots(this.#db, event.id);
    return this.#inTurn(event.id, () => this.#count(paper, stepped, nowMs));
  }

  async #inTurn<T>(eventId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(eventId) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#turns.set(eventId, mine);
    try {
      return await mine;
    } catch (fault) {
      // Half a chunk may have been counted: the next one starts anew.
      this.#counts.delete(eventId);
      throw fault;
    } finally {
      if (this.#turns.get(eventId) === mine) this.#turns.delete(eventId);
    }
  }

  #running(paper: BallotPaper): RunningCount {
    const kept = this.#counts.get(paper.event.id);
    if (kept?.paperVersion === paper.event.paperVersion) return kept;
    if (this.#counts.size >= MAX_KEPT) this.#counts.clear();
    const fresh = new RunningCount(paper);
    this.#counts.set(paper.event.id, fresh);
    return fresh;
  }

  async #count(paper: BallotPaper, stepped: boolean, nowMs: number): Promise<EventResults> {
    const running = this.#running(paper);
    // One moment for box and queue: a ballot that moves from one to the other is counted once.
    const moment = await this.#db.transaction(
      async (tx) => {
        for await (const { ballots, last } of readBox(tx, paper.event.id, running.lastLeaf)) {
          await running.add(ballots, 1);
          running.lastLeaf = last;
        }
        return {
          log: await readLogSize(tx, paper.event.id),
          queue: await readQueue(tx, paper.event.id),
          voided: await readVoided(tx, paper.event.id),
          hidden: stepped ? await readUnreleased(tx, paper.event.id) : [],
          electorate: paper.event.type === 'election' ? await readElectorate(tx, paper.event.id) : null,
          fractional: await hasFractionalWeights(tx, paper.event.id),
        };
      },
      { isolationLevel: 'repeatable read', accessMode: 'read only' },
    );
    const open = (ballots: readonly WaitingBallot[]): WaitingBallot[] =>
      ballots.map((one) => ({
        ...one,
        entries: openEntries(this.#secrets, paper.event.id, one.codeTag, one.entries),
      }));
    const [queue, notCounted] = [open(moment.queue), open([...moment.hidden, ...moment.voided])];
    await running.add(queue, 1);
    await running.add(notCounted, -1);
    try {
      return this.#shape(paper, running, moment, nowMs);
    } finally {
      await running.add(notCounted, 1);
      await running.add(queue, -1);
    }
  }

  #shape(
    paper: BallotPaper,
    running: RunningCount,
    moment: {
      readonly log: { readonly size: number; readonly rootHash: Uint8Array };
      readonly electorate: { readonly weightMicro: bigint } | null;
      readonly fractional: boolean;
    },
    nowMs: number,
  ): EventResults {
    const { event } = paper;
    const electorateMicro = moment.electorate?.weightMicro ?? null;
    // The lot's seed is secret until the close: who knew it could reckon how to break a tie.
    const drawn = this.#secrets.open(event.tieSeed, { table: 'voting_events', column: 'tie_seed', row: event.id });
    const seed = statusAt(event, nowMs) === 'closed' ? drawn.toString('hex') : null;
    const positions = running.report({ seed, electorateMicro, wholeWeights: !moment.fractional });
    return {
      votingEventId: event.id,
      title: event.title,
      final: isFinalAt(event, nowMs),
      asOf: nowMs,
      stats: {
        totalVotes: positions.reduce((sum, position) => sum + position.totalVotes, 0),
        ballots: running.ballots,
        entries: running.entries,
        abstentions: positions.reduce((sum, position) => sum + position.abstentions, 0),
        electorate: electorateMicro === null ? null : microToNumber(electorateMicro),
        turnout: electorateMicro === null ? null : share(running.weightMicro, electorateMicro),
      },
      positions,
      log: { size: moment.log.size, rootHash: Buffer.from(moment.log.rootHash).toString('base64') },
      lot: { seedHash: sha256(drawn).toString('hex'), seed },
    };
  }
}
