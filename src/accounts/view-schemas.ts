import { z } from 'zod';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';

/** The account and key behind a request (completions 2.3). */
export const meView = z
  .object({
    account: z.object({ id: z.string(), name: z.string(), plan: z.string() }),
    key: z.object({
      id: z.string(),
      name: z.string(),
      hint: z.string().meta({ description: 'The prefix and the last characters, to recognise a key by.' }),
      scopes: listShape(z.enum(['read', 'write', 'vote', 'observe', 'log'])),
      expiresAt: timeShape().nullable(),
      createdAt: timeShape(),
    }),
  })
  .meta({
    id: 'Me',
    examples: [
      {
        account: { id: EXAMPLE.account, name: 'Reading club', plan: 'pro' },
        key: {
          id: EXAMPLE.key,
          name: 'our server',
          hint: 'vsk_…x7Qd',
          scopes: ['read', 'write'],
          expiresAt: null,
          createdAt: EXAMPLE.createdAt,
        },
      },
    ],
  });
export type MeView = z.output<typeof meView>;
