import { Hono } from 'hono';
import { ok } from '#src/http/answer.ts';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import * as operations from './operations.ts';
import type { MeView } from './view-schemas.ts';

/** The account and scopes of the caller's key, for connection tests. */
export function accountRouter(): Hono<Env> {
  const router = new Hono<Env>();
  router.on(...operations.getMe, async (c) =>
    answer(
      c,
      ok({
        account: { id: c.get('caller').accountId, name: c.get('caller').accountName, plan: c.get('caller').plan },
        key: {
          id: c.get('caller').keyId,
          name: c.get('caller').keyName,
          hint: c.get('caller').keyHint,
          scopes: c.get('caller').scopes,
          expiresAt: c.get('caller').keyExpiresAt,
          createdAt: c.get('caller').keyCreatedAt,
        },
      } satisfies MeView),
    ),
  );
  return router;
}
