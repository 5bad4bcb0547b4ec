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
import { EventCounter, type ResultsAudience } from './count-event.ts';
import { FILES, type FileKind } from './result-files.ts';
import { summarise } from './shape-count.ts';

export interface CountThreadData {
  readonly databaseUrl: string;
  readonly readUrl: string | undefined;
  readonly secretKeys: readonly Uint8Array[];
  readonly keySettings: KeySettings;
  /** What the heads of logs are checked with. */
  readonly verifierKey: string;
}

/** What it is asked, of one event. */
export type CountOrder =
  | { readonly kind: FileKind | 'summary'; readonly audience: ResultsAudience }
  | {
      readonly kind: 'rounds';
      readonly audience: ResultsAudience;
      readonly positionId: string;
      readonly fromRound: number;
    }
  | { readonly kind: 'final'; readonly roll: CheckedRoll | undefined };

export interface CountRequest {
  readonly eventId: string;
  readonly nowMs: number;
  readonly order: CountOrder;
}

/** Connections of the thread: a box is read by two at once, and something else may be asked meanwhile. */
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
/** The most ballots of a snapshot that the order under way has shown; the pool gives one order at a time. */
let shown = 0;
const disclosure = {
  // The process of the thread makes the steps.
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
  // Not out of the pool of small buffers: it is handed over as a whole.
  return Uint8Array.from(bytes);
};

export interface CountReply {
  /** A file, which is handed over. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
  readonly value: unknown;
  /** The most ballots that were shown of a snapshot: the process remembers what it shows (`Disclosure`). */
  readonly shown: number;
}

export async function work(request: CountRequest): Promise<CountReply> {
  shown = 0;
  const answer = await answerTo(request);
  const bytes = answer instanceof Uint8Array ? (answer as Uint8Array<ArrayBuffer>) : undefined;
  return { bytes, value: bytes === undefined ? answer : undefined, shown };
}

async function answerTo({ eventId, nowMs, order }: CountRequest): Promise<unknown> {
  const definition = await definitionOf(eventId);
  if (order.kind === 'final') return counter.finalCount(definition, nowMs, order.roll);
  if (order.kind === 'rounds')
    return counter.rounds(definition, order.audience, nowMs, {
      positionId: order.positionId,
      fromRound: order.fromRound,
    });
  if (order.kind === 'summary') return summarise(counter, definition, order.audience, nowMs);
  const results = await counter.results(definition, order.audience, nowMs);
  return bytesOf(FILES[order.kind](results));
}
