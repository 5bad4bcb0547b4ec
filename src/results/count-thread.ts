import { workerData } from 'node:worker_threads';
import { type BallotDefinition, BallotDefinitionCache } from '#src/ballot-definition/ballot-definition.ts';
import { parseVerifierKey } from '#src/ballot-log/signed-note.ts';
import { connectDatabase } from '#src/database/client.ts';
import { connectReads } from '#src/database/read-pool.ts';
import { createLog } from '#src/platform/log.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import type { CheckedRoll } from '#src/voters/check-roll.ts';
import { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import type { KeySettings } from '#src/voting-events/key-places.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { EventCounter, type ResultsAudience, type RoundQuestion } from './count-event.ts';
import { FILES, type FileKind } from './result-files.ts';
import { summarise } from './shape-count.ts';

export interface CountThreadData {
  readonly databaseUrl: string;
  readonly readUrl: string | undefined;
  readonly secretKeys: readonly Uint8Array[];
  readonly keySettings: KeySettings;
  /** Public key that verifies the signed heads of logs. */
  readonly verifierKey: string;
}

export type CountOrder =
  | { readonly kind: FileKind | 'summary'; readonly audience: ResultsAudience }
  | ({ readonly kind: 'rounds'; readonly audience: ResultsAudience } & RoundQuestion)
  | { readonly kind: 'final'; readonly roll: CheckedRoll | undefined };

export interface CountRequest {
  readonly eventId: string;
  readonly nowMs: number;
  readonly order: CountOrder;
}

/** The thread's database connections: two copy logged ballots (`readBox`), and the others serve queries meanwhile. */
const CONNECTIONS = 4;

const { databaseUrl, readUrl, secretKeys, keySettings, verifierKey } = workerData as CountThreadData;
const log = createLog('silent');
const connection = { url: databaseUrl, log, maxConnections: CONNECTIONS };
const db = connectDatabase(connection);
const copy = readUrl === undefined ? db : connectReads(connection, readUrl);
const definitions = new BallotDefinitionCache(db);
const secrets = createSecrets(secretKeys);
const ballotKeys = new BallotKeys({ db, log, secrets, settings: keySettings });
const logKey = parseVerifierKey(verifierKey);
/** Number of ballots in the largest public snapshot of the current job. The pool gives a thread one job at a time. */
let shown = 0;
const disclosure = {
  // `Counting` makes the disclosure step before it posts the job.
  step: async (): Promise<void> => undefined,
  remember: (_event: unknown, ballots: number): void => {
    shown = Math.max(shown, ballots);
  },
};
const counter = new EventCounter({ db, copy, secrets, ballotKeys, definitions, logKey, disclosure });

async function definitionOf(eventId: string): Promise<BallotDefinition> {
  const event = await findEventById(db, eventId);
  const definition = event === undefined ? undefined : await definitions.get(event);
  if (definition === undefined) throw new Error('an event that is to be counted is gone');
  return definition;
}

const bytesOf = (pieces: Iterable<string>): Uint8Array<ArrayBuffer> => {
  const bytes = Buffer.concat(Array.from(pieces, (piece) => Buffer.from(piece)));
  // Copy the bytes into their own ArrayBuffer: the result is transferred, and a pooled Buffer would take other data along.
  return Uint8Array.from(bytes);
};

export type CountReply = Awaited<ReturnType<typeof work>>;

/**
 * Runs a job of counting. @returns `bytes`: a file, which is transferred instead of copied. `shown`: the number of ballots in the largest
 * public snapshot that was shown, for `Disclosure.remember` in the process.
 */
export async function work(request: CountRequest) {
  shown = 0;
  // Clear the keys after each job, because the thread does not learn when a key is destroyed.
  const answer = await answerTo(request).finally(() => ballotKeys.clear());
  const bytes = answer instanceof Uint8Array ? (answer as Uint8Array<ArrayBuffer>) : undefined;
  return { bytes, value: bytes === undefined ? answer : undefined, shown };
}

async function answerTo({ eventId, nowMs, order }: CountRequest): Promise<unknown> {
  const definition = await definitionOf(eventId);
  if (order.kind === 'final') return counter.finalCount(definition, nowMs, order.roll);
  if (order.kind === 'rounds') return counter.rounds(definition, order.audience, nowMs, order);
  if (order.kind === 'summary') return summarise(counter, definition, order.audience, nowMs);
  const results = await counter.results(definition, order.audience, nowMs);
  return bytesOf(FILES[order.kind](results));
}
