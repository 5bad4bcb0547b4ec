import { Hono } from 'hono';
import { z } from 'zod';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import { answersText } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { FORM_BYTES, readStrangersBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { SealedPlace, Secrets } from '#src/platform/secrets.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import { markAddressConfirmed } from './registration-repository.ts';
import { noteBeforeRehearsal } from './voter-key.ts';

const LINK: SealedPlace = { table: 'voters', column: 'confirm_by', row: 'link' };
const linkShape = z.tuple([z.string(), z.string(), z.string()]);

/** The last segment of a confirmation link. It is encrypted and authenticated, so that others can neither forge nor read it. */
export function sealConfirmation(secrets: Secrets, eventId: string, voterId: string, email: string): string {
  return secrets.seal(JSON.stringify([eventId, voterId, emailKey(email)]), LINK);
}

/** The content of a link; undefined if this service did not make the link. */
function openConfirmation(secrets: Secrets, token: string): z.output<typeof linkShape> | undefined {
  const text = secrets.openForeign(token, LINK)?.toString('utf8');
  return text === undefined ? undefined : linkShape.parse(JSON.parse(text));
}

/**
 * Confirms the address to which a link was mailed; this may be repeated until the close. The confirmation only keeps the registration
 * from expiring: it casts no ballot and approves no voter.
 * @returns false if this service did not make the link, if the registration or its address is gone, or if the event has closed
 */
async function confirmAddress(tx: Transaction, secrets: Secrets, token: string): Promise<boolean> {
  const link = openConfirmation(secrets, token);
  if (link === undefined) return false;
  const [eventId, voterId, address] = link;
  const event = await lockEvent(tx, eventId);
  if (event === undefined || statusAt(event, event.lockedAt) === 'closed') return false;
  await noteBeforeRehearsal(tx, eventId, voterId);
  return markAddressConfirmed(tx, eventId, voterId, address);
}

const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** A static page: it contains nothing from the request. */
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

/** The pages behind the link in a registration's mail. GET changes nothing, because mail scanners open links. */
export function confirmAddressRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('getAddressConfirmation', 'GET /:token', {
      summary: 'The page behind the link that is mailed at registration',
      scope: 'none',
      description: 'The same page for every link, with a button that sends the POST.',
      answers: answersText('text/html', 'A page with a button.'),
    }),
    async (c) => answer(c, ASK),
  );
  router.on(
    ...operation('confirmAddress', 'POST /:token', {
      summary: 'Confirm the address of a registration',
      scope: 'none',
      about: (token) => openConfirmation(deps.secrets, token)?.[0],
      description:
        'Confirms the address at any time before the close, any number of times, and casts nothing. With automatic approval, a registration whose link is not used within 7 days expires.',
      requestsPerMinute: 120,
      answers: answersText('text/html', 'A page that tells whether the address is confirmed.'),
      bytes: true,
    }),
    async (c) => {
      await readStrangersBody(c, FORM_BYTES);
      const confirmed = await inTransaction(deps.db, (tx) => confirmAddress(tx, deps.secrets, c.req.param('token')));
      return answer(c, confirmed ? DONE : OVER);
    },
  );
  return router;
}
