import { z } from 'zod';
import { cursorField, limitField } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import {
  amountMinorField,
  currencyField,
  descriptionField,
  emailField,
  httpsUrlField,
  idField,
  nameField,
  searchField,
  timeField,
} from '#src/http/fields.ts';
import { LANGUAGES } from '#src/mail/mail-words.ts';
import { votingPageUrlField } from './event-mail.ts';
import { EVENT_TYPES, RESULTS_VISIBILITIES, SHOWN_STATUSES } from './voting-event.ts';

const price = z.strictObject({
  amountMinor: amountMinorField().describe('In the smallest unit of the currency.'),
  currency: currencyField().describe('ISO 4217, lower case.'),
});

const timeZone = z
  .string()
  .overwrite((zone) => zone.trim())
  .max(64, { error: 'must be an IANA time zone such as Europe/Berlin', abort: true })
  .refine((zone) => {
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone });
      return /^[A-Za-z]/.test(zone);
    } catch {
      return false;
    }
  }, 'must be an IANA time zone such as Europe/Berlin')
  .describe('An IANA time zone; UTC when left out.');

/** Codes are ASCII, so that ignoring case never makes different codes equal. */
const code = z
  .string()
  .overwrite((text) => text.trim())
  .regex(/^[A-Za-z0-9]{6,12}$/, 'must have 6 to 12 letters and digits')
  .describe('Names the event in paths, in any case. Made up when left out.');

const fields = {
  code,
  title: nameField(),
  description: descriptionField(),
  type: z.enum(['election', 'poll']),
  startsAt: timeField().nullable(),
  endsAt: timeField().nullable(),
  timeZone,
  voter: z.strictObject({
    requireVoterId: z.boolean().optional().describe('Whether people are told apart by a voter ID.'),
    selfRegistration: z.boolean().optional().describe('Whether voters may register themselves.'),
    approval: z
      .enum(['automatic', 'manual'])
      .optional()
      .describe('How a registered voter is approved: by using a mailed key, or by you.'),
    saveVoterInfo: z
      .boolean()
      .optional()
      .describe('For polls: tells participants apart by their e-mail address, and keeps it with their name.'),
  }),
  candidate: z.strictObject({
    selfRegistration: z.boolean().optional().describe('Whether candidates may register themselves.'),
  }),
  ballot: z.strictObject({
    candidateOrder: z.enum(['fixed', 'shuffled']).optional().describe('How the ballot orders candidates.'),
    opening: z
      .enum(['none', 'observer', 'public'])
      .optional()
      .describe('Who may read the openings of the ballot log after the close.'),
    receipt: z
      .enum(['inclusion', 'full'])
      .optional()
      .describe('What a confirmation proves: that a ballot is in the log, or what was in it too.'),
  }),
  results: z.strictObject({
    visibility: z
      .enum(RESULTS_VISIBILITIES)
      .optional()
      .describe('When the public may read results: never, while voting, or after the close.'),
  }),
  log: z.strictObject({
    open: z
      .boolean()
      .optional()
      .describe('Whether the ballot log answers without a key. It shows how many ballots were confirmed.'),
  }),
  payments: z.strictObject({
    payToVote: price.nullable().optional().describe('What a ballot of a poll costs.'),
    payToRegisterCandidate: price.nullable().optional().describe('What a registration of a candidate costs.'),
    repeatVotes: z.boolean().optional().describe('Whether one visitor may buy any number of ballots.'),
  }),
  votingPageUrl: votingPageUrlField().nullable(),
  contactEmail: emailField().nullable().describe('How voters reach you: mails and letters show it.'),
  language: z.enum(LANGUAGES).describe('Of mails, letters and report; `en` when left out.'),
  logoUrl: httpsUrlField().nullable().describe('A picture that mails show. The service itself never fetches it.'),
};

export const createEventBody = z.strictObject({
  ...z.object(fields).partial().shape,
  title: fields.title,
  type: fields.type,
});

/** Derived fields in objects that a body can set. They are accepted if sent back unchanged (completions 3, rule 4). */
const shown = {
  voter: fields.voter.extend({
    pollIdentity: z
      .enum(['visitor_id', 'email', 'voter_id'])
      .nullable()
      .optional()
      .describe('Follows from the other fields: taken as it is shown, and no other.'),
  }),
  results: fields.results.extend({
    publishedAt: z.int().nullable().optional().describe('Taken as it is shown, and no other.'),
  }),
};

export const updateEventBody = z
  .strictObject({
    ...z.object({ ...fields, ...shown }).partial().shape,
    status: z
      .enum(['open', 'closed', 'rehearsal', 'draft', 'scheduled'])
      .optional()
      .describe(
        '`open` and `closed` open and close the event, or end a rehearsal and close its round; `rehearsal` begins one, or its next round, where no other field is sent back as it is; `draft` and `scheduled` end it. Any other only as it is.',
      ),
  })
  .refine(hasField, 'must change at least one field');

/** Whether a body sets a field. An empty group such as `{ "voter": {} }` sets none. */
function hasField(body: object): boolean {
  return Object.values(body).some((value) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined,
  );
}

export type EventFields = z.output<typeof updateEventBody>;

export const listEventsQuery = z.strictObject({
  limit: limitField(),
  cursor: cursorField(),
  search: searchField().optional(),
  status: z.enum(SHOWN_STATUSES).optional(),
  type: z.enum(EVENT_TYPES).optional(),
});

export const deleteEventQuery = z
  .strictObject({
    force: z.enum(['true', 'false']).optional().describe('Deletes confirmed ballots too, and pays back what was paid.'),
    payments: z.literal('keep').optional().describe('With `force=true`: what was paid for and given is kept.'),
  })
  .refine(({ force, payments }) => payments === undefined || force === 'true', {
    path: ['payments'],
    message: 'goes with force=true only',
  });

export const finishPaymentBody = z.strictObject({ paymentAttemptId: idField() });

/** `finishPaymentBody` as the API document shows it. */
export const FINISH_PAYMENT = {
  summary: 'The second call of a checkout: the attempt alone',
  schema: finishPaymentBody,
  example: { paymentAttemptId: EXAMPLE.payment },
} as const;
