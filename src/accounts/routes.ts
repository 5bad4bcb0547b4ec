import { Hono } from 'hono';
import { z } from 'zod';
import { ok } from '#src/http/answer.ts';
import { answersOne, listShape, timeShape } from '#src/http/answer-shapes.ts';
import { SCOPES } from '#src/http/caller.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';

/** The account and key behind a request (completions 2.3). */
const meView = z
  .object({
    account: z.object({ id: z.string(), name: z.string(), plan: z.string() }),
    key: z.object({
      id: z.string(),
      name: z.string(),
      hint: z.string().meta({ description: 'The prefix and the last characters, to recognise a key by.' }),
      scopes: listShape(z.enum(SCOPES)),
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

/** `GET /me`: the account and the scopes of a key. Customers test their key with it. */
export function accountRouter(): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('getMe', 'GET /', {
      summary: 'The account and the key that a request is made with',
      scope: 'any',
      answers: answersOne(meView, 'Who you are.'),
    }),
    async (c) => {
      const caller = c.get('caller');
      const me: z.output<typeof meView> = {
        account: { id: caller.accountId, name: caller.accountName, plan: caller.plan },
        key: {
          id: caller.keyId,
          name: caller.keyName,
          hint: caller.keyHint,
          scopes: caller.scopes,
          expiresAt: caller.keyExpiresAt,
          createdAt: caller.keyCreatedAt,
        },
      };
      return answer(c, ok(me));
    },
  );
  return router;
}
