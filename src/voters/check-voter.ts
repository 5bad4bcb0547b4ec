import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { hasVoted } from './has-voted.ts';
import { countWrongKey, verifyVoter } from './verify-voter.ts';
import { identityOf, participantsOf } from './voter-identity.ts';

export interface EligibilityDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

export type Eligibility = { readonly eligible: true } | { readonly eligible: false; readonly reason: string };

const not = (reason: string): Eligibility => ({ eligible: false, reason });

/** Wrong keys for one identity that are answered at once; the next ones take longer and longer, with the same answer. */
const FREE_TRIES = 10;
const PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;

/** Whether a voter could cast now (contract, "voter/check"): never an error for ineligibility, not after any number of wrong keys. */
export async function checkVoter(
  deps: EligibilityDeps,
  { caller, event }: VoteCaller,
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
  const { verdict } = await verifyVoter(deps.db.$client, deps.secrets, event, identity, sent.voterKey ?? '');
  if (verdict === 'voter_key_invalid') {
    const { wrong } = await countWrongKey(deps.db.$client, deps.secrets, event.id, identity, caller.keyId);
    await delay(Math.min(MAX_PAUSE_MS, Math.max(0, wrong - FREE_TRIES) * PAUSE_MS));
  }
  return verdict === 'eligible' ? { eligible: true } : not(verdict);
}

async function checkVisitor(
  deps: EligibilityDeps,
  event: VotingEvent,
  participants: string[] | undefined,
): Promise<Eligibility> {
  if (participants === undefined) return not('identity_required');
  const voted = await hasVoted(deps.db, event.id, participants, event.repeatVotes);
  return voted ? not('already_voted') : { eligible: true };
}
