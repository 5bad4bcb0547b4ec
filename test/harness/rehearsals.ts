import { demand, type TestEvent } from './elections.ts';
import type { TestAccount, TestService } from './test-service.ts';

/** What a rehearsal leaves of itself on purpose, and what counts or binds changes whatever they are. */
const OWN_TRACES = ['tag', 'paper_version', 'updated_at', 'rehearsal_number', 'rehearsal_ballots'];
/** The organizer's own steps stand in the trail, and the figures of the roll are sums of rows. */
const APART = ['audit_entries', 'ballot_keys', 'roll_figures', 'roll_sums'];

type Row = Record<string, unknown>;

/** Every row of an event, by table, as it stands; of sums, the sums. */
export async function dumpEvent(service: TestService, eventId: string): Promise<Record<string, unknown>> {
  const { $client } = service.deps.db;
  const rowsOf = async (text: string): Promise<Row[]> => (await $client.query<Row>(text, [eventId])).rows;
  const { rows: tables } = await $client.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'voting_event_id' ORDER BY 1`,
  );
  const dump: Record<string, unknown> = {};
  for (const { name } of tables) {
    if (APART.includes(name)) continue;
    const rows = await rowsOf(`SELECT to_jsonb(t) AS row FROM ${name} t WHERE voting_event_id = $1`);
    if (rows.length > 0) dump[name] = rows.map(({ row }) => JSON.stringify(row)).toSorted();
  }
  const [event] = await rowsOf('SELECT to_jsonb(e) AS row FROM voting_events e WHERE id = $1');
  dump['voting_events'] = Object.fromEntries(
    Object.entries(event?.['row'] as Row).filter(([column]) => !OWN_TRACES.includes(column)),
  );
  dump['figures'] = await rowsOf(
    `SELECT group_id, status, source, sum(heads) AS heads, sum(weight_micro) AS weight, sum(voted) AS voted, sum(voted_weight_micro) AS voted_weight
     FROM roll_figures WHERE voting_event_id = $1 GROUP BY 1, 2, 3
     HAVING sum(heads) <> 0 OR sum(weight_micro) <> 0 OR sum(voted) <> 0 OR sum(voted_weight_micro) <> 0 ORDER BY 1, 2, 3`,
  );
  dump['stored answers'] = await rowsOf(
    `SELECT count(*) AS stored FROM idempotency_keys k JOIN api_keys a ON a.id = k.api_key_id
     JOIN voting_events e ON e.account_id = a.account_id WHERE e.id = $1`,
  );
  return dump;
}

/** Changes an event as its organizer. */
export async function patchEvent(service: TestService, account: TestAccount, event: TestEvent, changes: object) {
  return demand(await service.call('PATCH', `/voting-events/${event.id}`, changes, { key: account.write }), 200);
}
