import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import { answersText } from '#src/http/answer-shapes.ts';
import { type Route, rawRoute, readRoute } from '#src/http/route.ts';
import { confirmAddress } from './confirm-address.ts';

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
export function confirmationRoutes(deps: Deps): Route[] {
  const path = '/confirm-address/:token';
  return [
    readRoute({
      operationId: 'getAddressConfirmation',
      summary: 'The page behind the link that is mailed at registration',
      method: 'GET',
      path,
      scope: 'none',
      description: 'The same page for every link, with a button that sends the POST.',
      answers: answersText('text/html', 'A page with a button.'),
      find: async () => null,
      read: async () => ASK,
    }),
    rawRoute({
      operationId: 'confirmAddress',
      summary: 'Confirm the address of a registration',
      method: 'POST',
      path,
      scope: 'none',
      description:
        'Confirms the address at any time before the close, any number of times, and casts nothing. With automatic approval, a registration whose link is not used within 7 days expires.',
      requestsPerMinute: 120,
      answers: answersText('text/html', 'A page that tells whether the address is confirmed.'),
      receive: async ({ params }) => {
        const token = params['token'] ?? '';
        return (await inTransaction(deps.db, (tx) => confirmAddress(tx, deps.secrets, token))) ? DONE : OVER;
      },
    }),
  ];
}
