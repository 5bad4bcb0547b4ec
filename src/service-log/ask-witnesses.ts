import { asc, gt } from 'drizzle-orm';
import { Agent } from 'undici';
import { z } from 'zod';
import type { Config } from '#src/config.ts';
import type { Database } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import { summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { askWitness, WitnessAhead, type WitnessPlace } from './ask-witness.ts';
import { findLastCosigned, insertCosignature, listNewestCheckpoints, type ServiceCheckpoint } from './repository.ts';
import type { ServiceLogDeps } from './sequence-service-log.ts';
import { serviceCheckpoints } from './tables.ts';

/** By witness name: the age in ms of the oldest head that the witness has not signed or passed; 0 if it has signed the newest head. */
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

/** Maximum size of a response: enough for the signature lines of several keys. */
const MAX_ANSWER_BYTES = 16_384;

type WitnessDeps = Pick<ServiceLogDeps, 'db' | 'log'> & { readonly config: Pick<Config, 'witnesses'> };

const payload = z.strictObject({});
/** Enqueued with each new head. There is one attempt only, because a recurring job asks again every minute. */
export const ASK_WITNESSES = { name: 'ask_witnesses', maxAttempts: 1, payload } as const;

export const askWitnessesJob = (deps: WitnessDeps): Job<z.output<typeof payload>> =>
  defineJob({ ...ASK_WITNESSES, work: () => askWitnesses(deps) });

/** Asks all witnesses that have not signed the newest head, at the same time: one that hangs or lies does not affect the others. */
export async function askWitnesses(deps: WitnessDeps, limitMs: number = TIME_LIMITS.witnessMs): Promise<void> {
  const { witnesses } = deps.config;
  const [newest] = witnesses.length === 0 ? [] : await listNewestCheckpoints(deps.db, 0, 1);
  if (newest === undefined) return;
  const dispatcher = new Agent({ connect: { timeout: limitMs }, maxResponseSize: MAX_ANSWER_BYTES });
  try {
    await Promise.all(witnesses.map((witness) => askOne({ ...deps, dispatcher }, witness, newest, limitMs)));
  } finally {
    await dispatcher.destroy();
  }
}

async function askOne(
  deps: WitnessDeps & { readonly dispatcher: Agent },
  witness: WitnessPlace,
  checkpoint: ServiceCheckpoint,
  limitMs: number,
): Promise<void> {
  const { name } = witness.key;
  try {
    const known = await findLastCosigned(deps.db, witness.keyText);
    if (known >= checkpoint.size) return;
    const signal = AbortSignal.timeout(limitMs);
    const { line, cosignedAt } = await askWitness(deps, witness, checkpoint, known, signal);
    await insertCosignature(deps.db, { size: checkpoint.size, witness: witness.keyText, line, cosignedAt });
  } catch (fault) {
    const facts = { witness: name, size: checkpoint.size };
    if (fault instanceof WitnessAhead)
      deps.log.error({ ...facts, alarm: 'witness_ahead', signed: fault.size }, 'a witness has signed a longer log');
    else deps.log.warn({ ...facts, fault: summariseFault(fault) }, 'a witness has not signed the log of the service');
  }
}
