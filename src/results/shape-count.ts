import { createHash } from 'node:crypto';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { microToDecimal, microToNumber, shareOf } from '#src/platform/decimal.ts';
import type { Lot } from '#src/tally/types.ts';
import type { EventCounter, ResultsAudience } from './count-event.ts';
import type { PublicSnapshot } from './disclosure.ts';
import type { EventResults } from './event-results.ts';
import type { CountInputs } from './read-count-inputs.ts';
import type { StatsView } from './read-stats.ts';
import type { EventReportOptions, RunningCount } from './running-count.ts';

/** What of the results needs a count; the rest is of the event and the clock. */
export interface Counted {
  readonly stats: Omit<EventResults['stats'], 'identityChanges' | 'rollChanges' | 'lettersPrinted' | 'disclosure'>;
  readonly positions: EventResults['positions'];
  /** Exact decimals: the weight of the ballots, and of the approved voters; null in polls. */
  readonly weight: string;
  readonly electorate: string | null;
  /** Whether a ballot that waits was left out because the service did not write it as it stands. */
  readonly isForged: boolean;
}

/**
 * The weight of those who may vote. Approvals by a first key that are kept back are not in it (completions 5.6): only as far as the
 * ballots show them anyway, so that no more than all have voted.
 */
export const electorateOf = ({ electorate }: CountInputs, { weightMicro }: RunningCount): bigint =>
  electorate.weightMicro > weightMicro ? electorate.weightMicro : weightMicro;

/** What a report is made of: two that agree in it are the same. */
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
    // A snapshot says more ballots than the one before, or is the same.
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

export async function shape(running: RunningCount, options: EventReportOptions): Promise<Omit<Counted, 'isForged'>> {
  const { electorateMicro } = options;
  const positions = await running.report(options);
  return {
    stats: {
      // The sum of scores is no number of votes, and below zero on some scales.
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
    weight: microToDecimal(running.weightMicro),
    electorate: electorateMicro === null ? null : microToDecimal(electorateMicro),
  };
}

/** What the figures of an event need of its results. */
export interface CountSummary {
  /** Confirmed ballots, all of them: every signed checkpoint says this number. */
  readonly ballots: number;
  /** Votes of the ballots that the audience is shown. */
  readonly entries: number;
  /** They move with the same ballots: beside the roll of a small group, one ballot would show who voted, or left a position out. */
  readonly byPosition: StatsView['byPosition'];
}

export async function summarise(
  counter: EventCounter,
  definition: BallotDefinition,
  audience: ResultsAudience,
  nowMs: number,
): Promise<CountSummary> {
  const { results, confirmed } = await counter.count(definition, audience, nowMs);
  return {
    ballots: confirmed,
    entries: results.stats.entries,
    byPosition: results.positions.map(({ id, ballots, abstentions }) => ({ positionId: id, ballots, abstentions })),
  };
}
