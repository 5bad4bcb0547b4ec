import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { EventCounter, ResultsAudience } from './count-event.ts';

/** What the figures of an event need of its results. */
export interface CountSummary {
  /** Confirmed ballots, all of them: every signed checkpoint says this number. */
  readonly ballots: number;
  /** Votes of the ballots that the audience is shown. */
  readonly entries: number;
  /** They move with the same ballots: beside the roll of a small group, one ballot would show who voted, or left a position out. */
  readonly byPosition: readonly {
    readonly positionId: string;
    readonly ballots: number;
    readonly abstentions: number;
  }[];
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
