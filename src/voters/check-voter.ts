import type { Pool } from 'pg';
import { runNamed } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { isRefusal, refusalError } from './eligibility.ts';
import { verifyVoter } from './verify-voter.ts';
import { identityOf, participantsOf } from './voter-identity.ts';

export interface EligibilityDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

export type Eligibility = { readonly eligible: true } | { readonly eligible: false; readonly reason: string };

const not = (reason: string): Eligibility => ({ eligible: false, reason });

/** Whether a voter could cast now (contract, "voter/check"): never an error for ineligibility. @throws ApiError 429 after too many wrong keys */
export async function checkVoter(
  deps: EligibilityDeps,
  { event }: VoteCaller,
  sent: {
    readonly voterKey?: string | undefined;
    readonly visitorId?: string | undefined;
    readonly voterId?: string | undefined;
    readonly email?: string | undefined;
  },
): Promise<Eligibility> {
  const status = statusAt(event, deps.clock.now());
  if (status !== 'open') return not(status === 'closed' ? 'event_closed' : 'event_not_open');
  if (event.type === 'poll')
    return checkVisitor(deps, event, participantsOf(event, { ...sent, visitorId: sent.visitorId ?? '' }));
  const identity = identityOf(event, sent);
  if (identity === undefined) return not('identity_required');
  const { verdict, retryAfterMs } = await verifyVoter(deps.pool, deps.secrets, event, identity, sent.voterKey ?? '');
  if (verdict === 'locked' && isRefusal(verdict)) throw refusalError(verdict, retryAfterMs);
  return verdict === 'eligible' ? { eligible: true } : not(verdict);
}

async function checkVisitor(
  deps: EligibilityDeps,
  event: VotingEvent,
  participants: string[] | undefined,
): Promise<Eligibility> {
  if (participants === undefined) return not('identity_required');
  if (event.repeatVotes) return { eligible: true };
  const rows = await runNamed<{ participant: string }>(
    deps.pool,
    'find_participation',
    'SELECT participant FROM participation WHERE voting_event_id = $1 AND participant = ANY ($2)',
    [event.id, participants],
  );
  return rows.length === 0 ? { eligible: true } : not('already_voted');
}
