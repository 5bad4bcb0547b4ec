import type { Deps } from '#src/deps.ts';

/** Keeps every process from moving ballots into the log of an event, as another sequencer would. @returns ends it; may be called again */
export async function holdLog({ db }: Pick<Deps, 'db'>, eventId: string): Promise<() => Promise<void>> {
  const holder = await db.$client.connect();
  const lock = [`seal ${eventId}`];
  await holder.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', lock);
  let holds = true;
  return async () => {
    if (!holds) return;
    holds = false;
    await holder.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', lock);
    holder.release();
  };
}
