import { listSealed } from '#src/ballots/box.ts';
import { openWaitingOrNot } from '#src/ballots/waiting-ballot.ts';
import type { Executor } from '#src/database/client.ts';
import { MICRO } from '#src/platform/decimal.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { WaitingBallot } from './read-count-inputs.ts';
import type { StoredBallot } from './running-count.ts';

/**
 * Separates waiting ballots that count from forged ones. A ballot that the service did not write, or that is already logged, counts
 * in no result (completions 6.7). The mark `set_back` is ignored, because SQL could set it.
 * @returns the ballots that count, and the tags of the forged rows, in hex
 */
export async function judgeWaiting(
  executor: Executor,
  secrets: Secrets,
  event: VotingEvent,
  queue: readonly WaitingBallot[],
): Promise<{ readonly sound: readonly StoredBallot[]; readonly forged: ReadonlySet<string> }> {
  const waiting = queue.map((one) => [one, openWaitingOrNot(secrets, event, one.codeTag, one.entries)] as const);
  const tags = waiting.flatMap(([, opened]) => opened?.sealed?.codeTag ?? []);
  const sealed = new Set((await listSealed(executor, event.id, tags)).map((tag) => tag.toString('hex')));
  const forged = new Set<string>();
  const sound = waiting.flatMap(([{ codeTag, weightMicro }, opened]): StoredBallot[] => {
    const isCopy = sealed.has((opened?.sealed?.codeTag ?? codeTag).toString('hex'));
    const isSound = opened !== undefined && !isCopy && (opened.sealed !== undefined || weightMicro === MICRO);
    if (isSound) return [{ entries: opened.entries, weightMicro: opened.sealed?.weightMicro ?? weightMicro }];
    forged.add(codeTag.toString('hex'));
    return [];
  });
  return { sound, forged };
}
