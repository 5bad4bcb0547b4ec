import { z } from 'zod';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { emailField, searchField } from '#src/http/fields.ts';
import type { InviteRole } from './voting-event.ts';

/** How an event is shared with a person (completions 2.5). */
export const inviteView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    email: z.string(),
    role: z.enum(['viewer', 'editor']),
    status: z.enum(['pending', 'accepted', 'expired']),
    acceptedBy: z.object({ accountId: z.string(), name: z.string().nullable() }).nullable(),
    acceptedAt: timeShape().nullable(),
    expiresAt: timeShape(),
    createdAt: timeShape(),
  })
  .meta({
    id: 'Invite',
    description: 'An event shared with the account of an invited person. Its token is in the e-mail alone.',
    examples: [
      {
        id: EXAMPLE.invite,
        votingEventId: EXAMPLE.event,
        email: 'greta@example.com',
        role: 'viewer',
        status: 'pending',
        acceptedBy: null,
        acceptedAt: null,
        expiresAt: EXAMPLE.closesAt,
        createdAt: EXAMPLE.openedAt,
      },
    ],
  });

export type InviteView = z.output<typeof inviteView>;

export interface Invite {
  readonly id: string;
  readonly votingEventId: string;
  readonly email: string;
  readonly role: InviteRole;
  /** The account that accepted, with its name; null before. */
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly acceptedAt: number | null;
  readonly expiresAt: number;
  readonly createdAt: number;
}

export const INVITE_STATUSES = ['pending', 'accepted', 'expired'] as const;
export type InviteStatus = (typeof INVITE_STATUSES)[number];

const inviteRole = z.enum(['viewer', 'editor']);

export const createInviteBody = z.strictObject({ email: emailField(), role: inviteRole });

export const acceptInviteBody = z.strictObject({
  token: z.string().trim().min(1, 'must not be empty').max(100, 'must have at most 100 characters'),
});

export const listInvitesQuery = z.strictObject({
  search: searchField().optional(),
  role: inviteRole.optional(),
  status: z.enum(INVITE_STATUSES).optional(),
});

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
