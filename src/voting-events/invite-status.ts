import type { Invite } from './types.ts';
import type { InviteView } from './view-schemas.ts';

export const INVITE_STATUSES = ['pending', 'accepted', 'expired'] as const;
export type InviteStatus = (typeof INVITE_STATUSES)[number];

/** How an invite stands at a moment. */
export function inviteStatusAt(invite: Pick<Invite, 'accountId' | 'expiresAt'>, nowMs: number): InviteStatus {
  if (invite.accountId !== null) return 'accepted';
  return invite.expiresAt <= nowMs ? 'expired' : 'pending';
}

/** An invite as the API shows it: never its token. */
export function viewInvite(invite: Invite, nowMs: number): InviteView {
  return {
    id: invite.id,
    votingEventId: invite.votingEventId,
    email: invite.email,
    role: invite.role,
    status: inviteStatusAt(invite, nowMs),
    acceptedBy: invite.accountId === null ? null : { accountId: invite.accountId, name: invite.accountName },
    acceptedAt: invite.acceptedAt,
    expiresAt: invite.expiresAt,
    createdAt: invite.createdAt,
  };
}
