import { sql } from 'drizzle-orm';
import { type BallotDefinition, choicesIn } from '#src/ballot-definition/ballot-definition.ts';
import type { FinalCount } from '#src/ballot-log/seal-ballots.ts';
import type { NoteVerifier } from '#src/ballot-log/signed-note.ts';
import { readNumber } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, ok } from '#src/http/answer.ts';
import { ApiError } from '#src/platform/errors.ts';
import { SharedTurns } from '#src/platform/shared-turns.ts';
import { streamBytes, streamText } from '#src/platform/stream-text.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { shared } from '#src/platform/turns.ts';
import { orLate } from '#src/platform/within.ts';
import { MAX_PAIRWISE } from '#src/tally/pairwise.ts';
import type { RoundPage } from '#src/tally/types.ts';
import type { CheckedRoll } from '#src/voters/check-roll.ts';
import { keepsBack } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { EventCounter, type ResultsAudience, type RoundQuestion } from './count-event.ts';
import type { CountOrder, CountReply, CountRequest } from './count-thread.ts';
import { Disclosure } from './disclosure.ts';
import type { EventResults } from './event-results.ts';
import { FILES, type FileKind } from './result-files.ts';
import { type CountSummary, summarise } from './shape-count.ts';

/** With more candidates in all, an event is counted in a thread: its results have a hundred kilobytes or more. */
const MANY_ROWS = 500;
/** With more steps of some nanoseconds, a ranked count runs in a thread, because it would block the event loop too long. */
const MANY_STEPS = 5_000_000;
/** The same limit for the tallies of rounds: candidates squared (rounds × candidates), summed over the ranked positions. */
const MANY_TALLIES = 2_000;
const RETRY_SECONDS = 5;
/** Time limit of the count for a close. The count of the largest event takes a minute or two. */
const MAX_FINAL_MS = 600_000;
/** Time limit of any other count. A count that takes longer is aborted, and its thread is ended. */
const MAX_COUNT_MS = 120_000;

/** Jobs whose answer several callers may share. */
type SharedOrder = Exclude<CountOrder, { kind: 'final' }>;

type CountingDeps = Pick<
  Deps,
  'db' | 'copy' | 'ballotKeys' | 'secrets' | 'definitions' | 'log' | 'threads' | 'closeThreads'
> & {
  readonly logKey: NoteVerifier;
};

const rankedIn = ({ positions }: BallotDefinition): (readonly unknown[])[] =>
  positions.filter(({ votingMethod }) => votingMethod === 'ranked_choice').map(({ everCandidates }) => everCandidates);

/** Whether results have a hundred kilobytes or more. They are then counted in a thread, which returns the text of the answer. */
export function hasLargeResults(definition: BallotDefinition): boolean {
  const tallies = rankedIn(definition).reduce((sum, { length }) => sum + length * length, 0);
  return choicesIn(definition) > MANY_ROWS || tallies > MANY_TALLIES;
}

/** Answers requests for results. Counts small events here, and large events in a thread, so that they block no request. */
export class Counting {
  readonly #deps: CountingDeps;
  /** Discloses who has voted in elections, several voters at a time. */
  readonly disclosure: Disclosure;
  readonly #counter: EventCounter;
  readonly #turns = new SharedTurns();

  constructor(deps: CountingDeps) {
    this.#deps = deps;
    this.disclosure = new Disclosure(deps);
    this.#counter = new EventCounter({ ...deps, disclosure: this.disclosure });
  }

  /** The answer of a route of results: `{ data }`. */
  async answer(definition: BallotDefinition, audience: ResultsAudience, nowMs: number): Promise<Answer> {
    const results = await this.results(definition, audience, nowMs);
    if (!(results instanceof Uint8Array)) return ok(results);
    return { status: 200, stream: { open: () => streamBytes(results), type: 'application/json' } };
  }

  async file(definition: BallotDefinition, kind: FileKind, nowMs: number): Promise<AsyncIterable<Uint8Array>> {
    const results = await this.results(definition, 'organizer', nowMs, kind);
    return results instanceof Uint8Array ? streamBytes(results) : streamText(FILES[kind](results));
  }

  /** The number of ballots, and the figures that this audience may see. */
  summary(definition: BallotDefinition, audience: ResultsAudience, nowMs: number): Promise<CountSummary> {
    return this.#ask(definition, { kind: 'summary', audience }, nowMs, () =>
      summarise(this.#counter, definition, audience, nowMs),
    );
  }

  /** The results. A long count returns them as the text of a file, in JSON `{ data }`. */
  results(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    kind: FileKind = 'json',
  ): Promise<EventResults | Uint8Array<ArrayBuffer>> {
    return this.#ask<EventResults | Uint8Array<ArrayBuffer>>(definition, { kind, audience }, nowMs, () =>
      this.#counter.results(definition, audience, nowMs),
    );
  }

  rounds(
    definition: BallotDefinition,
    audience: ResultsAudience,
    nowMs: number,
    question: RoundQuestion,
  ): Promise<RoundPage | undefined> {
    return this.#ask(definition, { kind: 'rounds', audience, ...question }, nowMs, () =>
      this.#counter.rounds(definition, audience, nowMs, question),
    );
  }

  /** The result to which the log's close leaf will commit. @param roll the checked roll, for the electorate; left out in polls */
  async finalCount(definition: BallotDefinition, nowMs: number, roll?: CheckedRoll): Promise<FinalCount> {
    if (!(await this.#isLong(definition))) return this.#counter.finalCount(definition, nowMs, roll);
    // Other callers cannot share this count, because only it uses the checked roll.
    const count = this.#post(definition.event, { kind: 'final', roll }, nowMs);
    const final = (await orLate(count, MAX_FINAL_MS, takesLonger)) as FinalCount;
    return { ...final, lotRoot: Buffer.from(final.lotRoot) };
  }

  /** Whether the count takes so long, or its results are so large, that it would block other requests. */
  async #isLong(definition: BallotDefinition): Promise<boolean> {
    if (hasLargeResults(definition)) return true;
    let looks = 0;
    // A ballot may be read once for each round, and once for each pair of candidates.
    for (const { length } of rankedIn(definition))
      looks += length + (length <= MAX_PAIRWISE ? (length * length) / 2 : 0);
    if (looks === 0) return false;
    const { event } = definition;
    const statement = sql`SELECT ballots FROM ballot_logs WHERE voting_event_id = ${event.id}`;
    return (await readNumber(this.#deps.db, statement)) * looks > MANY_STEPS;
  }

  /**
   * Counts here. If that takes too long, posts a job to the thread, or shares a job that has not begun. A running job is not shared,
   * because it may lack a ballot that was confirmed since. @throws ApiError 500 `internal` with `Retry-After` if the answer takes longer
   */
  async #ask<Value>(
    definition: BallotDefinition,
    order: SharedOrder,
    nowMs: number,
    countHere: () => Promise<Value>,
  ): Promise<Value> {
    if (!(await this.#isLong(definition))) return countHere();
    const { event } = definition;
    const name = JSON.stringify([event.id, order]);
    const answer = this.#turns.share(name, name, () => this.#post(event, order, nowMs));
    return (await shared(orLate(answer, TIME_LIMITS.countMs, takesLonger))) as Value;
  }

  async #post(event: VotingEvent, order: CountOrder, nowMs: number): Promise<unknown> {
    const { id, accountId } = event;
    const isFinal = order.kind === 'final';
    // Make the disclosure step here, once for all callers: this process, not the thread, remembers how many ballots were shown.
    if (!isFinal && keepsBack(event, nowMs)) await this.disclosure.step(id);
    try {
      const reply = (await this.#deps[isFinal ? 'closeThreads' : 'threads'].run({
        module: new URL('./count-thread.ts', import.meta.url),
        input: { eventId: id, nowMs, order } satisfies CountRequest,
        account: accountId,
        about: id,
        maxMs: isFinal ? MAX_FINAL_MS : MAX_COUNT_MS,
      })) as CountReply;
      if (reply.shown > 0) this.disclosure.remember(event, reply.shown);
      return reply.bytes ?? reply.value;
    } catch (fault) {
      if (fault instanceof ApiError) throw fault;
      // The answer's log entry contains the cause.
      throw Object.assign(retryLater('The count could not be finished. Retry.'), { cause: fault });
    }
  }
}

const retryLater = (message: string): ApiError => new ApiError('internal', message, undefined, RETRY_SECONDS);

const takesLonger = (): ApiError => retryLater('The count takes a moment longer. Retry in a few seconds.');
