import type { EventResults } from './view-schemas.ts';

/** What the figures of an event need of its results. */
export interface CountSummary {
  readonly stats: EventResults['stats'];
  readonly byPosition: readonly {
    readonly positionId: string;
    readonly ballots: number;
    readonly abstentions: number;
  }[];
}

export function summaryOf({ stats, positions }: EventResults): CountSummary {
  return {
    stats,
    byPosition: positions.map(({ id, ballots, abstentions }) => ({ positionId: id, ballots, abstentions })),
  };
}
