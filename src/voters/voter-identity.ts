import { emailKey } from '#src/platform/email-address.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import type { Identity } from './identity.ts';

/**
 * How a voter of an election names itself: by voter ID where the event requires one, otherwise by the e-mail address that the
 * key was requested with, or by voter ID where no address was sent. Undefined when what is needed was not sent.
 */
export function identityOf(
  event: VotingEvent,
  sent: { readonly voterId?: string | undefined; readonly email?: string | undefined },
): Identity | undefined {
  if (!event.requireVoterId && sent.email !== undefined) return { kind: 'email', key: emailKey(sent.email) };
  return sent.voterId === undefined ? undefined : { kind: 'voter_id', key: sent.voterId };
}

/** An identity for counting: says nothing of whom it counts, and is the same for a voter that exists and one that does not. */
export function identityHash(secrets: Secrets, eventId: string, identity: Identity): Buffer {
  return secrets.mac('identity', `${eventId}\n${identity.kind}\n${identity.key}`).subarray(0, 16);
}

/** Everything that identifies a participant of a poll; none of it may vote twice. Undefined when the poll's identity is missing. */
export function participantsOf(
  event: VotingEvent,
  sent: { readonly visitorId: string; readonly voterId?: string | undefined; readonly email?: string | undefined },
): string[] | undefined {
  const participants = [`v:${visitorKey(sent.visitorId)}`];
  if (event.saveVoterInfo) {
    if (sent.email === undefined) return undefined;
    participants.push(`e:${emailKey(sent.email)}`);
  }
  if (event.requireVoterId) {
    if (sent.voterId === undefined) return undefined;
    participants.push(`i:${sent.voterId}`);
  }
  return participants;
}

/** The form by which two visitor IDs are the same; each is shown as it was sent. */
export function visitorKey(visitorId: string): string {
  return visitorId.toLowerCase();
}

/** Whom wrong keys of one API key are counted for, in one event. */
export function callerHash(secrets: Secrets, eventId: string, apiKeyId: string): Buffer {
  return secrets.mac('identity', `${eventId}\napi_key\n${apiKeyId}`).subarray(0, 16);
}
