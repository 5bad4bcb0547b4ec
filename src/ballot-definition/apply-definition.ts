import { and, eq, getTableColumns, isNull, notInArray, sql } from 'drizzle-orm';
import { planLimit } from '#src/accounts/plans.ts';
import type { Transaction } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { enqueue } from '#src/jobs/queue.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { IdPrefix } from '#src/platform/ids.ts';
import { namesOf } from '#src/platform/pick.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { updateEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { linkIssues } from './definition-links.ts';
import type { EventDefinition } from './definition-schema.ts';
import { REMOVE_DELETED_ROWS } from './delete-rows.ts';
import { nameKeyOf } from './group.ts';
import { settingIssues, settle } from './position-settings.ts';
import { CAPS, requireNoIssues, requireTopUp, sentOnly, type TopUpDeps, topUpIssues } from './record-ballot-change.ts';
import { isAnyCandidatePaidFor, listCandidates, listGroups, listPositions, listSponsors } from './repository.ts';
import { candidates, groups, positions, sponsors } from './tables.ts';

type Kind = keyof typeof CAPS;
const KINDS = namesOf(CAPS);
const PREFIXES = { groups: 'grp', positions: 'pos', candidates: 'cnd', sponsors: 'spn' } as const satisfies Record<
  Kind,
  IdPrefix
>;

/** Issues of a document's rows that can be found without the database. */
export const rowIssues = (definition: EventDefinition): Issue[] => [
  ...linkIssues(definition),
  ...definition.positions.flatMap((position, index) =>
    within(index, settingIssues(position.votingMethod, sentOnly(position), undefined)),
  ),
];

const within = (index: number, issues: readonly Issue[]): Issue[] =>
  issues.map(({ field, message }) => ({ field: `positions[${index}].${field}`, message }));

/**
 * Replaces a draft's groups, positions, candidates and sponsors by those of a document. A row with an existing ID updates that row,
 * other rows are new, and rows that the document lacks are deleted. Call with the event locked; renew its definition afterwards.
 * @throws ApiError 422 with all issues, 422 `plan_limit`; 409 `event_has_ballots` if a deleted candidate's registration was paid
 */
export async function applyDefinition(
  tx: Transaction,
  deps: TopUpDeps,
  organizer: Organizer,
  event: VotingEvent,
  definition: EventDefinition,
): Promise<void> {
  for (const kind of KINDS) if (definition[kind].length > CAPS[kind]) throw planLimit(`${kind}_per_event`, CAPS[kind]);
  const issues = rowIssues(definition);
  for (const [index, position] of definition.positions.entries()) {
    requireTopUp(deps, organizer, position.quadraticTopUp);
    issues.push(...within(index, await topUpIssues(tx, deps, event, position.quadraticTopUp)));
  }
  requireNoIssues(issues);
  await writeRows(tx, deps, event, definition);
}

async function writeRows(
  tx: Transaction,
  deps: TopUpDeps,
  event: VotingEvent,
  definition: EventDefinition,
): Promise<void> {
  const eventId = event.id;
  const nowMs = deps.clock.now();
  const before = {
    groups: await listGroups(tx, eventId),
    positions: await listPositions(tx, eventId),
    candidates: await listCandidates(tx, eventId),
    sponsors: await listSponsors(tx, eventId),
  };
  const idsOf = (kind: Kind): Map<string, string> => {
    const stored = new Set(before[kind].map(({ id }) => id));
    return new Map(definition[kind].map(({ id }) => [id, stored.has(id) ? id : deps.ids.sortable(PREFIXES[kind])]));
  };
  const ids = new Map(KINDS.map((kind) => [kind, idsOf(kind)]));
  const idOf = (kind: Kind, id: string): string => ids.get(kind)?.get(id) ?? id;
  const groupOf = (id: string | null | undefined): string | null => (id == null ? null : idOf('groups', id));
  const kept = new Set(ids.get('candidates')?.values());
  const gone = before.candidates.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  if (gone.length > 0 && (await isAnyCandidatePaidFor(tx, eventId, gone))) throw refuse('paid_registrations');
  const last = await readNumbers(tx, eventId);
  const numbers = {
    positions: new Map(before.positions.map((row) => [row.id, row.number])),
    candidates: new Map(before.candidates.map((row) => [row.id, row.number])),
  };
  const numberOf = (kind: 'positions' | 'candidates', id: string): number => {
    const known = numbers[kind].get(id);
    if (known !== undefined) return known;
    last[kind] += 1;
    return last[kind];
  };
  const times = { createdAt: nowMs, updatedAt: nowMs };
  await tx.update(groups).set({ nameKey: null }).where(eq(groups.votingEventId, eventId));
  const rows = {
    groups: definition.groups.map(({ id, name, description }) => ({
      votingEventId: eventId,
      id: idOf('groups', id),
      name,
      nameKey: nameKeyOf(name),
      description: description ?? null,
      ...times,
    })),
    positions: definition.positions.map((position, index) => ({
      ...settle(position.votingMethod, sentOnly(position), undefined),
      votingEventId: eventId,
      id: idOf('positions', position.id),
      title: position.title,
      description: position.description ?? null,
      groupId: groupOf(position.groupId),
      sortOrder: position.sortOrder ?? index,
      tieBreak: position.tieBreak ?? ('joint' as const),
      number: numberOf('positions', position.id),
      ...times,
    })),
    candidates: definition.candidates.map((candidate, index) => ({
      votingEventId: eventId,
      id: idOf('candidates', candidate.id),
      name: candidate.name,
      description: candidate.description ?? null,
      email: candidate.email ?? null,
      positionIds: candidate.positionIds.map((id) => idOf('positions', id)),
      groupId: groupOf(candidate.groupId),
      referendumRole: candidate.referendumRole ?? null,
      avatarUrl: candidate.avatarUrl ?? null,
      status: candidate.status ?? ('approved' as const),
      source: 'organizer' as const,
      sortOrder: candidate.sortOrder ?? index,
      number: numberOf('candidates', candidate.id),
      ...times,
    })),
    sponsors: definition.sponsors.map((sponsor, index) => ({
      votingEventId: eventId,
      id: idOf('sponsors', sponsor.id),
      name: sponsor.name,
      logoUrl: sponsor.logoUrl ?? null,
      websiteUrl: sponsor.websiteUrl ?? null,
      tier: sponsor.tier ?? null,
      sortOrder: sponsor.sortOrder ?? index,
      ...times,
    })),
  };
  const keptGroups = rows.groups.map(({ id }) => id);
  await tx
    .update(groups)
    .set({ deletedAt: nowMs })
    .where(and(eq(groups.votingEventId, eventId), notInArray(groups.id, keptGroups), isNull(groups.deletedAt)));
  // The job also removes voters from the deleted groups, and renews the MACs of their rows.
  await enqueue(tx, REMOVE_DELETED_ROWS, { kind: 'groups', eventId });
  await replace(tx, eventId, groups, rows.groups);
  await replace(tx, eventId, positions, rows.positions);
  await replace(tx, eventId, candidates, rows.candidates);
  await replace(tx, eventId, sponsors, rows.sponsors);
  await updateEvent(tx, eventId, { lastPositionNumber: last.positions, lastCandidateNumber: last.candidates });
}

async function readNumbers(tx: Transaction, eventId: string): Promise<{ positions: number; candidates: number }> {
  const { rows } = await tx.execute<{ positions: number; candidates: number }>(sql`
    SELECT last_position_number AS positions, last_candidate_number AS candidates FROM voting_events WHERE id = ${eventId}`);
  const [row] = rows;
  if (row === undefined) throw new Error('a locked event is gone');
  return { ...row };
}

type Table = typeof groups | typeof positions | typeof candidates | typeof sponsors;

/** Rows per statement: a thousand candidates can have 20 MB, and serialising them at once would block the event loop. */
const WRITTEN_TOGETHER = 100;

/** Columns that an update never changes. */
const LASTING = new Set(['votingEventId', 'id', 'number', 'source', 'createdAt']);

/** Upserts rows by ID and deletes the event's other rows, except groups, which the caller has marked as deleted. */
async function replace<Rows extends Table>(
  tx: Transaction,
  eventId: string,
  table: Rows,
  rows: readonly Rows['$inferInsert'][],
): Promise<void> {
  const kept = rows.map(({ id }) => id);
  const own = eq(table.votingEventId, eventId);
  if (table !== groups) await tx.delete(table).where(and(own, notInArray(table.id, kept)));
  const written = new Set(Object.keys(rows[0] ?? {})).difference(LASTING);
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => written.has(name));
  const set = Object.fromEntries(columns.map(([name, column]) => [name, sql.raw(`excluded.${column.name}`)]));
  for (let from = 0; from < rows.length; from += WRITTEN_TOGETHER)
    await tx
      .insert(table)
      .values(rows.slice(from, from + WRITTEN_TOGETHER) as never)
      .onConflictDoUpdate({ target: [table.votingEventId, table.id], set: set as never });
}
