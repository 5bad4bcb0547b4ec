import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { planLimit } from '#src/accounts/plans.ts';
import { takeMailOrWait } from '#src/accounts/take-mail.ts';
import type { Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { firstOfCells, otherCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import type { Caller } from '#src/http/caller.ts';
import { accountMoves, refuse } from '#src/http/refusals.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS, type Mail } from '#src/mail/mailer.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { ApiError, notFound, orNotFound } from '#src/platform/errors.ts';
import { base32 } from '#src/platform/ids.ts';
import { type SealedPlace, sha256 } from '#src/platform/secrets.ts';
import type { Organizer } from './access.ts';
import { eventMail } from './event-mail.ts';
import { isGenuineEvent, isGenuineInvite, tagOfInvite } from './event-tag.ts';
import { refuseForged, reportForged } from './forged-rows.ts';
import { lockForChange } from './guard-change.ts';
import {
  countInvites,
  type createInviteBody,
  deleteExpiredInvites,
  deleteInvite,
  findInvite,
  findInviteByToken,
  hasAccepted,
  type Invite,
  insertInvite,
  inviteStatusAt,
  isArrivingInvite,
  listInviteRows,
  updateInvite,
} from './invite.ts';
import { findEventById, type LockedEvent, noteInEvent } from './repository.ts';
import type { VotingEvent } from './voting-event.ts';

type InviteDeps = Pick<Deps, 'ids' | 'clock' | 'secrets' | 'db' | 'log'>;

/** Maximum number of an event's invites, including accepted invites. */
const INVITES_PER_EVENT = 100;
const VALID_MS = 7 * DAY_MS;
const TOKEN_BYTES = 20;
const TOKEN_CHARACTERS = 32;

/** A token: `vit_` and 160 random bits in Crockford's base32. */
function generateToken(): string {
  return `vit_${base32(randomBytes(TOKEN_BYTES), TOKEN_CHARACTERS)}`;
}

/** Invites a person by e-mail (completions 2.5). The job's payload has no token. @throws ApiError 409 `invite_exists`, 422 `plan_limit` */
export async function createInvite(
  tx: Transaction,
  deps: InviteDeps,
  organizer: Organizer,
  body: z.output<typeof createInviteBody>,
): Promise<Invite> {
  let event = await lockForChange(tx, organizer.event.id);
  const nowMs = event.lockedAt;
  if (await deleteExpiredInvites(tx, event.id, nowMs)) event = await renewInvites(tx, deps, event);
  if ((await countInvites(tx, event.id)) >= INVITES_PER_EVENT) throw planLimit('invites_per_event', INVITES_PER_EVENT);
  const id = deps.ids.sortable('inv');
  const token = generateToken();
  const { email, role } = body;
  const row = {
    ...{ votingEventId: event.id, id, email, emailKey: emailKey(email), role },
    ...{ tokenHash: sha256(token), accountId: null, expiresAt: nowMs + VALID_MS },
  };
  const fresh = await insertInvite(tx, {
    ...row,
    tag: tagOfInvite(deps.secrets, row, event),
    sealedToken: deps.secrets.seal(token, sealedTokenPlace(event.id, id)),
    createdAt: nowMs,
  });
  if (!fresh) throw refuse('invite_exists', { field: 'email' });
  await enqueue(tx, SEND_INVITE, { eventId: event.id, inviteId: id });
  await recordChange(tx, deps, changeBy(organizer, 'invite.created', id, { after: { email, role } }));
  return requireInvite(tx, event.id, id);
}

/**
 * Raises the generation of an event's invites, and renews the tags of the present invites. If other SQL restores a withdrawn or older row
 * of an invite, the row's tag is of an earlier generation, and so invalid.
 * @throws ApiError 500 `rows_disagree` if the event is forged
 */
async function renewInvites(tx: Transaction, { secrets }: InviteDeps, event: LockedEvent): Promise<LockedEvent> {
  const next = { ...event, inviteGeneration: event.inviteGeneration + 1 };
  await noteInEvent(tx, secrets, event, { inviteGeneration: next.inviteGeneration });
  for (const row of await listInviteRows(tx, event.id)) {
    // A forged row gets no new tag, so that it stays invalid.
    if (isGenuineInvite(secrets, row, event)) await updateInvite(tx, row, { tag: tagOfInvite(secrets, row, next) });
  }
  return next;
}

/** Withdraws an invite. The account that accepted it no longer sees the event. @throws ApiError 404 */
export async function withdrawInvite(
  tx: Transaction,
  deps: InviteDeps,
  organizer: Organizer,
  id: string,
): Promise<void> {
  const event = await lockForChange(tx, organizer.event.id);
  const { email, role, accountId } = await requireInvite(tx, event.id, id);
  await deleteInvite(tx, event.id, id);
  await renewInvites(tx, deps, event);
  await recordChange(tx, deps, changeBy(organizer, 'invite.deleted', id, { before: { email, role, accountId } }));
}

/**
 * The cell (one of the service's databases) with the invite of a token; the cell of `deps` if none has it.
 * @throws ApiError 500 while the event of the invite moves; the error of a cell that could not be asked
 */
export async function cellOfInvite(deps: Deps, token: string): Promise<Deps> {
  if (deps.cells.size === 1) return deps;
  const all = [deps, ...otherCells(deps)];
  const found = await firstOfCells(all, async (cell) => {
    const invite = await findInviteByToken(cell.db, sha256(token));
    const event = invite && (await findEventById(cell.db, invite.votingEventId));
    return event && cell;
  });
  if (found !== undefined) return found;
  const arrives = await firstOfCells(all, async ({ db }) => (await isArrivingInvite(db, sha256(token))) || undefined);
  if (arrives === true) throw accountMoves();
  return deps;
}

/** As `acceptWithToken`, in a cell that `cellOfInvite` found. @throws ApiError 500 if the event of the invite has moved meanwhile */
export const acceptIn = (tx: Transaction, deps: Deps, there: Deps, caller: Caller, token: string): Promise<Invite> =>
  acceptWithToken(tx, there, caller, token).catch(async (fault: unknown) => {
    const isMissing = fault instanceof ApiError && fault.code === 'not_found';
    throw isMissing && (await cellOfInvite(deps, token)) !== there ? accountMoves() : fault;
  });

/**
 * Shares the event of an invite with the caller's account. A repeated call by the same account gets the same answer.
 * @throws ApiError 404 for an unknown or withdrawn token; 409 `invite_used`, `invite_expired`, `own_event`, `already_shared`
 */
async function acceptWithToken(tx: Transaction, deps: InviteDeps, caller: Caller, token: string): Promise<Invite> {
  const read = orNotFound(await findInviteByToken(tx, sha256(token)));
  const event = await lockForChange(tx, read.votingEventId);
  // Read it again under the lock, because a concurrent acceptance may have changed the invite.
  const found = orNotFound(await findInviteByToken(tx, sha256(token)));
  if (event.accountId === caller.accountId) throw refuse('own_event');
  if (!isGenuineEvent(deps.secrets, event) || !isGenuineInvite(deps.secrets, found, event))
    throw await refuseForged(deps, event.id);
  const nowMs = event.lockedAt;
  const status = inviteStatusAt(found, nowMs);
  if (status === 'expired') throw refuse('invite_expired');
  if (found.accountId === caller.accountId) return requireInvite(tx, event.id, found.id);
  if (status !== 'pending') throw refuse('invite_used');
  if (await hasAccepted(tx, event.id, caller.accountId)) throw refuse('already_shared');
  const accepted = { ...found, accountId: caller.accountId };
  const renewed = await renewInvites(tx, deps, event);
  const tag = tagOfInvite(deps.secrets, accepted, renewed);
  await updateInvite(tx, accepted, { accountId: caller.accountId, acceptedAt: nowMs, sealedToken: null, tag });
  await recordChange(
    tx,
    deps,
    changeBy({ event, caller }, 'invite.accepted', found.id, {
      after: { role: found.role, accountId: caller.accountId },
    }),
  );
  return requireInvite(tx, event.id, found.id);
}

const requireInvite = async (tx: Transaction, eventId: string, id: string): Promise<Invite> =>
  orNotFound(await findInvite(tx, eventId, id));

const payload = z.strictObject({ eventId: z.string(), inviteId: z.string() });
type SendInvite = z.output<typeof payload>;
const SEND_INVITE = { name: 'send_invite', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

type SendInviteDeps = Pick<Deps, 'db' | 'clock' | 'secrets' | 'log' | 'mailer' | 'config'>;

export function sealedTokenPlace(eventId: string, inviteId: string): SealedPlace {
  return { table: 'event_invites', column: 'sealed_token', row: `${eventId}/${inviteId}` };
}

/** Decrypts the token for its mail, and deletes it once the mail is sent. A retry sends the same token. */
export const sendInviteJob = (deps: SendInviteDeps): Job<SendInvite> =>
  defineJob({
    ...SEND_INVITE,
    async work({ eventId, inviteId }, run) {
      const event = await findEventById(deps.db, eventId);
      const invite = (await listInviteRows(deps.db, eventId)).find(({ id }) => id === inviteId);
      // The token is deleted once its mail is sent or the invite is accepted.
      if (event === undefined || invite === undefined || invite.sealedToken === null) return;
      if (inviteStatusAt(invite, await readNow(deps.db)) !== 'pending') return;
      // A forged address must not receive a valid token.
      if (!isGenuineEvent(deps.secrets, event) || !isGenuineInvite(deps.secrets, invite, event))
        return reportForged(deps, eventId);
      await takeMailOrWait(deps, run, event, invite.email);
      const token = deps.secrets.open(invite.sealedToken, sealedTokenPlace(eventId, inviteId)).toString('utf8');
      await deliverMail(deps, run, inviteMail(event, invite, token, deps.config.baseUrl));
      await updateInvite(deps.db, invite, { sealedToken: null });
    },
  });

function inviteMail(
  event: VotingEvent,
  invite: Pick<Invite, 'email' | 'role'>,
  token: string,
  baseUrl: string,
): Omit<Mail, 'id'> {
  const request = [
    `curl ${baseUrl}/invites/accept \\`,
    '  -H "Authorization: Bearer $YOUR_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"token":"${token}"}'`,
  ].join('\n');
  return eventMail(event, invite.email, ({ hello, invite: words }) => ({
    subject: words.subject(event.title),
    parts: [
      hello(null),
      words[invite.role](event.title),
      words.token,
      { code: token },
      words.accept,
      { code: request },
      words.validity,
    ],
  }));
}

/** Shares a copy of an event with an account that accepted an invite to the source. Both events have the same owner. */
export async function carryInvite(
  tx: Transaction,
  deps: Pick<InviteDeps, 'ids' | 'secrets'>,
  source: VotingEvent,
  copy: VotingEvent,
  accountId: string,
): Promise<void> {
  const invite = (await listInviteRows(tx, source.id)).find((row) => row.accountId === accountId);
  if (invite === undefined || !isGenuineInvite(deps.secrets, invite, source)) throw notFound();
  const { email, role, expiresAt, acceptedAt } = invite;
  const row = {
    ...{ votingEventId: copy.id, id: deps.ids.sortable('inv'), email, emailKey: emailKey(email), role },
    // The invite is already accepted, so its random token is sent to no one.
    ...{ tokenHash: sha256(generateToken()), accountId, expiresAt },
  };
  const tag = tagOfInvite(deps.secrets, row, copy);
  await insertInvite(tx, { ...row, tag, acceptedAt, createdAt: copy.createdAt });
}
