import { createHash } from 'node:crypto';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { microToDecimal, microToNumber, shareOf } from '#src/platform/decimal.ts';
import type { Lot } from '#src/tally/types.ts';
import type { EventCounter, ResultsAudience } from './count-event.ts';
import type { PublicSnapshot } from './disclosure.ts';
import type { EventResults } from './event-results.ts';
import type { CountInputs } from './read-count-inputs.ts';
import type { EventReportOptions, RunningCount } from './running-count.ts';

/** The part of the results that comes from a count. The rest comes from the event and the clock. */
export interface Counted extends Awaited<ReturnType<typeof shape>> {
  /** Whether a waiting ballot was left out because it is forged (`judgeWaiting`). */
  readonly isForged: boolean;
}

/** The electorate. It may lack approvals that are kept back, so it is at least the weight of the ballots: turnout must not exceed 100 %. */
export const electorateOf = ({ electorate }: CountInputs, { weightMicro }: RunningCount): bigint =>
  electorate.weightMicro > weightMicro ? electorate.weightMicro : weightMicro;

/** Fingerprint of a report's inputs: equal fingerprints mean equal reports. */
export function describe(
  running: RunningCount,
  inputs: CountInputs,
  shown: PublicSnapshot | undefined,
  lot: Lot | null,
): string {
  const hash = createHash('sha256');
  if (shown === undefined)
    for (const ballots of [inputs.queue, inputs.voided, inputs.reversed]) {
      hash.update(`${ballots.length};`);
      for (const tag of ballots.map(({ codeTag }) => codeTag).toSorted(Buffer.compare)) hash.update(tag);
    }
  const { weightMicro, byGroup } = inputs.electorate;
  const groups = [...byGroup].toSorted(([one], [other]) => (one < other ? -1 : 1)).flat();
  const { fractional, weighted } = inputs;
  const made = [
    running.definitionVersion,
    // Each new snapshot has more ballots than the last one, so its number of ballots identifies it.
    shown === undefined ? running.lastLeaf : `${shown.boxBallots} ${shown.waiting.length}`,
    weightMicro,
    ...groups,
    fractional,
    weighted,
    lot?.seed,
    lot?.root,
  ];
  return [...made, hash.digest('hex')].join(' ');
}

export async function shape(running: RunningCount, options: EventReportOptions) {
  const { electorateMicro } = options;
  const positions: EventResults['positions'] = await running.report(options);
  return {
    stats: {
      // A sum of scores is no number of votes, and on some scales is below zero.
      totalVotes: positions.reduce(
        (sum, { votingMethod, totalVotes }) => (votingMethod === 'score' ? sum : sum + totalVotes),
        0,
      ),
      ballots: running.ballots,
      entries: running.entries,
      abstentions: positions.reduce((sum, position) => sum + position.abstentions, 0),
      electorate: electorateMicro === null ? null : microToNumber(electorateMicro),
      turnout:
        electorateMicro === null || electorateMicro === 0n ? null : shareOf(running.weightMicro, electorateMicro),
    },
    positions,
    /** Exact decimals: the weight of the ballots, and of the approved voters; null in polls. */
    weight: microToDecimal(running.weightMicro),
    electorate: electorateMicro === null ? null : microToDecimal(electorateMicro),
  };
}

export type CountSummary = Awaited<ReturnType<typeof summarise>>;

/** The part of the results that the figures of an event show. */
export async function summarise(
  counter: EventCounter,
  definition: BallotDefinition,
  audience: ResultsAudience,
  nowMs: number,
) {
  const { results, confirmed, weight } = await counter.count(definition, audience, nowMs);
  return {
    // The number of all ballots is not secret: every signed checkpoint states it.
    ballots: confirmed,
    // This and all below is about the ballots that the audience may see.
    entries: results.stats.entries,
    // Counts shown ballots, too: beside the roll of a small group, a change by one ballot would show who voted or abstained.
    byPosition: results.positions.map(({ id, ballots, abstentions }) => ({ positionId: id, ballots, abstentions })),
    weight: Number(weight),
    turnout: results.stats.turnout,
  };
}
