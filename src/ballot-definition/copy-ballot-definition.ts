import { type SQL, sql } from 'drizzle-orm';
import { type Transaction, valuesOf } from '#src/database/client.ts';
import type { Ids } from '#src/platform/ids.ts';
import { PREFIXES } from './record-ballot-change.ts';

interface BallotDefinitionCopy {
  readonly sourceId: string;
  readonly eventId: string;
  readonly nowMs: number;
  /** Whether positions keep their offers of credits for money. */
  readonly withPrices: boolean;
  /** The rows of a source in another cell; left out for a source in this database. */
  readonly rows?: DefinitionRows;
  /** Whether candidates keep their e-mail addresses: only in a copy within one account. */
  readonly withEmails: boolean;
}

type Kind = keyof typeof PREFIXES;

const TABLES = ['voting_events', 'groups', 'positions', 'candidates', 'sponsors'] as const;
/** The rows of an event and of its definition as JSON, by table. */
export type DefinitionRows = Readonly<Record<(typeof TABLES)[number], string>>;

/** Reads the rows to copy for another cell. Call with the source locked. */
export async function readDefinitionRows(tx: Transaction, sourceId: string): Promise<DefinitionRows> {
  const found: [string, string][] = [];
  for (const table of TABLES) {
    const id = sql.identifier(table === 'voting_events' ? 'id' : 'voting_event_id');
    const rows = sql`SELECT coalesce(json_agg(t), '[]')::text FROM ${sql.identifier(table)} t WHERE ${id} = ${sourceId}`;
    const [text = '[]'] = await valuesOf<string>(tx, rows);
    found.push([table, text]);
  }
  return Object.fromEntries(found) as DefinitionRows;
}

/** The rows of the source: a table of this database, or the JSON that was read from another cell. */
const sourceOf = (rows: DefinitionRows | undefined, table: keyof DefinitionRows): SQL =>
  rows === undefined
    ? sql`${sql.identifier(table)}`
    : sql`json_populate_recordset(NULL::${sql.identifier(table)}, ${rows[table]}::json)`;

/** SQL conditions of the rows to copy: no candidate of a rehearsal, and a self-registered one only once it was approved. */
const COPIED: Readonly<Record<Kind, string>> = {
  groups: 'deleted_at IS NULL',
  positions: 'deleted_at IS NULL',
  candidates: "deleted_at IS NULL AND NOT rehearsal AND (source = 'organizer' OR status IN ('approved', 'withdrawn'))",
  sponsors: 'true',
};

/** Pairs of old and new IDs of one kind's rows, in the order of the old IDs, as a list and as a table for SQL. */
async function renamed(tx: Transaction, ids: Ids, sourceId: string, kind: Kind, source: SQL) {
  const { rows } = await tx.execute<{ id: string }>(sql`
    SELECT id FROM ${source} AS r WHERE voting_event_id = ${sourceId} AND ${sql.raw(COPIED[kind])} ORDER BY id`);
  const pairs = rows.map(({ id }) => [id, ids.sortable(PREFIXES[kind])] as const);
  const table = sql`unnest(${sql.param(pairs.map(([old]) => old))}::text[], ${sql.param(pairs.map(([, own]) => own))}::text[])`;
  return { pairs, table };
}

/**
 * Copies groups, positions, candidates and sponsors into an event that has none. SQL statements copy the rows, so that no text
 * passes through this process. Call with the source locked.
 * @returns for each group its ID and the ID of its copy
 */
export async function copyBallotDefinition(
  tx: Transaction,
  ids: Ids,
  { sourceId, eventId, nowMs, withPrices, withEmails, rows }: BallotDefinitionCopy,
): Promise<readonly (readonly [string, string])[]> {
  const from = (table: keyof DefinitionRows): SQL => sourceOf(rows, table);
  const groups = await renamed(tx, ids, sourceId, 'groups', from('groups'));
  const positions = await renamed(tx, ids, sourceId, 'positions', from('positions'));
  const candidates = await renamed(tx, ids, sourceId, 'candidates', from('candidates'));
  const sponsors = await renamed(tx, ids, sourceId, 'sponsors', from('sponsors'));
  await tx.execute(sql`
    INSERT INTO groups (voting_event_id, id, name, name_key, description, created_at, updated_at)
    SELECT ${eventId}, m.own, g.name, g.name_key, g.description, ${nowMs}, ${nowMs}
    FROM ${from('groups')} AS g JOIN ${groups.table} AS m (old, own) ON m.old = g.id WHERE g.voting_event_id = ${sourceId}`);
  await tx.execute(sql`
    INSERT INTO positions (voting_event_id, id, number, title, description, voting_method, group_id, sort_order, seats,
      min_selections, max_selections, score_min, score_max, cumulative_point_budget, quadratic_base_credit_budget,
      quadratic_top_up, tie_break, rules, majority_required, created_at, updated_at)
    SELECT ${eventId}, m.own, p.number, p.title, p.description, p.voting_method, g.own, p.sort_order, p.seats,
      p.min_selections, p.max_selections, p.score_min, p.score_max, p.cumulative_point_budget, p.quadratic_base_credit_budget,
      CASE WHEN ${withPrices} THEN p.quadratic_top_up END, p.tie_break, p.rules, p.majority_required, ${nowMs}, ${nowMs}
    FROM ${from('positions')} AS p JOIN ${positions.table} AS m (old, own) ON m.old = p.id
    LEFT JOIN ${groups.table} AS g (old, own) ON g.old = p.group_id WHERE p.voting_event_id = ${sourceId}`);
  await tx.execute(sql`
    INSERT INTO candidates (voting_event_id, id, number, name, description, email, position_ids, group_id, referendum_role,
      avatar_url, status, source, sort_order, created_at, updated_at)
    SELECT ${eventId}, m.own, c.number, c.name, c.description,
      CASE WHEN ${withEmails} THEN c.email END, stands.at, g.own, c.referendum_role, c.avatar_url,
      c.status, 'organizer', c.sort_order, ${nowMs}, ${nowMs}
    FROM ${from('candidates')} AS c JOIN ${candidates.table} AS m (old, own) ON m.old = c.id
    LEFT JOIN ${groups.table} AS g (old, own) ON g.old = c.group_id
    CROSS JOIN LATERAL (
      SELECT array_agg(p.own ORDER BY s.place) AS at FROM unnest(c.position_ids) WITH ORDINALITY AS s (id, place)
      JOIN ${positions.table} AS p (old, own) ON p.old = s.id) AS stands
    WHERE c.voting_event_id = ${sourceId} AND stands.at IS NOT NULL`);
  await tx.execute(sql`
    INSERT INTO sponsors (voting_event_id, id, name, logo_url, website_url, tier, sort_order, created_at, updated_at)
    SELECT ${eventId}, m.own, s.name, s.logo_url, s.website_url, s.tier, s.sort_order, ${nowMs}, ${nowMs}
    FROM ${from('sponsors')} AS s JOIN ${sponsors.table} AS m (old, own) ON m.old = s.id WHERE s.voting_event_id = ${sourceId}`);
  await tx.execute(sql`
    UPDATE voting_events e SET last_position_number = s.last_position_number, last_candidate_number = s.last_candidate_number
    FROM ${from('voting_events')} AS s WHERE e.id = ${eventId} AND s.id = ${sourceId}`);
  return groups.pairs;
}
