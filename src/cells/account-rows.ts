import pg from 'pg';

// The rows that belong to an account. Every table is in exactly one of these lists, or holds rows of one event; a test compares the lists
// with the catalogue, so that no table is forgotten.

type Client = Pick<pg.Client, 'query'>;

/** Conditions on the rows `t` of a table; `:account` stands for the account's ID. */
type Conditions = Readonly<Record<string, string>>;

const OWN = 't.account_id = :account';
const IS_LIVING = 'e.account_id = :account AND e.deleted_at IS NULL';
const LIVING_EVENTS = `(SELECT e.id FROM voting_events e WHERE ${IS_LIVING})`;
/** Accounts with which an event of the account is shared. */
const GUESTS = `(SELECT i.account_id FROM event_invites i WHERE i.voting_event_id IN ${LIVING_EVENTS} AND i.account_id IS NOT NULL)`;

/** Prefix of the codes of events that have left a cell or were set aside in it, until their rows are deleted there. */
export const LEFT = 'moved/';

export const holderOf = (account: string): string => `move ${account}`;

/**
 * Tables whose rows make the service act, such as keys and jobs. Their copies stay in `arriving_rows` until the move has switched
 * (`move-account.ts`). A table comes after the tables that it refers to.
 */
export const ACTING: Conditions = {
  accounts: 't.id = :account',
  api_keys: OWN,
  payment_businesses: OWN,
  payment_attempts: OWN,
  payment_refunds:
    '(t.voting_event_id, t.attempt_id) IN (SELECT a.voting_event_id, a.id FROM payment_attempts a WHERE a.account_id = :account)',
  provider_events: 't.payment_business_id IN (SELECT b.id FROM payment_businesses b WHERE b.account_id = :account)',
  webhook_endpoints: OWN,
  webhook_deliveries: 't.endpoint_id IN (SELECT w.id FROM webhook_endpoints w WHERE w.account_id = :account)',
  webhook_attempts:
    't.delivery_id IN (SELECT d.id FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id WHERE w.account_id = :account)',
  guest_cells: OWN,
  jobs: "t.held_by = 'move ' || :account",
};

/** Tables whose rows may exist in both cells: a copy adds the rows that the new cell lacks. */
export const SHARED: Conditions = {
  audit_entries: OWN,
  // A guest's claims stay in the old cell and are copied to the new cell, where a repeated request finds them.
  idempotency_keys: `t.status IS NOT NULL AND t.api_key_id IN (SELECT k.id FROM api_keys k WHERE k.account_id = :account OR k.account_id IN ${GUESTS}
    UNION ALL SELECT g.id FROM guest_keys g WHERE g.account_id IN ${GUESTS})`,
  guest_keys: `t.account_id <> :account
    AND (t.account_id IN ${GUESTS} OR t.id IN (SELECT a.key_id FROM audit_entries a WHERE a.account_id = :account))`,
};

/** Queries that are read in place of a table: the keys of accounts that stay behind become guest keys in the new cell. */
export const SOURCES: Readonly<Record<string, string>> = {
  guest_keys: `(SELECT id, account_id, account_name, name, hint FROM guest_keys
    UNION SELECT k.id, a.id, a.name, k.name, k.hint FROM api_keys k JOIN accounts a ON a.id = k.account_id)`,
};

/** Tables that stay, and why. */
export const STAYING: Readonly<Record<string, string>> = {
  arriving_rows: 'rows of a move',
  code_claims: 'over with their transaction',
  job_runners: 'processes of a cell',
  mail_quotas: 'a new cell begins to count again',
  moved_accounts: 'accounts that moved',
  rate_limits: 'counted for all cells together',
  request_traces: 'explain requests of the last hours where they were',
  schema_number: 'of a database',
  service_checkpoints: 'the log of the service',
  service_cosignatures: 'the log of the service',
  service_identity: 'the same in all cells',
  service_log: 'the log of the service',
  service_log_leaves: 'the log of the service',
  service_log_tiles: 'the log of the service',
  service_processes: 'processes of a cell',
  webhook_holds: 'senders of a cell',
};

/** A job `t` belongs to the account of the event, business or account in its payload, otherwise to the account that enqueued it. */
export const JOBS_OF_ACCOUNT = `CASE
  WHEN coalesce(t.payload ->> 'eventId', t.payload ->> 'votingEventId') IS NOT NULL THEN t.name <> 'remove_deleted_event' AND EXISTS (
    SELECT 1 FROM voting_events e WHERE e.id = coalesce(t.payload ->> 'eventId', t.payload ->> 'votingEventId') AND e.account_id = :account
    UNION ALL SELECT 1 FROM payment_attempts a
    WHERE a.voting_event_id = coalesce(t.payload ->> 'eventId', t.payload ->> 'votingEventId') AND a.account_id = :account)
  WHEN t.payload ->> 'businessId' IS NOT NULL THEN EXISTS (
    SELECT 1 FROM payment_businesses b WHERE b.id = t.payload ->> 'businessId' AND b.account_id = :account)
  WHEN t.payload ->> 'accountId' IS NOT NULL THEN t.payload ->> 'accountId' = :account
  ELSE t.account = :account END`;

/** A condition for one account, as SQL text: COPY takes no parameters. */
export const forAccount = (condition: string, account: string): string =>
  condition.replaceAll(':account', pg.escapeLiteral(account));

export interface Table {
  readonly name: string;
  /** Without identity columns, because each database numbers its own rows. */
  readonly columns: readonly string[];
  readonly refersTo: readonly string[];
  readonly isOfEvent: boolean;
  readonly isTagged: boolean;
}

/** The tables of a database, as its catalogue describes them. */
export async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    SELECT c.relname AS name,
      array(SELECT a.attname::text FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = '' ORDER BY a.attnum) AS columns,
      array(SELECT f.confrelid::regclass::text FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f') AS "refersTo",
      EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'voting_event_id' AND a.attnotnull) AS "isOfEvent",
      EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tag') AS "isTagged"
    FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1`);
  return rows;
}

/** The tables of events that are not in `ACTING`. A table comes after the tables that it refers to. */
export function tablesOfEvents(tables: readonly Table[]): Table[] {
  const left = tables.filter(({ name, isOfEvent }) => isOfEvent && ACTING[name] === undefined);
  const ordered: Table[] = [];
  while (left.length > 0) {
    const next = left.findIndex(({ name, refersTo }) =>
      left.every((one) => one.name === name || !refersTo.includes(one.name)),
    );
    ordered.push(...left.splice(Math.max(next, 0), 1));
  }
  return ordered;
}

export const ofLivingEvents = `t.voting_event_id IN ${LIVING_EVENTS}`;
/** Condition on rows `t` of events that were copied into this cell and are still hidden. */
export const ofHiddenEvents =
  't.voting_event_id IN (SELECT e.id FROM voting_events e WHERE e.account_id = :account AND e.deleted_at IS NOT NULL)';
export const livingEvents = IS_LIVING.replaceAll('e.', 't.');
