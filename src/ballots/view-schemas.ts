import { z } from 'zod';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';

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
export type CastResult = z.output<typeof castResultView>;

/** What was confirmed (contract, "Confirm result"; completions 4.7). */
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
