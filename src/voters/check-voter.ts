import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { checkCast, type Participant } from './check-cast.ts';
import { countWrongKey } from './verify-voter.ts';
import { identityOf, participantsOf } from './voter-identity.ts';

interface EligibilityDeps {
  readonly db: Database;
  readonly secrets: Secrets;
}

type Eligibility = { readonly eligible: true } | { readonly eligible: false; readonly reason: string };

/** What the API calls the states of an event that keep everybody from casting. */
const REASONS: Readonly<Record<string, string>> = {
  draft: 'event_not_open',
  scheduled: 'event_not_open',
  closed: 'event_closed',
};

/** Wrong keys for one identity that are answered at once; the next ones take longer and longer, with the same answer. */
export const FREE_TRIES = 10;
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
  const participant = participantOf(event, sent);
  const verdict = await checkCast(deps.db.$client, deps.secrets, event.id, participant);
  if (verdict === 'voter_key_invalid' && participant !== undefined && 'identity' in participant) {
    const { identity } = participant;
    const { wrong } = await countWrongKey(deps.db.$client, deps.secrets, event.id, identity, caller.keyId);
    await delay(Math.min(MAX_PAUSE_MS, Math.max(0, wrong - FREE_TRIES) * PAUSE_MS));
  }
  if (verdict === 'cast') return { eligible: true };
  return { eligible: false, reason: REASONS[verdict] ?? verdict };
}

type Sent = Parameters<typeof checkVoter>[2];

/** Undefined when what identifies the participant was not sent. */
function participantOf(event: VotingEvent, sent: Sent): Participant | undefined {
  if (event.type === 'poll') {
    const identities = participantsOf(event, { ...sent, visitorId: sent.visitorId ?? '' });
    return identities === undefined ? undefined : { identities };
  }
  const identity = identityOf(event, sent);
  return identity === undefined ? undefined : { identity, voterKey: sent.voterKey ?? '' };
}
