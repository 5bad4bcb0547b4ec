import pg from 'pg';
import type { DumpedRow } from './attacker.ts';

/** What the write-ahead log shows of a database, the only one of its server: which record of which transaction is how long. Its bytes are not looked at. */
export class WrittenAhead {
  readonly #pool: pg.Pool;
  readonly #rows: DumpedRow[] = [];
  #from: string;

  private constructor(pool: pg.Pool, from: string) {
    this.#pool = pool;
    this.#from = from;
  }

  /** Begins with what is written from now on. */
  static async begin(pool: pg.Pool): Promise<WrittenAhead> {
    await pool.query('CREATE EXTENSION pg_walinspect');
    // A checkpoint would have files reused that were not read yet.
    await pool.query("ALTER SYSTEM SET wal_keep_size = '8GB'");
    await pool.query('SELECT pg_reload_conf()');
    return new WrittenAhead(pool, await endOf(pool));
  }

  /** Notes the records since the last call. */
  async read(): Promise<void> {
    const from = this.#from;
    const to = await endOf(this.#pool);
    if (to === from) return;
    this.#from = to;
    // Without the time limits of the service's pool.
    const client = new pg.Client({ connectionString: this.#pool.options.connectionString });
    await client.connect();
    const reading = client.query<{ kind: string; at: string; xid: string; columns: Record<string, number> }>(
      `SELECT concat_ws(' ', r.resource_manager, replace(r.record_type, '+INIT', ''), o.relname) AS kind, r.start_lsn - '0/0'::pg_lsn AS at, r.xid::text AS xid,
         jsonb_build_object('record', r.record_length, 'data', r.main_data_length) AS columns
       FROM pg_get_wal_records_info($1, $2) AS r
       CROSS JOIN LATERAL regexp_match(r.block_ref, 'rel \\d+/(\\d+)/(\\d+)') AS block
       JOIN pg_database d ON d.datname = current_database() AND d.oid = block[1]::oid
       LEFT JOIN pg_class o ON o.relfilenode = block[2]::oid
       WHERE r.xid::text <> '0'`,
      [from, to],
    );
    const { rows } = await reading.finally(() => client.end());
    for (const { kind, at, xid, columns } of rows)
      this.#rows.push({ table: `written ahead: ${kind}`, place: Number(at), transaction: Number(xid), columns });
  }

  /** Every record, and what each transaction wrote in all. */
  rows(): DumpedRow[] {
    const totals = Map.groupBy(this.#rows, ({ transaction }) => transaction);
    const transactions = [...totals.values()].flatMap((own): DumpedRow[] => {
      const [first] = own;
      if (first === undefined) return [];
      const bytes = own.reduce((sum, { columns }) => sum + Number(columns['record']), 0);
      return [{ ...first, table: 'written ahead: a transaction', columns: { records: own.length, bytes } }];
    });
    return [...this.#rows, ...transactions];
  }
}

/** How far the log is written out, with all that was committed: a commit that is waited for writes out those before. */
async function endOf(pool: pg.Pool): Promise<string> {
  await pool.query("BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, '', ''); COMMIT");
  const { rows } = await pool.query<{ at: string }>('SELECT pg_current_wal_flush_lsn() AS at');
  return rows[0]?.at ?? '';
}
