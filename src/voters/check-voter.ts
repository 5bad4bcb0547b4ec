import type { Pool } from 'pg';
import { runNamed } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { isRefusal, refusalError } from './eligibility.ts';
import type { Identity } from './repository.ts';
import { identityHash, identityOf, participantsOf } from './voter-identity.ts';
import { hashVoterKey } from './voter-key.ts';

export interface EligibilityDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

export type Eligibility = { readonly eligible: true } | { readonly eligible: false; readonly reason: string };

interface Verdict {
  readonly verdict: string;
  readonly retry_after_ms: string | null;
}

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
  if (event.type === 'poll') return checkVisitor(deps, event, participantsOf(event, { ...sent, visitorId: sent.visitorId ?? '' }));
  const identity = identityOf(event, sent);
  if (identity === undefined) return not('identity_required');
  const { verdict, retry_after_ms } = await verifyVoter(deps, event, identity, sent.voterKey ?? '');
  if (verdict === 'locked' && isRefusal(verdict)) throw refusalError(verdict, Number(retry_after_ms ?? 0));
  return verdict === 'eligible' ? { eligible: true } : not(verdict);
}

async function checkVisitor(deps: EligibilityDeps, event: VotingEvent, participants: string[] | undefined): Promise<Eligibility> {
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

async function verifyVoter(deps: EligibilityDeps, event: VotingEvent, identity: Identity, voterKey: string): Promise<Verdict> {
  const [row] = await runNamed<Verdict & Record<string, unknown>>(
    deps.pool,
    'verify_voter',
    'SELECT verdict, retry_after_ms FROM verify_voter($1, $2, $3, $4, $5, $6)',
    [
      event.id,
      identity.kind,
      identity.key,
      hashVoterKey(deps.secrets, event.id, voterKey),
      identityHash(deps.secrets, event.id, identity),
      event.voterApproval,
    ],
  );
  if (row === undefined) throw new Error('verify_voter answers with one row');
  return row;
}
