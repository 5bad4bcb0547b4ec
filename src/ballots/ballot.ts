import { z } from 'zod';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { confirmationCodeField, emailField, idField, returnUrlField } from '#src/http/fields.ts';
import type { PayerNeed } from '#src/payment-providers/provider.ts';
import { providersThatNeed } from '#src/payment-providers/registered.ts';
import { makeOnceEach } from '#src/platform/make-once.ts';
import { castDetails, electionIdentity, pollIdentity } from '#src/voters/voter-identity.ts';
import { MAX_ENTRIES } from '#src/voting-events/opening.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { SealedBallot } from './box.ts';

/** The shape of an entry only: whether value and rank fit the voting method is checked against the ballot definition. */
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
  .max(MAX_ENTRIES, `must hold at most ${MAX_ENTRIES} entries`)
  .describe('One entry for each candidate that is chosen.');

export const castElectionBody = z.strictObject({ ...electionIdentity, ...castDetails, votes });
/** Accepts checkout URLs, but ignores them if the poll asks for no payment. Made once: zod compiles each schema at its first use. */
export const castPollBody = makeOnceEach((embedded: boolean) =>
  z.strictObject({
    ...pollIdentity,
    ...castDetails,
    votes,
    returnUrl: returnUrlField(embedded)
      .optional()
      .describe(`Where a payer comes back to; needed to pay with ${providersThatNeed('returnUrl')}.`),
    cancelUrl: returnUrlField(embedded).optional().describe('Where a payer goes who changes their mind.'),
  }),
);

/** The body for a paid poll: the fields that its payment provider needs are required (contract, "Cast body, poll"). */
export const castPaidPollBody = makeOnceEach((embedded: boolean, needs: readonly PayerNeed[]) =>
  z.strictObject({
    ...castPollBody(embedded).shape,
    ...(needs.includes('returnUrl') ? { returnUrl: returnUrlField(embedded) } : {}),
    ...(needs.includes('email') ? { email: emailField() } : {}),
  }),
);

export type PaidCastBody = z.output<ReturnType<typeof castPollBody>>;

export const confirmBody = z.strictObject({
  confirmationCode: confirmationCodeField(),
});

export type CastBody = {
  readonly voterKey?: string | undefined;
  readonly visitorId?: string | undefined;
} & Omit<z.output<ReturnType<typeof castPollBody>>, 'visitorId'>;

export const castResultView = z
  .object({
    confirmationCode: z.string().meta({ description: 'Confirms the ballot. Keep it until then; do not log it.' }),
    votesCount: z.int(),
  })
  .meta({
    id: 'CastResult',
    description: 'A ballot that does not count yet.',
    examples: [{ confirmationCode: EXAMPLE.confirmationCode, votesCount: 1 }],
  });

/** Contract, "Confirm result"; completions 4.7. */
export const confirmationView = z
  .object({
    confirmationCode: z.string(),
    confirmedCount: z.int(),
    totalVotes: z.int(),
    submittedAt: timeShape(),
    votes: listShape(z.object({ positionName: z.string(), candidateName: z.string() })).meta({
      description: 'Empty when a ballot of a secret event is confirmed again after the close.',
    }),
    logPromise: z.string().meta({
      description:
        'A signed note: the leaf of this ballot will be in the log until the date on its fourth line, a day after it is due there (15 minutes after the end of the event as it stood at the confirm; 24 hours after the confirm in an event without an end). Give it to the voter: a promise past its date without its leaf proves that a ballot was removed.',
    }),
    salt: z.string().optional().meta({ description: 'With `ballot.receipt` full: opens the commitment in the log.' }),
  })
  .meta({
    id: 'Confirmation',
    description: 'A ballot that counts.',
    examples: [
      {
        confirmationCode: EXAMPLE.confirmationCode,
        confirmedCount: 1,
        totalVotes: 1,
        submittedAt: EXAMPLE.openedAt,
        votes: [{ positionName: 'Chair', candidateName: 'Greta Lind' }],
        logPromise: `vote.example/${EXAMPLE.event}\nthis leaf will be in the log\nTIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=\nuntil 2026-11-23T12:00:00.000Z\n\n— vote.example AAAAAAo=\n`,
      },
    ],
  });
export type ConfirmationView = z.output<typeof confirmationView>;

/** The fields of a confirmed ballot from which its leaf of the log is computed; its entries are not encrypted. */
export type ConfirmedBallot = Pick<SealedBallot, 'codeTag' | 'salt' | 'entries' | 'weightMicro'>;

/** What a confirm needs of the ballot log. Declared here and implemented by `ballot-log`, because `ballots` must not import it. */
export interface LogReceipts {
  /** Signs the promise that the ballot will be in the log by `untilMs`. Deterministic: a repeated confirm gets the same one. */
  promise(definition: BallotDefinition, ballot: ConfirmedBallot, untilMs: number): string;
  /** Called after each confirm: enqueues the sealing of a full queue, and remembers the ballot. Never throws, never blocks. */
  confirmed(event: VotingEvent, ballot: { readonly ballotId: string; readonly leafTag: Buffer }): void;
}
