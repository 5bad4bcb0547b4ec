import { sql } from 'drizzle-orm';
import type { Transaction } from '#src/database/client.ts';

/** How many rows of some tables a transaction has read so far. */
export async function rowsRead(tx: Transaction, ...tables: string[]): Promise<number> {
  const { rows } = await tx.execute<{ read: string }>(sql`
    SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::text AS read FROM pg_stat_xact_user_tables
    WHERE relname = ANY (${sql.param(tables)})`);
  return Number(rows[0]?.read);
}
