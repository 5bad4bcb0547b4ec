import { headBody, logOrigin } from '#src/ballot-log/checkpoint.ts';
import type { CosignedHead } from '#src/ballot-log/record-cosignature.ts';
import { askWitnesses } from './ask-witnesses.ts';
import { findFirstCosigned, findLeafAt, proveLeaf } from './repository.ts';
import { eventTag, type ServiceLogDeps, ServiceLogSetBack, sequenceServiceLog } from './sequence-service-log.ts';

/**
 * What witnesses signed of the service's own log with an event's head of so many leaves in it: the first such head that one of them
 * signed. Where there is none yet, gives the head its leaf and asks them now.
 * @returns undefined where none of them signs
 */
export async function haveHeadCosigned(
  deps: ServiceLogDeps,
  eventId: string,
  size: number,
): Promise<CosignedHead | undefined> {
  const found = await findCosignedHead(deps, eventId, size);
  if (found !== undefined) return found;
  try {
    await sequenceServiceLog(deps);
  } catch (fault) {
    // It has raised its alarm, and gets no new head.
    if (!(fault instanceof ServiceLogSetBack)) throw fault;
    return undefined;
  }
  await askWitnesses(deps);
  return findCosignedHead(deps, eventId, size);
}

async function findCosignedHead(
  { db, logKey, serviceLog }: ServiceLogDeps,
  eventId: string,
  size: number,
): Promise<CosignedHead | undefined> {
  const index = await findLeafAt(db, eventTag(logOrigin(logKey.name, eventId)), size);
  const cosigned = index === undefined ? undefined : await findFirstCosigned(db, index);
  if (index === undefined || cosigned === undefined) return undefined;
  const { head, lines } = cosigned;
  return {
    checkpoint: headBody({ origin: serviceLog.signer.name, size: head.size, rootHash: head.rootHash }),
    index,
    hashes: await proveLeaf(db, index, head.size),
    cosignatures: lines,
  };
}
