import type { z } from 'zod';
import { recordChange } from '#src/accounts/record-change.ts';
import { listGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { type IsFaulty, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { type Issue, validationError } from '#src/platform/errors.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { lifeRefusal } from '#src/voting-events/life.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { holdWorld } from '#src/voting-events/rehearsal.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { addVoters, singleField, takeRoomForVoters, type VoterDeps } from './create-voters.ts';
import type { DomainCheck } from './email-domain.ts';
import { MAIL_REGISTRATION } from './mail-registration.ts';
import { storeVoter } from './repository.ts';
import type { registerVoterBody, Voter } from './voter.ts';

interface RegistrationDeps extends VoterDeps {
  readonly db: Database;
  readonly domainCheck: DomainCheck;
}

function requireOpenRegistration(deps: RegistrationDeps, event: VotingEvent): void {
  if (!event.voterSelfRegistration || event.type === 'poll') throw refuse('registration_closed');
  if (statusAt(event, deps.clock.now()) === 'closed') throw lifeRefusal('event_closed');
}

/** What is wrong with the values of a registration. @param isFaulty names what was sent in a wrong form: it is not missing */
export async function registrationIssues(
  deps: Pick<RegistrationDeps, 'db' | 'domainCheck'>,
  event: VotingEvent,
  { voterId, email, groupId }: SoundParts<z.output<typeof registerVoterBody>>,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const [groupIds, takesMail] = await Promise.all([
    groupId === undefined ? undefined : listGroupIds(deps.db, event.id),
    email === undefined || deps.domainCheck(email),
  ]);
  const issues: Issue[] = [];
  if (event.requireVoterId && voterId === undefined && !isFaulty('voterId'))
    issues.push({ field: 'voterId', message: 'is required: this event requires voter IDs' });
  if (groupId !== undefined && groupIds?.has(groupId) !== true)
    issues.push({ field: 'groupId', message: 'is not a group of this event' });
  if (!takesMail) issues.push({ field: 'email', message: 'has a domain that does not accept mail' });
  return issues;
}

/**
 * Registers a voter that starts `pending` (contract, "Voter registration body"; completions 4.9).
 * The look-up of the e-mail's domain comes before the transaction: no connection waits for a name server.
 * @throws ApiError 422 for an unknown group, and for an address whose domain takes no mail; 403 `registration_closed`; 409 `event_closed`, 409 for a duplicate
 */
export async function registerVoter(
  deps: RegistrationDeps,
  { caller, event, ownerPlan }: VoteCaller,
  body: z.output<typeof registerVoterBody>,
  store: (tx: Transaction, voter: Voter) => Promise<void>,
): Promise<Voter> {
  const issues = await registrationIssues(deps, event, body, NOTHING_FAULTY);
  if (issues.length > 0) throw validationError(issues);
  // A wrong body is refused before the state of the event is judged (completions 1.6).
  requireOpenRegistration(deps, event);
  return inTransaction(deps.db, async (tx) => {
    const { rehearsalSince } = await holdWorld(tx, event);
    const beforeRehearsal = rehearsalSince === null ? null : ({ new: true } as const);
    const source = { source: 'registration', status: 'pending' } as const;
    const [voter] = await addVoters(tx, deps, event, [body], source, singleField);
    if (voter === undefined) throw new Error('one voter was added and none came back');
    if (beforeRehearsal !== null) await storeVoter(tx, event.id, voter.id, { beforeRehearsal });
    await recordChange(tx, deps, {
      accountId: event.accountId,
      votingEventId: event.id,
      keyId: caller.keyId,
      action: 'voter.registered',
      resource: voter.id,
      after: { name: voter.name, email: voter.email, voterId: voter.voterId, groupId: voter.groupId },
    });
    await enqueue(tx, MAIL_REGISTRATION, { eventId: event.id, voterId: voter.id });
    await store(tx, voter);
    await takeRoomForVoters(tx, deps, event, ownerPlan, 'registration', 1);
    return voter;
  });
}
