import type { TestService } from '#test/harness/test-service.ts';

/** How many sessions of the database wait for a lock. @param statement counts only those whose statement matches this pattern of ILIKE */
export async function countWaiting({ query }: Pick<TestService, 'query'>, statement = '%'): Promise<number> {
  const waiting = `SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE $1 AND pid <> pg_backend_pid()`;
  return (await query(waiting, [statement])).length;
}
