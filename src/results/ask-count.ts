import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { listSealed } from '#src/ballots/box.ts';
import { openBallot, openWaiting } from '#src/ballots/waiting-ballot.ts';
import type { Database, Executor } from '#src/database/client.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { unlessSpoilt } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { PublicSnapshot } from './disclosure.ts';
import { readBox } from './read-box.ts';
import type { CountInputs, WaitingBallot } from './read-count-inputs.ts';
import { type EventReportOptions, RunningCount, type StoredBallot } from './running-count.ts';
import { electorateOf } from './shape-count.ts';

/** A running count of all ballots in the log, and the event's other inputs of results at the same moment. */
export interface Moment {
  readonly running: RunningCount;
  readonly inputs: CountInputs;
  /** The ballots that the audience may see; undefined if it may see all confirmed ballots. */
  readonly shown: PublicSnapshot | undefined;
  /** The keys that decrypt the ballots that are not in the log yet. */
  readonly secrets: Secrets;
}

/** A query on a count that contains exactly the ballots of one moment. */
export type Question<Answer> = (
  count: RunningCount,
  options: Omit<EventReportOptions, 'lot'>,
  isForged: boolean,
) => Promise<Answer>;

/** Runs a query on all confirmed ballots except `leftOut`, or only on the public snapshot. Afterwards restores the count. */
export async function askCount<Answer>(
  db: Database,
  definition: BallotDefinition,
  { running, inputs, shown, secrets }: Moment,
  ask: Question<Answer>,
  leftOut: readonly WaitingBallot[] = [],
): Promise<Answer> {
  if (shown !== undefined) return askShown(db, definition, running, inputs, shown, ask);
  const { event } = definition;
  const out = [...inputs.voided, ...leftOut];
  const { sound, forged } = await judgeWaiting(db, secrets, event, inputs.queue, running.lastLeaf);
  // A forged ballot was never added, so it must not be subtracted.
  const notCounted = out.flatMap((one): StoredBallot[] => {
    if (forged.has(one.codeTag.toString('hex'))) return [];
    const { entries, sealed } = openBallot(secrets, event, one.codeTag, one.entries);
    return [{ entries, weightMicro: sealed?.weightMicro ?? one.weightMicro }];
  });
  await running.add(sound, 1);
  await running.add(notCounted, -1);
  const answer = await ask(running, optionsOf(event, inputs, running), forged.size > 0);
  await running.add(notCounted, 1);
  await running.add(sound, -1);
  return answer;
}

async function askShown<Answer>(
  db: Database,
  definition: BallotDefinition,
  running: RunningCount,
  inputs: CountInputs,
  { lastLeaf, waiting }: PublicSnapshot,
  ask: Question<Answer>,
): Promise<Answer> {
  const { event } = definition;
  const isEmpty = lastLeaf < 0n;
  const count = isEmpty ? new RunningCount(definition) : running;
  // The count contains the ballots logged after the snapshot: subtract them, and add them again. They may be many, so read them twice.
  const addLater = async (times: 1 | -1): Promise<void> => {
    if (isEmpty || running.lastLeaf <= lastLeaf) return;
    const take = (bytes: Uint8Array, start: number, end: number, weightMicro: bigint): void =>
      count.addPacked(bytes, start, end, weightMicro, times);
    await readBox(db, event.id, lastLeaf, take, undefined, running.lastLeaf);
  };
  await count.add(waiting, 1);
  await addLater(-1);
  const answer = await ask(count, optionsOf(event, inputs, count), false);
  await addLater(1);
  await count.add(waiting, -1);
  return answer;
}

const optionsOf = (
  { type }: VotingEvent,
  inputs: CountInputs,
  count: RunningCount,
): Omit<EventReportOptions, 'lot'> => ({
  electorateMicro: type === 'election' ? electorateOf(inputs, count) : null,
  electorateByGroup: inputs.electorate.byGroup,
  wholeWeights: !inputs.fractional && count.fractional === 0,
  unitWeights: !inputs.weighted && count.weighted === 0,
});

/**
 * Separates the ballots that wait for the log into ballots that count and forged ones. A ballot that the service did not write, or that
 * is already logged, counts in no result (completions 6.7). The mark `set_back` is ignored, because SQL could set it.
 * @param lastLeaf last logged leaf when the queue was read: a ballot that was logged later is not a copy of itself
 * @returns the ballots that count, and the tags of the forged rows, in hex
 */
export async function judgeWaiting(
  executor: Executor,
  secrets: Secrets,
  event: VotingEvent,
  queue: readonly WaitingBallot[],
  lastLeaf: bigint,
): Promise<{ readonly sound: readonly StoredBallot[]; readonly forged: ReadonlySet<string> }> {
  const waiting = queue.map(
    (one) => [one, unlessSpoilt(() => openWaiting(secrets, event, one.codeTag, one.entries))] as const,
  );
  const tags = waiting.flatMap(([, opened]) => opened?.sealed?.codeTag ?? []);
  const sealed = new Set((await listSealed(executor, event.id, tags, lastLeaf)).map((tag) => tag.toString('hex')));
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
