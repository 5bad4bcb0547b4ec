import { and, eq, isNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Database, type Executor, firstOf, isTrue, type Transaction } from '#src/database/client.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { taggedRows } from '#src/database/tagged-rows.ts';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { refuse } from '#src/http/refusals.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import { notFound } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { SealedPlace, Secrets } from '#src/platform/secrets.ts';
import { PAPER_SIZES } from '#src/results/download-link.ts';
import { LETTER_AUDIENCES } from '#src/voters/print-keys.ts';
import { beforeOpeningField } from '#src/voters/voter.ts';
import { withOwnKey } from '#src/voting-events/rehearsal.ts';
import type { LockedEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { letterParts, letterRuns } from './tables.ts';

export type LetterRun = Readonly<typeof letterRuns.$inferSelect>;
type Columns = Omit<LetterRun, 'tag'>;

/** Most letters in a file (completions 10.9). */
export const LETTERS_A_FILE = 5_000;
/** How long a file can be downloaded. */
const KEPT_MS = 24 * HOUR_MS;
/** After this time an unfinished run counts as ended, and its files are deleted like those of a finished run. */
const GIVEN_UP_MS = 7 * 24 * HOUR_MS;

export const printLettersBody = z.strictObject({
  audience: z.enum(LETTER_AUDIENCES).describe('Approved voters: those without an e-mail address, or `all` of them.'),
  paper: z.enum(PAPER_SIZES).optional().describe('`a4` when left out.'),
  beforeOpening: beforeOpeningField(),
});

export const orderedLettersView = z
  .object({ id: z.string(), total: z.int(), files: z.int() })
  .meta({ id: 'OrderedLetters', examples: [{ id: EXAMPLE.letters, total: 2, files: 1 }] });

export const lettersView = z
  .object({
    id: z.string(),
    total: z.int().meta({
      description:
        'Voters of the audience when the letters were asked for; more where others joined it before they were printed.',
    }),
    done: z.int().meta({ description: 'Voters who were dealt with.' }),
    files: z.array(z.object({ number: z.int(), downloadedAt: timeShape().nullable() })).readonly(),
    finishedAt: timeShape()
      .nullable()
      .meta({ description: 'When all files were there to be downloaded; they wait for 24 hours.' }),
  })
  .meta({
    id: 'Letters',
    description: 'Printed letters with voter keys, and how far they are.',
    examples: [
      {
        id: EXAMPLE.letters,
        total: 2,
        done: 2,
        files: [{ number: 1, downloadedAt: null }],
        finishedAt: EXAMPLE.openedAt,
      },
    ],
  });

export const viewLetters = (run: LetterRun): z.output<typeof lettersView> => ({
  ...pick(run, ['id', 'total', 'done']),
  files: Array.from({ length: run.files }, (_, index) => ({
    number: index + 1,
    downloadedAt: run.downloads[String(index + 1)] ?? null,
  })),
  finishedAt: run.finishedAt,
});

const rowOfRun = (run: Columns): DecidingRow => [
  ...(['letter_runs', run.votingEventId, run.id, run.audience, run.paper, run.total, run.files, run.done] as const),
  ...[run.printed, run.listedTo, run.listUntil, canonicalJson(run.downloads), run.rehearsal, run.keyId, run.finishedAt],
];

/** Whether the service wrote the run's row in its present form. */
export const isGenuineRun = (secrets: Secrets, run: LetterRun): boolean => isTagged(secrets, run.tag, rowOfRun(run));

/**
 * A file is handed out once; after a download that was cut off, again (completions 10.9).
 * @throws ApiError 404 for a file that does not exist; 409 `letters_under_way`, `already_downloaded`, `letters_dropped`
 */
export async function requireReadable(
  executor: Executor,
  run: LetterRun,
  number: number,
  nowMs: number,
): Promise<void> {
  if (number > run.files) throw notFound();
  if (run.finishedAt === null) throw refuse('letters_under_way');
  const isMarked = run.downloads[String(number)] !== undefined;
  if (isMarked && !(await isCutOff(executor, run, number))) throw refuse('already_downloaded');
  // A run that was ended early has `printed` 0. A run that finished has counted its letters in the log before they can be read.
  if (run.printed === 0 || run.finishedAt + KEPT_MS <= nowMs) throw refuse('letters_dropped');
}

/** Whether the process that marked a file has died before it could delete the file or take the mark back. */
const isCutOff = (executor: Executor, { votingEventId, id }: LetterRun, number: number): Promise<boolean> =>
  isTrue(
    executor,
    sql`SELECT NOT is_process_alive(decode(split_part(p.reader, '/', 1), 'hex')) FROM letter_parts p
      WHERE p.voting_event_id = ${votingEventId} AND p.run_id = ${id} AND p.number = ${number} AND p.part = 0`,
  );

/** The event whose key seals the files of a run. The files of a real vote keep the event's own key while the event is rehearsed. */
export const keyedFor = (event: VotingEvent, { rehearsal }: Pick<LetterRun, 'rehearsal'>): VotingEvent =>
  rehearsal ? event : withOwnKey(event);

export const partPlace = (
  { votingEventId, id }: Pick<LetterRun, 'votingEventId' | 'id'>,
  number: number,
  part: number,
  parts: number,
): SealedPlace => ({
  table: 'letter_parts',
  column: 'content',
  row: `${votingEventId}/${id}/${number}/${part}/${parts}`,
});

const byId = (eventId: string, id: string) => and(eq(letterRuns.votingEventId, eventId), eq(letterRuns.id, id));

export const findLetters = (executor: Executor, eventId: string, id: string): Promise<LetterRun | undefined> =>
  firstOf(executor.select().from(letterRuns).where(byId(eventId, id)));

export const lockLetters = (tx: Transaction, eventId: string, id: string): Promise<LetterRun | undefined> =>
  firstOf(tx.select().from(letterRuns).where(byId(eventId, id)).for('no key update'));

/** Keeps a run from being deleted, without blocking its changes: a change holds the event's lock, for which casts wait. */
export const holdLetters = (tx: Transaction, eventId: string, id: string): Promise<LetterRun | undefined> =>
  firstOf(tx.select().from(letterRuns).where(byId(eventId, id)).for('key share'));

export async function insertLetters(tx: Transaction, secrets: Secrets, run: Columns): Promise<void> {
  await tx.insert(letterRuns).values({ ...run, tag: tagOfRow(secrets, rowOfRun(run)) });
}

/** Stores the progress of a run. Call with the run locked and genuine. */
export async function updateLetters(
  tx: Transaction,
  secrets: Secrets,
  run: LetterRun,
  changes: Partial<Columns>,
): Promise<void> {
  const tag = tagOfRow(secrets, rowOfRun({ ...run, ...changes }));
  await tx
    .update(letterRuns)
    .set({ ...changes, tag })
    .where(byId(run.votingEventId, run.id));
}

/**
 * Ends a run before its letters are counted, and therefore before any letter can be read. The run's job then takes back the keys that
 * it gave to voters, from the first voter on. Call with the run locked.
 */
export async function endUnfinished(tx: Transaction, secrets: Secrets, run: LetterRun, nowMs: number): Promise<void> {
  await updateLetters(tx, secrets, run, { finishedAt: nowMs, printed: 0, listedTo: '' });
  await deleteParts(tx, run.votingEventId, run.id);
}

/** Ends an event's unfinished runs; during a rehearsal, only the runs of the rehearsal. Call with the event locked. */
export async function endAllUnfinished(tx: Transaction, secrets: Secrets, event: LockedEvent): Promise<void> {
  const { votingEventId, finishedAt, rehearsal } = letterRuns;
  const ofWorld = eq(rehearsal, event.rehearsalSince !== null);
  const runs = await tx
    .select()
    .from(letterRuns)
    .where(and(eq(votingEventId, event.id), isNull(finishedAt), ofWorld))
    .for('no key update');
  for (const run of runs) if (isGenuineRun(secrets, run)) await endUnfinished(tx, secrets, run, event.lockedAt);
}

export async function insertParts(
  tx: Transaction,
  { votingEventId, id: runId }: LetterRun,
  number: number,
  contents: readonly string[],
): Promise<void> {
  // Delete parts that an interrupted attempt of the job left.
  await deleteParts(tx, votingEventId, runId, number);
  for (const [part, content] of contents.entries())
    await tx.insert(letterParts).values({ votingEventId, runId, number, part, content });
}

const partsOf = (eventId: string, runId: string, number?: number) =>
  and(
    eq(letterParts.votingEventId, eventId),
    eq(letterParts.runId, runId),
    number === undefined ? undefined : eq(letterParts.number, number),
  );

/** @param number of the file whose parts are deleted; by default the parts of all files of the run */
export async function deleteParts(executor: Executor, eventId: string, runId: string, number?: number): Promise<void> {
  await executor.delete(letterParts).where(partsOf(eventId, runId, number));
}

/** Begins a download of a file; another download of it then fails. @returns the number of parts; 0 if the file is gone */
export async function beginReading(
  db: Executor,
  { votingEventId, id }: LetterRun,
  number: number,
  reader: string,
): Promise<number> {
  const { rows } = await db.execute<{ parts: number }>(sql`
    UPDATE letter_parts p SET reader = ${reader}
    WHERE p.voting_event_id = ${votingEventId} AND p.run_id = ${id} AND p.number = ${number} AND p.part = 0
    RETURNING (SELECT count(*)::int FROM letter_parts o
      WHERE o.voting_event_id = p.voting_event_id AND o.run_id = p.run_id AND o.number = p.number) AS parts`);
  return rows[0]?.parts ?? 0;
}

/** A part of a file for a download; undefined if another download has begun, or the file is gone. */
export async function readPart(
  db: Executor,
  { votingEventId, id }: LetterRun,
  number: number,
  part: number,
  reader: string,
): Promise<string | undefined> {
  const { rows } = await db.execute<{ content: string }>(sql`
    SELECT p.content FROM letter_parts p JOIN letter_parts f ON f.voting_event_id = p.voting_event_id AND f.run_id = p.run_id
      AND f.number = p.number AND f.part = 0 AND f.reader = ${reader}
    WHERE p.voting_event_id = ${votingEventId} AND p.run_id = ${id} AND p.number = ${number} AND p.part = ${part}`);
  return rows[0]?.content;
}

export const taggedLetters = taggedRows('printed letters', letterRuns, rowOfRun);

/** Parts per statement: a part has 700 kB, and a statement three seconds. */
const PARTS_TOGETHER = 100;

/** Deletes files that were not downloaded in time, of all events. */
export async function dropOldLetters(db: Database): Promise<void> {
  const isOld = sql`EXISTS (SELECT 1 FROM letter_runs r WHERE r.voting_event_id = letter_parts.voting_event_id AND r.id = letter_parts.run_id
    AND coalesce(r.finished_at, r.created_at + ${GIVEN_UP_MS}::bigint) <= now_ms() - ${KEPT_MS}::bigint)`;
  await deleteInChunks(db, 'letter_parts', isOld, PARTS_TOGETHER);
}
