import { Hono } from 'hono';
import type { Answer } from '#src/http/answer.ts';
import { answersText } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { readStrangersBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { invalidField } from '#src/platform/errors.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { OUTCOMES, type RehearsedPayment, readRehearsedPayment, rehearsePayment } from './rehearse-payment.ts';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const BUTTONS =
  '<p><button name="outcome" value="pay">Pay</button> <button name="outcome" value="fail">Fail</button> <button name="outcome" value="cancel">Cancel</button></p>';

function page({ title, price, isOpen, returnUrl, cancelUrl }: RehearsedPayment): Answer {
  const form = isOpen
    ? `<form method="post">${BUTTONS}</form>`
    : '<p>This payment has ended. You can close this page.</p>';
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>Rehearsal of a payment</title></head>
<body><main><h1>Rehearsal of a payment</h1><p>This is a rehearsal: no money is taken, and no payment provider hears of it.</p><p>${escapeHtml(title)}: ${escapeHtml(price)}</p>${form}</main></body></html>
`;
  // Browsers hold the address that the form leads on to against the policy as well.
  const onward = [returnUrl, cancelUrl].flatMap((url) => (url === null ? [] : [new URL(url).origin]));
  return {
    status: 200,
    text: { content: text, type: 'text/html; charset=utf-8' },
    headers: {
      'Content-Security-Policy': `default-src 'none'; form-action 'self' ${onward.join(' ')}; base-uri 'none'; frame-ancestors 'none'`,
      'Referrer-Policy': 'no-referrer',
    },
  };
}

/** The page that stands for the payment provider's in a rehearsal (completions 10.5). */
export function rehearsedPaymentRouter(deps: PaymentDeps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation({
      operationId: 'getRehearsedPayment',
      summary: 'The payment page of a rehearsal',
      method: 'GET',
      path: '/:id',
      scope: 'none',
      description: 'Stands for the page of the payment provider while an event is rehearsed. It takes no money.',
      answers: answersText('text/html', 'A page with the amount and three buttons: pay, fail, cancel.'),
      refusals: [],
    }),
    async (c) => answer(c, page(await readRehearsedPayment(deps, c.req.param('id')))),
  );
  router.on(
    ...operation({
      operationId: 'rehearsePayment',
      summary: 'Press a button of the payment page of a rehearsal',
      method: 'POST',
      path: '/:id',
      scope: 'none',
      description:
        'Takes the form of the page, `outcome=pay`, `fail` or `cancel`, and leads on as the provider would. No money moves.',
      requestsPerMinute: 120,
      answers: {
        ...answersText('text/html', 'The page again, where there is no address to go on to.'),
        303: {
          description: 'To the `returnUrl` or `cancelUrl` of the checkout.',
          headers: { Location: 'Where to go on.' },
        },
      },
      bytes: true,
    }),
    async (c) => {
      const sent = new URLSearchParams((await readStrangersBody(c)).toString());
      const outcome = OUTCOMES.find((one) => one === sent.get('outcome'));
      const { returnUrl, cancelUrl } = await readRehearsedPayment(deps, c.req.param('id'));
      if (outcome === undefined) throw invalidField('outcome', 'must be "pay", "fail" or "cancel"');
      await rehearsePayment(deps, c.req.param('id'), outcome);
      const onward = outcome === 'pay' ? returnUrl : cancelUrl;
      if (onward === null) return answer(c, page(await readRehearsedPayment(deps, c.req.param('id'))));
      return answer(c, { status: 303, headers: { Location: onward } });
    },
  );
  return router;
}
