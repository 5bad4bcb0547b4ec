import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { isSealed, openBallot } from '#src/ballots/waiting-ballot.ts';
import type { Deps } from '#src/deps.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { PublicSnapshot } from './disclosure.ts';
import { judgeWaiting } from './judge-waiting.ts';
import { readBox } from './read-box.ts';
import type { CountInputs, WaitingBallot } from './read-count-inputs.ts';
import { type EventReportOptions, RunningCount, type StoredBallot } from './running-count.ts';
import { electorateOf } from './shape-count.ts';

/** A count that has caught up, and what belongs to that moment. */
export interface Moment {
  readonly running: RunningCount;
  readonly inputs: CountInputs;
  /** What the audience is shown in place of all that was confirmed, where something is kept back from it. */
  readonly shown: PublicSnapshot | undefined;
}

/** What is asked of a count while it holds the ballots of a moment. */
export type Question<Answer> = (
  count: RunningCount,
  options: Omit<EventReportOptions, 'lot'>,
  isForged: boolean,
) => Promise<Answer>;

type AskDeps = Pick<Deps, 'db' | 'secrets' | 'ballotKeys'>;

/**
 * Has a count hold, while it is asked, what belongs to the moment and is not in the box to stay, or no more than what is shown.
 * @param leftOut ballots of the log that do not count this time
 */
export function askCount<Answer>(
  deps: AskDeps,
  definition: BallotDefinition,
  { running, inputs, shown }: Moment,
  ask: Question<Answer>,
  leftOut: readonly WaitingBallot[] = [],
): Promise<Answer> {
  return shown === undefined
    ? askAll(deps, definition, running, inputs, ask, leftOut)
    : askShown(deps, definition, running, inputs, shown, ask);
}

/** Asks about the ballots of a snapshot and no others. */
async function askShown<Answer>(
  { db }: AskDeps,
  definition: BallotDefinition,
  running: RunningCount,
  inputs: CountInputs,
  { lastLeaf, waiting }: PublicSnapshot,
  ask: Question<Answer>,
): Promise<Answer> {
  const { event } = definition;
  const isEmpty = lastLeaf < 0n;
  const count = isEmpty ? new RunningCount(definition) : running;
  // What was sealed since stands in the box for good, and may be much: it is read twice and held nowhere.
  const addLater = async (times: 1 | -1): Promise<void> => {
    if (isEmpty || running.lastLeaf <= lastLeaf) return;
    const take = (bytes: Uint8Array, start: number, end: number, weightMicro: bigint): void =>
      count.addPacked(bytes, start, end, weightMicro, times);
    await readBox(db.$client, event.id, lastLeaf, take, undefined, running.lastLeaf);
  };
  await count.add(waiting, 1);
  await addLater(-1);
  const answer = await ask(count, optionsOf(event, inputs, count), false);
  await addLater(1);
  await count.add(waiting, -1);
  return answer;
}

/** Asks about all confirmed ballots. */
async function askAll<Answer>(
  { db, secrets: own, ballotKeys }: AskDeps,
  { event }: BallotDefinition,
  running: RunningCount,
  inputs: CountInputs,
  ask: Question<Answer>,
  leftOut: readonly WaitingBallot[],
): Promise<Answer> {
  const out = [...inputs.voided, ...leftOut];
  // What stands in the log needs no key, so that a result outlives its own.
  const isAnySealed = [...inputs.queue, ...out].some(({ entries }) => isSealed(entries));
  const secrets = (isAnySealed ? await ballotKeys.find(event) : undefined) ?? own;
  const { sound, forged } = await judgeWaiting(db, secrets, event, inputs.queue);
  // What counts in no result is not taken from one either.
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
