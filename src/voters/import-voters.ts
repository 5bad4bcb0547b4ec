import { and, eq, isNull, sql } from 'drizzle-orm';
import { planLimit } from '#src/accounts/plans.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { Issue } from '#src/platform/errors.ts';
import {
  findTaken,
  groupsFor,
  insertIntoEvent,
  newVoter,
  recordVoters,
  rowIssues,
  type VoterAuthor,
  type VoterDeps,
} from './create-voters.ts';
import { voterImports } from './tables.ts';
import { TAKEN, type VoterInput } from './voter.ts';
import { countOrganizersVoters, takeRoomForVoters } from './voter-places.ts';

/** A row that was not taken, and why. */
interface RefusedRow {
  /** Its place among the rows that were given. */
  readonly index: number;
  readonly issues: readonly Issue[];
  /** Nothing is wrong with it but that its e-mail or voter ID is there already. */
  readonly existing: boolean;
}

interface ImportedRows {
  readonly accepted: number;
  readonly refused: readonly RefusedRow[];
}

/** Takes rows into an event, or only says which it would take. */
export type TakeRows = (tx: Transaction, inputs: readonly VoterInput[]) => Promise<ImportedRows>;

const sameName = (field: string): string => field;

interface SiftedRows {
  readonly sound: readonly { readonly index: number; readonly input: VoterInput }[];
  readonly refused: readonly RefusedRow[];
}

async function sift(tx: Transaction, { event }: VoterAuthor, inputs: readonly VoterInput[]): Promise<SiftedRows> {
  const groupIds = await groupsFor(tx, event, inputs);
  const judged = inputs.map((input, index) => ({ index, input, issues: rowIssues(event, input, groupIds, sameName) }));
  return {
    sound: judged.filter(({ issues }) => issues.length === 0),
    refused: judged
      .filter(({ issues }) => issues.length > 0)
      .map(({ index, issues }) => ({ index, issues, existing: false })),
  };
}

type Keys = ReadonlySet<string | null>;

function takenIssues(
  emailKeyed: string | null,
  voterId: string | null,
  taken: { emails: Keys; voterIds: Keys },
): Issue[] {
  return [
    ...(emailKeyed !== null && taken.emails.has(emailKeyed) ? [{ field: 'email', message: TAKEN }] : []),
    ...(voterId !== null && taken.voterIds.has(voterId) ? [{ field: 'voterId', message: TAKEN }] : []),
  ];
}

const keysOf = (inputs: readonly Pick<VoterInput, 'email' | 'voterId'>[]) => ({
  emails: inputs.flatMap(({ email }) => (email == null ? [] : [emailKey(email)])),
  voterIds: inputs.flatMap(({ voterId }) => (voterId == null ? [] : [voterId])),
});

/**
 * Takes the rows of an import that can be taken, by the same rules as `POST …/voters/batch`, and says of each other one why
 * not: a batch of the API is all or nothing, a file of thousands of lines is not.
 * @throws ApiError `plan_limit` when the plan has no room for all of them, `not_found` when the event is gone
 */
export function importVoters(deps: VoterDeps, author: VoterAuthor): TakeRows {
  return async (tx, inputs) => {
    const { event } = author;
    const { sound, refused } = await sift(tx, author, inputs);
    const source = { source: 'organizer', status: 'approved' } as const;
    const rows = sound.map(({ index, input }) => ({ index, row: newVoter(deps, event, input, source) }));
    const news = rows.map(({ row }) => row);
    const inserted = news.length === 0 ? new Set() : await insertIntoEvent(tx, deps, event, news);
    const others = rows.filter(({ row }) => !inserted.has(row.id));
    const keys = keysOf(others.map(({ row }) => row));
    const taken = others.length === 0 ? undefined : await findTaken(tx, event.id, keys.emails, keys.voterIds);
    const duplicates = others.map(({ index, row }): RefusedRow => {
      const issues = taken === undefined ? [] : takenIssues(row.emailKey, row.voterIdKey, taken);
      // The other voter may have been deleted between the two statements.
      const field = row.emailKey === null ? 'voterId' : 'email';
      return { index, issues: issues.length > 0 ? issues : [{ field, message: TAKEN }], existing: true };
    });
    const created = rows.flatMap(({ row }) => (inserted.has(row.id) ? [row] : []));
    await recordVoters(tx, deps, author, created);
    // Last, because it holds the event: registrations and changes wait from here to the commit.
    if (created.length > 0) await takeRoomForVoters(tx, deps, event, author.ownerPlan, 'organizer', created.length);
    return {
      accepted: created.length,
      refused: [...refused, ...duplicates].sort((one, other) => one.index - other.index),
    };
  };
}

async function findRehearsed(tx: Transaction, keys: { readonly emails: string[]; readonly voterIds: string[] }) {
  const wanted = [...keys.emails.map((key) => `e:${key}`), ...keys.voterIds.map((key) => `i:${key}`)];
  const { rows } = await tx.execute<{ key: string }>(
    sql`SELECT key FROM rehearsed WHERE key = ANY (${sql.param(wanted)}::text[])`,
  );
  const found = (kind: string) =>
    new Set(rows.flatMap(({ key }) => (key.startsWith(kind) ? [key.slice(kind.length)] : [])));
  return { emails: found('e:'), voterIds: found('i:') };
}

/**
 * Judges the rows of an import as `importVoters` would, and stores nothing. The e-mails and voter IDs that the file itself
 * brings are kept in a temporary table of this transaction: memory does not grow with the file.
 */
export async function rehearseImport(tx: Transaction, deps: VoterDeps, author: VoterAuthor): Promise<TakeRows> {
  const { event } = author;
  await tx.execute(sql`CREATE TEMPORARY TABLE rehearsed (key text PRIMARY KEY) ON COMMIT DROP`);
  const limit = deps.plans[author.ownerPlan].votersPerEvent;
  let count = await countOrganizersVoters(tx, event.id);
  return async (_tx, inputs) => {
    const { sound, refused } = await sift(tx, author, inputs);
    const keys = keysOf(sound.map(({ input }) => input));
    const stored = await findTaken(tx, event.id, keys.emails, keys.voterIds);
    const named = await findRehearsed(tx, keys);
    const taken = {
      emails: new Set<string | null>([...stored.emails, ...named.emails]),
      voterIds: new Set<string | null>([...stored.voterIds, ...named.voterIds]),
    };
    const fresh: string[] = [];
    const duplicates: RefusedRow[] = [];
    for (const { index, input } of sound) {
      const [email, voterId] = [input.email == null ? null : emailKey(input.email), input.voterId ?? null];
      const issues = takenIssues(email, voterId, taken);
      if (issues.length > 0) {
        duplicates.push({ index, issues, existing: true });
        continue;
      }
      if (email !== null) taken.emails.add(email);
      if (voterId !== null) taken.voterIds.add(voterId);
      fresh.push(...(email === null ? [] : [`e:${email}`]), ...(voterId === null ? [] : [`i:${voterId}`]));
    }
    const accepted = sound.length - duplicates.length;
    count += accepted;
    if (count > limit) throw planLimit('voters_per_event', limit);
    await tx.execute(sql`INSERT INTO rehearsed SELECT unnest(${sql.param(fresh)}::text[])`);
    return { accepted, refused: [...refused, ...duplicates].sort((one, other) => one.index - other.index) };
  };
}

/** How far the import of one file into one event has come. */
export type ImportProgress = typeof voterImports.$inferSelect;

const ofImport = (eventId: string, fileHash: Buffer) =>
  and(eq(voterImports.votingEventId, eventId), eq(voterImports.fileHash, fileHash));

const NOTHING_DONE = { linesDone: 0, accepted: 0, rejected: 0, existing: 0, reportBytes: 0, finishedAt: null };

/** The progress of a file's import; a new one where it was never begun. */
export async function beginImport(
  executor: Executor,
  eventId: string,
  fileHash: Buffer,
  nowMs: number,
): Promise<ImportProgress> {
  const fresh: ImportProgress = { votingEventId: eventId, fileHash, ...NOTHING_DONE, startedAt: nowMs };
  const [inserted] = await executor.insert(voterImports).values(fresh).onConflictDoNothing().returning();
  if (inserted !== undefined) return inserted;
  const [found] = await executor.select().from(voterImports).where(ofImport(eventId, fileHash));
  return found ?? fresh;
}

/** Lets the next run of a file begin with its first line. */
export async function forgetImport(executor: Executor, eventId: string, fileHash: Buffer): Promise<void> {
  await executor.delete(voterImports).where(ofImport(eventId, fileHash));
}

/**
 * Takes the next lines of a file for this transaction: false when another process has taken them, or the import is over.
 * The row stays locked until the transaction ends, so that two runs of one file never deal with the same line.
 */
export async function holdImport(tx: Transaction, before: ImportProgress): Promise<boolean> {
  const rows = await tx
    .select({ linesDone: voterImports.linesDone })
    .from(voterImports)
    .where(
      and(
        ofImport(before.votingEventId, before.fileHash),
        eq(voterImports.linesDone, before.linesDone),
        eq(voterImports.startedAt, before.startedAt),
        isNull(voterImports.finishedAt),
      ),
    )
    .for('update');
  return rows.length === 1;
}

/** Writes how far the import has come; the row is held. */
export async function saveImport(tx: Transaction, after: ImportProgress): Promise<void> {
  await tx.update(voterImports).set(after).where(ofImport(after.votingEventId, after.fileHash));
}
