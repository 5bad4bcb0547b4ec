import { asc, gt } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { WitnessPlace } from './ask-witness.ts';
import { findLastCosigned } from './repository.ts';
import { serviceCheckpoints } from './tables.ts';

/** For how long each witness has been lacking at a head of the service's own log, in ms, by its name; 0 where it has signed the newest. */
export async function readWitnessLag(
  db: Database,
  witnesses: readonly WitnessPlace[],
): Promise<ReadonlyMap<string, number>> {
  const lags = new Map<string, number>();
  const nowMs = await readNow(db);
  for (const { key, keyText } of witnesses) {
    const [unsigned] = await db
      .select({ createdAt: serviceCheckpoints.createdAt })
      .from(serviceCheckpoints)
      .where(gt(serviceCheckpoints.size, await findLastCosigned(db, keyText)))
      .orderBy(asc(serviceCheckpoints.size))
      .limit(1);
    lags.set(key.name, unsigned === undefined ? 0 : Math.max(0, nowMs - unsigned.createdAt));
  }
  return lags;
}
