import type { PaperShelf } from '#src/ballot-paper/paper.ts';
import type { Database } from '#src/database/client.ts';
import { type Answer, created } from '#src/http/answer.ts';
import type { DeferredClaim } from '#src/http/claim.ts';
import type { Clock } from '#src/platform/clock.ts';
import { ApiError, notFound } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { isRefusal } from '#src/voters/eligibility.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import { requireSameWorld } from '#src/voting-events/rehearsal.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { BallotWriter } from './ballot-writer.ts';
import { generateConfirmationCode } from './confirmation-code.ts';
import { insufficientCredits, prepareBallot, refusedVoter } from './prepare-ballot.ts';
import type { CastBody } from './schemas.ts';

export interface CastDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly ballotKeys: BallotKeys;
  readonly secrets: Secrets;
  readonly papers: PaperShelf;
  readonly ballots: BallotWriter;
}

interface CastResult {
  readonly confirmationCode: string;
  readonly votesCount: number;
}

/** Answered by `cast_ballots_together` where the voter weighs something else than was sealed. Nothing is stored. */
const OTHER_WEIGHT = 'other_weight';

/** How often a ballot is judged again when the ballot definition changes meanwhile. */
const PAPER_RETRIES = 5;

/**
 * Casts a ballot: it is stored as pending, and counts once it is confirmed (contract, "Cast body").
 * @throws ApiError 422 for entries against the rules, all at once; 403 and 409 for who may not cast; 429 after wrong keys
 */
export async function castBallot(
  deps: CastDeps,
  { caller, event }: VoteCaller,
  body: CastBody,
  claim: DeferredClaim | undefined,
): Promise<Answer> {
  let current = event;
  let weight: bigint | undefined;
  for (let attempt = 0; attempt < PAPER_RETRIES; attempt += 1) {
    const paper = await deps.papers.take(current);
    if (paper === undefined) throw notFound();
    // A ballot that was sent in a rehearsal is never cast outside of it, or the other way round.
    requireSameWorld(event, paper.event);
    // The event became paid while this request was read. The caller has not seen a price, so they are asked to retry.
    if (paper.event.payToVote !== null) throw changedMeanwhile();
    const code = generateConfirmationCode();
    const answer = created({ confirmationCode: code, votesCount: body.votes.length } satisfies CastResult);
    const row = await prepareBallot(deps, paper, body, code, caller.keyId, deps.db, weight);
    const { verdict, shortage, stored, weightMicro } = await deps.ballots.cast({
      row,
      claim: claim?.valuesFor(answer),
    });
    if (stored !== undefined && claim !== undefined) return claim.replay(stored);
    claim?.claimed(verdict === 'cast');
    if (verdict === 'cast') return answer;
    if (verdict === OTHER_WEIGHT && weightMicro !== undefined) {
      weight = weightMicro;
      continue;
    }
    if (shortage !== undefined) throw insufficientCredits(shortage);
    if (isRefusal(verdict)) throw await refusedVoter(deps, paper.event, row.voter?.identity, verdict, caller.keyId);
    const newer = await findEventById(deps.db, event.id);
    if (newer === undefined) throw notFound();
    current = newer;
  }
  throw changedMeanwhile();
}

function changedMeanwhile(): ApiError {
  return new ApiError('internal', 'The voting event was changed meanwhile. Retry.', undefined, 1);
}
