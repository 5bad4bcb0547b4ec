import { inPatientTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { GivenUp, type JobRun } from '#src/jobs/queue.ts';
import { deliverMail, type MailOutcome } from '#src/mail/deliver-mail.ts';
import type { Mail } from '#src/mail/mailer.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish, type RecordDeps } from '#src/webhooks/record-event.ts';
import { findVoter } from './repository.ts';
import { type Voter, viewVoter } from './voter.ts';
import { noteBeforeRehearsal, storeKeyMailEnd } from './voter-key-repository.ts';

type VoterMailDeps = Pick<Deps, 'db' | 'ids' | 'clock' | 'secrets' | 'mailer'>;

/** A mail, and whether its end is the voter's `keyStatus`. */
type VoterMail = Omit<Mail, 'id'> & { readonly holdsKey: boolean };

/**
 * Sends a mail to a voter, and publishes `voter.mail_failed` when it is refused for good or given up.
 * @param event as it was when the mail was written. If a rehearsal began or ended since, the voter is left as it is.
 * @throws as `deliverMail` does
 */
export async function deliverVoterMail(
  deps: VoterMailDeps,
  run: JobRun,
  event: Pick<VotingEvent, 'rehearsalSince'>,
  voter: Pick<Voter, 'votingEventId' | 'id'>,
  { holdsKey, ...mail }: VoterMail,
): Promise<MailOutcome> {
  const finish = (isSent: boolean) => recordOutcome(deps, event, voter, holdsKey, isSent);
  const outcome = await deliverMail(deps, run, mail).catch(async (fault: unknown) => {
    if (run.last || fault instanceof GivenUp) await finish(false);
    throw fault;
  });
  await finish(outcome === 'sent');
  return outcome;
}

async function recordOutcome(
  deps: VoterMailDeps,
  read: Pick<VotingEvent, 'rehearsalSince'>,
  { votingEventId, id }: Pick<Voter, 'votingEventId' | 'id'>,
  holdsKey: boolean,
  isSent: boolean,
): Promise<void> {
  if (isSent && !holdsKey) return;
  const keyStatus = isSent ? 'sent' : 'failed';
  await inPatientTransaction(deps.db, async (tx) => {
    // A job may be rewriting the roll under the lock that this one waits for: without it a change would be lost.
    const event = await holdEvent(tx, votingEventId);
    const voter = event === undefined ? undefined : await findVoter(tx, votingEventId, id);
    if (event === undefined || voter === undefined || event.rehearsalSince !== read.rehearsalSince) return;
    await noteBeforeRehearsal(tx, votingEventId, id);
    if (holdsKey) await storeKeyMailEnd(tx, votingEventId, id, keyStatus);
    if (isSent) return;
    await publishMailFailure(tx, deps, event, holdsKey ? { ...voter, keyStatus } : voter);
  });
}

/**
 * Publishes that a mail to a voter failed, in the transaction that notes it.
 * @param voter with `keyStatus` as this mail leaves it, even if the voter has used a key: the message must not say who voted
 */
export async function publishMailFailure(
  tx: Transaction,
  deps: RecordDeps,
  { accountId, id: votingEventId }: Pick<VotingEvent, 'accountId' | 'id'>,
  voter: Voter,
): Promise<void> {
  await publish(tx, deps, { accountId, votingEventId }, 'voter.mail_failed', [viewVoter(voter)]);
}
