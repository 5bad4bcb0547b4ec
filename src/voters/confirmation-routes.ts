import { Hono } from 'hono';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import type { Env } from '#src/http/env.ts';
import { readRequestBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { confirmAddress } from './confirm-address.ts';
import * as operations from './confirmation-operations.ts';

const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** A page that says the same to everybody: nothing of what was sent stands in it. */
function page(title: string, content: string): Answer {
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>${title}</title></head>
<body><main><h1>${title}</h1>${content}</main></body></html>
`;
  return { status: 200, text: { content: text, type: 'text/html; charset=utf-8' }, headers: HEADERS };
}

const ASK = page(
  'Confirm your address',
  '<p>This confirms your e-mail address and nothing else: no vote is cast.</p><form method="post"><button>Confirm</button></form>',
);
const DONE = page('Your address is confirmed', '<p>You can close this page.</p>');
const OVER = page(
  'This link is no longer valid',
  '<p>The voting event has closed, or there is no registration for this address any more.</p>',
);

/** The pages behind the link in a registration's mail. Programs that look at links in mails send GET, so that it changes nothing. */
export function confirmationRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(...operations.getAddressConfirmation, async (c) => answer(c, ASK));
  router.on(...operations.confirmAddress, async (c) => {
    await readRequestBody(c.env.incoming);
    const confirmed = await inTransaction(deps.db, (tx) => confirmAddress(tx, deps.secrets, c.req.param('token')));
    return answer(c, confirmed ? DONE : OVER);
  });
  return router;
}
