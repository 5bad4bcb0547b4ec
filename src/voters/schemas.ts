import { z } from 'zod';
import { cursorField, limitField } from '#src/http/cursor.ts';
import {
  countryCodeField,
  emailField,
  idField,
  nameField,
  searchField,
  uniqueIdsField,
  voterIdField,
} from '#src/http/fields.ts';
import { providersThatNeed } from '#src/payment-providers/registered.ts';
import { numberToMicro } from '#src/platform/decimal.ts';

const MAX_WEIGHT = 1_000_000_000;

/** A weight as JSON number, to millionths. */
const weight = z
  .number()
  .gt(0, 'must be greater than 0')
  .max(MAX_WEIGHT)
  .refine((value) => numberToMicro(value) !== undefined, 'must have at most 6 decimals')
  .transform((value) => numberToMicro(value) ?? 0n)
  .meta({ description: 'How much the ballot counts, to six decimals; 1 when left out.' });

const status = z.enum(['pending', 'approved', 'rejected']);
const settableStatus = z.enum(['approved', 'rejected']);

const voterFields = z.object({
  name: nameField(),
  email: emailField().nullable(),
  voterId: voterIdField().nullable(),
  groupId: idField().nullable(),
  weight,
  /** `pending` is taken back as it is shown; no voter is set to it. */
  status,
});

export const createVoterBody = z.strictObject({
  ...voterFields.partial().shape,
  name: voterFields.shape.name,
  status: settableStatus.optional(),
});
export const createVotersBody = z.strictObject({
  voters: z.array(createVoterBody).min(1, 'must hold at least one voter').max(100, 'must hold at most 100 voters'),
});
/** Rows are judged one by one: what is wrong with one of them is said in the answer. */
export const importRollBody = z.strictObject({
  mode: z.enum(['all', 'partial']).describe('`all`: every row or none. `partial`: every row that can be taken.'),
  dryRun: z.boolean().optional().describe('Only says what would become of the rows.'),
  voters: z
    .array(z.unknown().meta({ shownAs: { $ref: '#/components/schemas/CreateVoterBody' } }))
    .min(1, 'must hold at least one voter')
    .max(5_000, 'must hold at most 5000 voters'),
});

export const updateVoterBody = z
  .strictObject(voterFields.partial().shape)
  .refine((body) => Object.keys(body).length > 0, 'must change at least one field');

/** A copy of an event. */
export const copyEventBody = z.strictObject({
  title: nameField(),
  withVoters: z.boolean().describe('Whether its voters are copied, too.'),
});

/** A change of many voters at once. */
export const changeVotersBody = z.strictObject({
  action: z.enum(['reject', 'delete']),
  voterIds: uniqueIdsField('voter').describe('1 to 1,000, each once.'),
});

export type VoterInput = z.output<typeof createVoterBody>;

export const listVotersQuery = z.strictObject({
  limit: limitField(),
  cursor: cursorField(),
  search: searchField().optional(),
  status: status.optional(),
  groupId: idField().optional(),
  voted: z.enum(['true', 'false']).optional(),
  keyStatus: z
    .enum(['none', 'sent', 'failed', 'used'])
    .meta({
      description:
        'What became of the last voter key, as the rows show it: in a secret event a used key is `sent` until its voter is shown to have voted.',
    })
    .optional(),
});

export const registerVoterBody = z.strictObject({
  name: nameField(),
  email: emailField(),
  voterId: voterIdField().optional(),
  groupId: idField().optional(),
});

export const requestVoterKeyBody = z.strictObject({
  voterId: voterIdField().optional(),
  email: emailField().optional(),
});

/** `vi_` and 16 to 128 hexadecimal characters; ASCII only, so that no other digit becomes the same visitor. */
export const visitorIdField = () =>
  z
    .string()
    .overwrite((id) => id.trim())
    .regex(/^vi_[0-9a-fA-F]{16,128}$/, 'must be vi_ followed by 16 to 128 hexadecimal characters')
    .describe('`vi_` and 16 to 128 hexadecimal characters, the same for one visitor every time.');

/** A voter key as people type it: any case, with or without dashes. Whether it is right is not a question of shape. */
export const voterKeyField = () =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(64, 'must have at most 64 characters')
    .describe('As it was e-mailed; case and dashes do not matter.');

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
