import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { changeBy, differenceOf } from '#src/accounts/changes.ts';
import { takeMailOrWait } from '#src/accounts/take-mail.ts';
import { groupIssues } from '#src/ballot-definition/record-ballot-change.ts';
import { type Executor, isTrue, type Transaction, violatedConstraint } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { type IsFaulty, type Judge, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/mailer.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { type Issue, orNotFound } from '#src/platform/errors.ts';
import type { SealedPlace, Secrets } from '#src/platform/secrets.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { eventMail } from '#src/voting-events/event-mail.ts';
import { changedFields, lockForChange, requireNoIssues } from '#src/voting-events/guard-change.ts';
import { type LifeAction, phaseAt, requirePhase } from '#src/voting-events/lifecycle.ts';
import { countRollChanges, findEventById, type LockedEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import { findVoter, hasBallot, hasPendingBallot, storeVoter } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import { requireCountableWeight, takeRoomForVoters, type VoterDeps } from './take-rows.ts';
import { shownStatusOf, type updateVoterBody, type Voter, viewVoter } from './voter.ts';
import { identityIssues } from './voter-identity.ts';
import { dropUnconfirmed, endKeys } from './voter-key.ts';
import { isChangeable, nextGeneration, renewedTag } from './voter-tag.ts';

type Body = z.output<typeof updateVoterBody>;
type Changed = Partial<Body>;

/** The key by which an address is unique in the roll. Participants of polls have separate keys; none if an address may vote repeatedly. */
function addressKey(event: VotingEvent, { source }: Voter, email: string): string | null {
  if (source !== 'poll') return emailKey(email);
  return event.repeatVotes ? null : `\u0001${emailKey(email)}`;
}

function columnsOf(event: VotingEvent, before: Voter, { name, email, voterId, groupId, weight, status }: Changed) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(email === undefined ? {} : { email, emailKey: email === null ? null : addressKey(event, before, email) }),
    ...(voterId === undefined ? {} : { voterId, voterIdKey: voterId }),
    ...(groupId === undefined ? {} : { groupId }),
    ...(weight === undefined ? {} : { weightMicro: weight }),
    ...(status === undefined ? {} : { status, approvedByKey: false }),
  };
}

/** Validates the change, except against the event's phase. */
async function changeIssues(
  executor: Executor,
  event: VotingEvent,
  before: Voter,
  changed: SoundParts<Changed>,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const { email = before.email, voterId = before.voterId } = changed;
  const keepsIdentity = changed.email === undefined && changed.voterId === undefined;
  const named = { email: email ?? undefined, voterId: voterId ?? undefined };
  const issues = keepsIdentity ? [] : identityIssues(event, named, isFaulty);
  issues.push(...(await groupIssues(executor, event.id, changed.groupId)));
  if (changed.status === 'pending') issues.push({ field: 'status', message: 'must be approved or rejected' });
  return issues;
}

/** The fields of a body that differ from the shown voter, because a client may send back unchanged fields. */
const changedOf = <Sent extends Partial<SoundParts<Body>>>(sent: Sent, before: Voter) =>
  changedFields(sent, { ...before, weight: before.weightMicro, status: shownStatusOf(before) });

/** Also validates the other values of a change with a wrong shape, so that one answer lists all errors. */
export const judgeChangeParts =
  ({ db }: Pick<Deps, 'db'>): Judge<Organizer & { readonly row: Voter }, Body> =>
  ({ event, row }, sent, isFaulty) =>
    changeIssues(db, event, row, changedOf(sent, row), isFaulty);

/**
 * @returns whether a ballot forbids the change. A cast fixes weight and group; a confirm also the status, and in a poll the voter ID. After
 * the close, a ballot that waits for its confirm fixes the identity.
 * @throws ApiError 409 `event_closed`, `results_final`
 */
async function isFixed(tx: Transaction, event: LockedEvent, before: Voter, changed: Changed): Promise<boolean> {
  let hasBallots = false;
  const guard = (action: LifeAction, voted: () => Promise<boolean>) =>
    requirePhase(action, event, event.lockedAt, async () => {
      hasBallots ||= await voted();
      return false;
    });
  if (changed.weight !== undefined || changed.groupId !== undefined)
    await guard('change_standing', () => hasBallot(tx, event.id, [before.id]));
  if (changed.status !== undefined) await guard('change_standing', async () => before.hasVoted);
  if (changed.email !== undefined || changed.voterId !== undefined)
    await guard('change_identity', () => hasPendingBallot(tx, event.id, before.id));
  // A participant of a poll is known by the ID in a confirmed ballot, which keeps naming this ID.
  if (changed.voterId !== undefined) hasBallots ||= before.source === 'poll';
  return hasBallots;
}

/** Whether the new e-mail address differs by more than case and Unicode form (completions 1.4). */
function isReaddressed({ email: before }: Voter, { email }: Changed): boolean {
  const key = (address: string | null): string | null => (address === null ? null : emailKey(address));
  return email !== undefined && key(email) !== key(before);
}

/**
 * Prevents a second vote by the corrected address of a participant, beside the address that has voted (completions 3, rule 3). An address
 * that only an earlier correction gave to the participant, perhaps by mistake, may vote again.
 */
async function moveParticipation(
  tx: Transaction,
  event: LockedEvent,
  before: Voter,
  after: string | null,
): Promise<void> {
  const [from, to] = [before.email, after].map((address) => (address === null ? null : `e:${emailKey(address)}`));
  const tag = Buffer.from(before.id);
  await tx.execute(sql`
    DELETE FROM participation WHERE voting_event_id = ${event.id} AND participant = ${from} AND tag = ${tag}`);
  if (to == null) return;
  if (!event.repeatVotes && (await holdsBallot(tx, event, to))) throw refuse('voter_exists', { field: 'email' });
  await tx.execute(sql`
    INSERT INTO participation (voting_event_id, participant, exclusive, tag) VALUES (${event.id}, ${to}, ${!event.repeatVotes}, ${tag})
    ON CONFLICT DO NOTHING`);
}

/**
 * Whether the confirm of a ballot that waits needs this address: of a paid ballot always, because its participant has voted (`has_voted`); of
 * any ballot after the close, because its participant cannot cast again (completions 3, rule 2).
 */
const holdsBallot = (tx: Transaction, event: LockedEvent, address: string): Promise<boolean> =>
  isTrue(
    tx,
    sql`
      SELECT EXISTS (SELECT 1 FROM waiting_participants WHERE voting_event_id = ${event.id} AND participant = ${address})
        OR ${phaseAt(event, event.lockedAt) === 'confirming'} AND EXISTS (
          SELECT 1 FROM pending_ballots WHERE voting_event_id = ${event.id} AND ${address} = ANY (participants))`,
  );

/** Whether a change ends the voter's keys. A new identity and a rejection do (completions 4.5). */
const endsKeys = (before: Voter, changed: Changed): boolean =>
  isReaddressed(before, changed) || changed.voterId !== undefined || changed.status === 'rejected';

/** @throws ApiError 404; 409 as `isFixed`, `event_has_ballots`, or for a duplicate; 422, `plan_limit`; 500 `rows_disagree`, `ballot_key_unavailable` */
export async function updateVoter(
  tx: Transaction,
  deps: VoterDeps,
  organizer: Organizer,
  id: string,
  body: Body,
): Promise<Voter> {
  const event = await lockForChange(tx, organizer.event.id);
  const before = orNotFound(await findVoter(tx, event.id, id));
  const changed: Changed = changedOf(body, before);
  requireNoIssues(await changeIssues(tx, event, before, changed, NOTHING_FAULTY));
  if (Object.keys(changed).length === 0) return before;
  const hasBallots = await isFixed(tx, event, before, changed);
  if (event.type === 'election') await deps.ballotKeys.requirePlaces();
  // The change would give a forged row a new, valid tag.
  if (!isChangeable(deps.secrets, event, before)) throw refuse('rows_disagree');
  const ended = endsKeys(before, changed);
  const readdressed = isReaddressed(before, changed);
  const identity = readdressed || changed.voterId !== undefined;
  if (ended) await endKeys(tx, event.id, [id]);
  // A pending ballot was cast under the old identity: drop it.
  if (ended && identity) await dropUnconfirmed(tx, event.id, [id]);
  try {
    const keyGeneration = nextGeneration(before.keyGeneration, !identity);
    const keys = ended ? ({ keyStatus: 'none', keyUsed: false, keyGeneration } as const) : {};
    // The new address has got no link to confirm it, so the registration must not expire.
    const lasting = readdressed ? { confirmBy: null } : {};
    const columns = { ...columnsOf(event, before, changed), ...keys, ...lasting };
    const tag = renewedTag(deps.secrets, before, { ...before, ...columns }, changed.status === undefined);
    await storeVoter(tx, event.id, id, { ...columns, tag, updatedAt: event.lockedAt });
    await noteChanges(tx, deps.secrets, event, [{ before, after: { ...before, ...columns } }]);
    if (readdressed && before.source === 'poll') await moveParticipation(tx, event, before, changed.email ?? null);
    // The end of a rehearsal must not restore a deadline, or the outcome of a mail to the old address.
    if (readdressed)
      await tx.execute(sql`
        UPDATE voters SET before_rehearsal = before_rehearsal || '{"confirm_by": null, "key_status": "none"}'
        WHERE voting_event_id = ${event.id} AND id = ${id} AND NOT before_rehearsal ? 'new'`);
  } catch (fault) {
    const constraint = violatedConstraint(fault);
    if (constraint !== 'voters_email' && constraint !== 'voters_voter_id') throw fault;
    const field = constraint === 'voters_email' ? 'email' : 'voterId';
    throw refuse('voter_exists', { field });
  }
  const after = orNotFound(await findVoter(tx, event.id, id));
  // A rejected registration does not count against the plan's limit, so an approval must find room again.
  if (before.source === 'registration' && before.status === 'rejected' && after.status !== 'rejected')
    await takeRoomForVoters(tx, deps, event, organizer.ownerPlan, 'registration');
  if (changed.weight !== undefined) await requireCountableWeight(tx, event.id, [after]);
  // This refusal comes last. It shows who has voted, so it must stand in the audit trail like the change itself: before another refusal,
  // changes that can never be made would show it without a trace.
  if (hasBallots) throw refuse('event_has_ballots');
  const standing = changed.weight !== undefined || changed.groupId !== undefined || changed.status !== undefined;
  await countRollChanges(tx, deps.secrets, event, { identity: Number(identity), roll: Number(standing) });
  if (readdressed && before.email !== null && event.type === 'election')
    await mailOldAddress(tx, deps.secrets, event.id, id, before.email);
  await recordEvent(tx, deps, {
    type: 'voter.updated',
    data: viewVoter(after),
    change: changeBy(
      organizer,
      identity ? 'voter.identity_changed' : 'voter.updated',
      id,
      differenceOf(viewVoter(before), viewVoter(after)),
    ),
  });
  return after;
}

/** Payload of the job. It contains the old address, encrypted, because the roll no longer has it. */
const payload = z.strictObject({ eventId: z.string(), voterId: z.string(), sealedAddress: z.string() });
const MAIL_OLD_ADDRESS = { name: 'mail_old_address', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

const oldAddressPlace = (eventId: string, voterId: string): SealedPlace => ({
  table: 'jobs',
  column: 'old_address',
  row: `${eventId}/${voterId}`,
});

/** The key of the job of a warning. Of many warnings to an address, only the last waits: together they would use up the voter’s mails. */
const warningKey = (secrets: Secrets, voterId: string, address: string): string =>
  `old_address:${secrets.mac('identity', JSON.stringify(['warning', voterId, emailKey(address)])).toString('hex')}`;

/** Warns the old address that the voter's keys no longer go there, because only its owner can notice a wrongful change. */
async function mailOldAddress(
  tx: Transaction,
  secrets: Secrets,
  eventId: string,
  voterId: string,
  address: string,
): Promise<void> {
  const sealedAddress = secrets.seal(address, oldAddressPlace(eventId, voterId));
  const key = warningKey(secrets, voterId, address);
  await enqueue(tx, MAIL_OLD_ADDRESS, { eventId, voterId, sealedAddress }, { key });
}

export const mailOldAddressJob = (deps: Pick<Deps, 'db' | 'secrets' | 'mailer'>): Job<z.output<typeof payload>> =>
  defineJob({
    ...MAIL_OLD_ADDRESS,
    async work({ eventId, voterId, sealedAddress }, run) {
      const event = await findEventById(deps.db, eventId);
      if (event === undefined) return;
      const to = deps.secrets.open(sealedAddress, oldAddressPlace(eventId, voterId)).toString('utf8');
      const voter = await findVoter(deps.db, eventId, voterId);
      // Send it whatever the voter's state is now: somebody may have voted with a key that went to the other address.
      const isBack = voter?.email != null && emailKey(voter.email) === emailKey(to);
      await takeMailOrWait(deps, run, event, to);
      const mail = eventMail(event, to, ({ hello, addressChanged }) => ({
        subject: addressChanged.subject(event.title),
        parts: [hello(null), addressChanged[isBack ? 'back' : 'intro'](event.title), addressChanged.warning],
      }));
      await deliverMail(deps, run, mail);
    },
  });
