import type { Pool } from 'pg';
import { z } from 'zod';
import { runNamed } from '#src/database/client.ts';
import { countryCodeField, emailField, nameField, voterIdField } from '#src/http/fields.ts';
import type { IsFaulty } from '#src/http/sound-parts.ts';
import { providersThatNeed } from '#src/payment-providers/registered.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

export interface Identity {
  readonly kind: 'email' | 'voter_id';
  /** The normalised identity: equal identities have equal keys. */
  readonly key: string;
}

/** `vi_` and 16 to 128 hexadecimal digits, in ASCII only, so that no other Unicode digit counts as the same visitor. */
export const visitorIdField = () =>
  z
    .string()
    .overwrite((id) => id.trim())
    .regex(/^vi_[0-9a-fA-F]{16,128}$/, 'must be vi_ followed by 16 to 128 hexadecimal characters')
    .describe('`vi_` and 16 to 128 hexadecimal characters, the same for one visitor every time.');

/** A voter key as people type it, in any case, with or without dashes. Other texts are wrong keys, not wrong requests (completions 4.5). */
const voterKeyField = () =>
  z.string().min(1, 'must not be empty').describe('As it was e-mailed; case and dashes do not matter.');

export const electionIdentity = {
  voterKey: voterKeyField(),
  voterId: voterIdField().optional().describe('Needed where the event requires voter IDs.'),
  email: emailField().optional().describe('Needed where the key was requested by e-mail.'),
};

export const pollIdentity = {
  visitorId: visitorIdField(),
  voterId: voterIdField().optional().describe('Needed where the poll requires voter IDs.'),
  email: emailField()
    .optional()
    .describe(`Needed where the poll saves voter information, and to pay with ${providersThatNeed('email')}.`),
};

export const castDetails = { name: nameField().optional(), countryCode: countryCodeField().optional() };

export const checkElectionBody = z.strictObject(electionIdentity);

export const checkPollBody = z.strictObject(pollIdentity);

/**
 * The identity that a voter of an election sent. It is the voter ID if the event requires voter IDs; otherwise the e-mail address with
 * which the key was requested, or the voter ID if no address was sent. Undefined if the needed field is missing.
 */
export function identityOf(event: VotingEvent, sent: SentIdentity): Identity | undefined {
  if (!event.requireVoterId && sent.email !== undefined) return { kind: 'email', key: emailKey(sent.email) };
  return sent.voterId === undefined ? undefined : { kind: 'voter_id', key: sent.voterId };
}

type SentIdentity = Pick<z.output<typeof checkPollBody>, 'voterId' | 'email'>;

/** Reports a missing identity in an election. @param isFaulty whether a field has a wrong shape, and so is not missing */
export function identityIssues(event: VotingEvent, sent: SentIdentity, isFaulty: IsFaulty): Issue[] {
  if (identityOf(event, sent) !== undefined || isFaulty('voterId')) return [];
  if (event.requireVoterId) return [{ field: 'voterId', message: 'is required: this event requires voter IDs' }];
  return isFaulty('email') ? [] : [{ field: 'email', message: 'is required where there is no voterId' }];
}

export function participantIssues(event: VotingEvent, sent: SentIdentity): Issue[] {
  return [
    ...(event.requireVoterId && sent.voterId === undefined
      ? [{ field: 'voterId', message: 'is required: this poll requires voter IDs' }]
      : []),
    ...(event.saveVoterInfo && sent.email === undefined
      ? [{ field: 'email', message: 'is required: this poll tells participants apart by e-mail' }]
      : []),
  ];
}

/** Keyed hash of an identity, whether or not it is a voter's. Counts its requests without revealing it. */
export function identityHash(secrets: Secrets, eventId: string, identity: Identity): Buffer {
  return secrets.mac('identity', `${eventId}\n${identity.kind}\n${identity.key}`).subarray(0, 16);
}

/** All identities of a participant of a poll, of which none may vote twice. Undefined if a required identity is missing. */
export function participantsOf(event: VotingEvent, sent: z.output<typeof checkPollBody>): string[] | undefined {
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

/** The normalised form in which visitor IDs are compared. Answers show a visitor ID as it was sent. */
export function visitorKey(visitorId: string): string {
  return visitorId.toLowerCase();
}

/**
 * Counts a wrong key for the identity and for the API key that sent it (completions 4.5). Only wrong keys are ever delayed: 80
 * bits cannot be guessed, and a lock-out would let attackers block voters by sending wrong keys.
 * @returns the identity's wrong keys within 15 minutes, with this one, and how long further wrong keys are refused
 */
export async function countWrongKey(
  pool: Pool,
  secrets: Secrets,
  eventId: string,
  identity: Identity,
  apiKeyId: string,
): Promise<{ readonly wrong: number; readonly retryAfterMs: number }> {
  const callerHash = secrets.mac('identity', `${eventId}\napi_key\n${apiKeyId}`).subarray(0, 16);
  const [row] = await runNamed<{ wrong: number; retry_after_ms: string }>(
    pool,
    'count_wrong_key',
    'SELECT wrong, retry_after_ms FROM count_wrong_key($1, $2, $3)',
    [eventId, identityHash(secrets, eventId, identity), callerHash],
  );
  return { wrong: row?.wrong ?? 1, retryAfterMs: Number(row?.retry_after_ms ?? 0) };
}
