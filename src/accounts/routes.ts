import { ok } from '#src/http/answer.ts';
import { answersOne } from '#src/http/answer-shapes.ts';
import { type Route, readRoute } from '#src/http/route.ts';
import { type MeView, meView } from './view-schemas.ts';

/** Who am I: for connection tests, with any key. */
export function accountRoutes(): Route[] {
  return [
    readRoute({
      operationId: 'getMe',
      summary: 'The account and the key that a request is made with',
      method: 'GET',
      path: '/me',
      scope: 'any',
      answers: answersOne(meView, 'Who you are.'),
      find: async ({ caller }) => caller,
      read: async ({ target: caller }) =>
        ok({
          account: { id: caller.accountId, name: caller.accountName, plan: caller.plan },
          key: {
            id: caller.keyId,
            name: caller.keyName,
            hint: caller.keyHint,
            scopes: caller.scopes,
            expiresAt: caller.keyExpiresAt,
            createdAt: caller.keyCreatedAt,
          },
        } satisfies MeView),
    }),
  ];
}
