import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Executor, Transaction } from '#src/database/client.ts';
import type { Answer } from '#src/http/answer.ts';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { byId, type ConfigurationPart, PART_KINDS } from './configuration.ts';
import { logConfigurations } from './tables.ts';

const partView = z
  .object({
    index: z.int().meta({ description: 'Of the `open` or `config` leaf that it stands from.' }),
    kind: z.enum(PART_KINDS),
    id: z.string().meta({ description: 'Of the event, position, candidate or group.' }),
    value: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'As it stands in the configuration; null where it is gone.' }),
  })
  .meta({
    id: 'LogConfigurationPart',
    description:
      'What is another in the configuration of a leaf than in the one before: the event, or a row of a list.',
    examples: [
      { index: 7, kind: 'group', id: EXAMPLE.group, value: { id: EXAMPLE.group, name: 'North', description: null } },
    ],
  });

export const configurationParts = z
  .object({
    data: listShape(partView),
    nextFrom: z.int().nullable().meta({ description: 'What to ask for next as `from`; null at the end.' }),
  })
  .meta({ id: 'LogConfigurationParts' });

export const configurationsQuery = z.strictObject({
  from: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a number of parts')
    .transform(Number)
    .default(0)
    .meta({ shownAs: { type: 'integer', minimum: 0, description: 'Where to go on, as `nextFrom` says.' } }),
});

/** Maximum parts per page. A part has at most 35 kB. */
const MAX_PARTS = 100;
/** A page ends with the part that reaches this length: a page of a hundred long descriptions would have megabytes. */
const PAGE_BYTES = 262_144;

const ROWS_TOGETHER = 100;

type LatestPart = { readonly kind: ConfigurationPart['kind']; readonly id: string };

const latestParts = (eventId: string): SQL => sql`
  SELECT DISTINCT ON (part_id) kind, part_id AS id, number, content FROM log_configurations
  WHERE voting_event_id = ${eventId} ORDER BY part_id, number DESC`;

/** Stores only the parts that changed. @param leafIndex the leaf with the hash of the configuration */
export async function recordParts(
  tx: Transaction,
  eventId: string,
  leafIndex: number,
  parts: readonly ConfigurationPart[],
): Promise<void> {
  const { rows } = await tx.execute<LatestPart & { number: number; hash: Buffer | null }>(
    sql`SELECT kind, id, number, sha256(convert_to(content, 'UTF8')) AS hash FROM (${latestParts(eventId)}) AS latest`,
  );
  const known = new Map(rows.map((row) => [row.id, row.hash]));
  const ids = new Set(parts.map(({ id }) => id));
  const changed = [
    ...parts
      .filter(({ id, text }) => known.get(id)?.equals(sha256(text)) !== true)
      .map(({ kind, id, text }) => ({ kind, partId: id, content: text })),
    ...rows
      .filter(({ id, hash }) => hash !== null && !ids.has(id))
      .map(({ kind, id }) => ({ kind, partId: id, content: null })),
  ];
  const first = rows.reduce((most, { number }) => Math.max(most, number + 1), 0);
  for (let from = 0; from < changed.length; from += ROWS_TOGETHER) {
    const some = changed.slice(from, from + ROWS_TOGETHER);
    await tx
      .insert(logConfigurations)
      .values(some.map((part, at) => ({ votingEventId: eventId, number: first + from + at, leafIndex, ...part })));
  }
}

const configured = z.looseObject({ config: z.string() });

/** The hash of the last logged configuration, read from its leaf: direct SQL could have changed `config_hash` of the head. */
export async function readLoggedHash(executor: Executor, eventId: string): Promise<string | undefined> {
  const { rows } = await executor.execute<{ data: Buffer }>(sql`
    SELECT data FROM log_leaves WHERE voting_event_id = ${eventId}
      AND leaf_index = (SELECT max(leaf_index) FROM log_configurations WHERE voting_event_id = ${eventId})`);
  const leaf = configured.safeParse(rows[0] === undefined ? undefined : JSON.parse(rows[0].data.toString('utf8')));
  return leaf.data?.config;
}

/** The parts of the last logged configuration, by ID. */
export async function readLatestParts(
  executor: Executor,
  eventId: string,
): Promise<ReadonlyMap<string, ConfigurationPart>> {
  const { rows } = await executor.execute<LatestPart & { text: string }>(
    sql`SELECT kind, id, content AS text FROM (${latestParts(eventId)}) AS latest WHERE content IS NOT NULL`,
  );
  return new Map(rows.toSorted(byId).map((row) => [row.id, row]));
}

/** A page of parts, in the order of recording. Their values are stored as JSON, and sent as they are stored. */
export async function listParts(executor: Executor, eventId: string, from: number): Promise<Answer> {
  const { rows } = await executor.execute<
    LatestPart & { index: string; content: string | null; next: number | null }
  >(sql`
    SELECT leaf_index::text AS index, kind, part_id AS id, content, next FROM (
      SELECT *, row_number() OVER parts AS place, lead(number) OVER parts AS next,
        coalesce(sum(octet_length(content)) OVER (parts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
      FROM log_configurations WHERE voting_event_id = ${eventId} AND number >= ${from}
      WINDOW parts AS (ORDER BY number) ORDER BY number LIMIT ${MAX_PARTS + 1}) AS page
    WHERE place <= ${MAX_PARTS} AND before < ${PAGE_BYTES} ORDER BY number`);
  const data = rows.map(
    ({ index, kind, id, content }) =>
      `{"index":${index},"kind":${JSON.stringify(kind)},"id":${JSON.stringify(id)},"value":${content}}`,
  );
  const content = `{"data":[${data.join(',')}],"nextFrom":${rows.at(-1)?.next ?? null}}`;
  return { status: 200, text: { content, type: 'application/json' } };
}

/** A longer configuration can only be read in parts. */
const MAX_WHOLE_BYTES = 1_048_576;

/** The last logged configuration; undefined if it is longer than `MAX_WHOLE_BYTES`. */
export async function readConfiguration(executor: Executor, eventId: string): Promise<unknown> {
  const { rows } = await executor.execute<LatestPart & { content: string }>(sql`
    WITH latest AS (${latestParts(eventId)}) SELECT kind, id, content FROM latest
    WHERE content IS NOT NULL AND (SELECT sum(octet_length(content)) FROM latest) <= ${MAX_WHOLE_BYTES}`);
  if (rows.length === 0) return undefined;
  const valuesOf = (sought: LatestPart['kind']): unknown[] =>
    rows
      .filter(({ kind }) => kind === sought)
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
      .map(({ content }) => JSON.parse(content));
  const [event] = valuesOf('event');
  const lists = { candidates: valuesOf('candidate'), groups: valuesOf('group'), positions: valuesOf('position') };
  return Object.assign({}, event, lists);
}
