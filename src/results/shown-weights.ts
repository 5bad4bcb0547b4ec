import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Executor } from '#src/database/client.ts';
import { secrecyOf } from '#src/voting-events/lifecycle.ts';
import { hasOnlyCommonWeights } from './repository.ts';

/** In a secret event weights of ballots are shown where each has at least so many holders, who could all have cast the ballot. */
export const COMMON_WEIGHT_HOLDERS = 5;

/**
 * Whether lists of ballots show their weights: all of them or none, because the only ballot without a weight would be that of
 * the voter whose weight is rare (completions 3, "Results, votes, exports").
 */
export const showsWeights = async (executor: Executor, { event }: BallotDefinition): Promise<boolean> =>
  secrecyOf(event) !== 'secret' || hasOnlyCommonWeights(executor, event.id, COMMON_WEIGHT_HOLDERS);
