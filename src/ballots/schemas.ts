import { z } from 'zod';
import { emailField, idField, returnUrlField } from '#src/http/fields.ts';
import type { PayerNeed } from '#src/payment-providers/provider.ts';
import { providersThatNeed } from '#src/payment-providers/registered.ts';
import { castDetails, electionIdentity, pollIdentity } from '#src/voters/schemas.ts';

/** The shape of an entry; whether value and rank fit is the method's rule, and judged with the ballot paper. */
const entry = z.strictObject({
  positionId: idField(),
  candidateId: idField(),
  value: z
    .number()
    .optional()
    .describe('Points or votes for `score`, `cumulative`, `quadratic`; left out, or 1, for every other method.'),
  rank: z.number().optional().describe('1 is the first choice. For `ranked_choice` alone.'),
});

const votes = z
  .array(entry)
  .min(1, 'must hold at least one entry')
  .max(200, 'must hold at most 200 entries')
  .describe('One entry for each candidate that is chosen.');

export const castElectionBody = z.strictObject({ ...electionIdentity, ...castDetails, votes });
/** The addresses of a checkout are taken, and of no use, where the poll asks for no payment. */
export const castPollBody = (embedded: boolean) =>
  z.strictObject({
    ...pollIdentity,
    ...castDetails,
    votes,
    returnUrl: returnUrlField(embedded)
      .optional()
      .describe(`Where a payer comes back to; needed to pay with ${providersThatNeed('returnUrl')}.`),
    cancelUrl: returnUrlField(embedded).optional().describe('Where a payer goes who changes their mind.'),
  });

/** A paid poll: what its provider needs is required (contract, "Cast body, poll"). */
export const castPaidPollBody = (embedded: boolean, needs: readonly PayerNeed[]) =>
  z.strictObject({
    ...castPollBody(embedded).shape,
    ...(needs.includes('returnUrl') ? { returnUrl: returnUrlField(embedded) } : {}),
    ...(needs.includes('email') ? { email: emailField() } : {}),
  });

export type PaidCastBody = z.output<ReturnType<typeof castPollBody>>;

export const confirmBody = z.strictObject({
  confirmationCode: z
    .string()
    .overwrite((code) => code.trim())
    .min(1, 'must not be empty')
    .max(64, 'must have at most 64 characters'),
});

export type CastBody = {
  readonly voterKey?: string | undefined;
  readonly visitorId?: string | undefined;
} & Omit<z.output<ReturnType<typeof castPollBody>>, 'visitorId'>;
