import { z } from 'zod';
import { cursorField, limitField } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { descriptionField, emailField, idField, nameField, searchField, timeField } from '#src/http/fields.ts';
import { INVITE_STATUSES } from './invite-status.ts';

const price = z.strictObject({
  amountMinor: z.int().min(1).max(99_999_999),
  currency: z.string().regex(/^[a-z]{3}$/, 'must be a lowercase currency code'),
});

const timeZone = z.string().refine((zone) => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return !/^[+-]/.test(zone);
  } catch {
    return false;
  }
}, 'must be an IANA time zone such as Europe/Berlin');

/** Codes are ASCII, so that no folding can turn one into another. */
const code = z
  .string()
  .overwrite((text) => text.trim())
  .regex(/^[A-Za-z0-9]{6,12}$/, 'must have 6 to 12 letters and digits');

const fields = {
  code,
  title: nameField(),
  description: descriptionField(),
  type: z.enum(['election', 'poll']),
  startsAt: timeField().nullable(),
  endsAt: timeField().nullable(),
  timeZone,
  voter: z.strictObject({
    requireVoterId: z.boolean().optional(),
    selfRegistration: z.boolean().optional(),
    approval: z.enum(['automatic', 'manual']).optional(),
    saveVoterInfo: z.boolean().optional(),
  }),
  candidate: z.strictObject({ selfRegistration: z.boolean().optional() }),
  ballot: z.strictObject({
    candidateOrder: z.enum(['fixed', 'shuffled']).optional(),
    opening: z.enum(['none', 'observer', 'public']).optional(),
    receipt: z.enum(['inclusion', 'full']).optional(),
  }),
  results: z.strictObject({ visibility: z.enum(['hidden', 'live', 'published']).optional() }),
  payments: z.strictObject({
    payToVote: price.nullable().optional(),
    payToRegisterCandidate: price.nullable().optional(),
    repeatVotes: z.boolean().optional(),
  }),
};

export const createEventBody = z.strictObject({
  ...z.object(fields).partial().shape,
  title: fields.title,
  type: fields.type,
});

export const updateEventBody = z
  .strictObject({ ...z.object(fields).partial().shape, status: z.enum(['open', 'closed']).optional() })
  .refine((body) => Object.keys(body).length > 0, 'must change at least one field');

export type EventFields = z.output<typeof updateEventBody>;

export const listEventsQuery = z.strictObject({
  limit: limitField(),
  cursor: cursorField(),
  search: searchField().optional(),
  status: z.enum(['draft', 'scheduled', 'open', 'closed']).optional(),
  type: z.enum(['election', 'poll']).optional(),
});

export const deleteEventQuery = z.strictObject({ force: z.enum(['true', 'false']).optional() });

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

/** The second call of a checkout: the attempt alone. */
export const finishPaymentBody = z.strictObject({ paymentAttemptId: idField() });

/** The same for the API document. */
export const FINISH_PAYMENT = {
  summary: 'The second call of a checkout: the attempt alone',
  schema: finishPaymentBody,
  example: { paymentAttemptId: EXAMPLE.payment },
} as const;
