import { Hono } from 'hono';
import type { Answer } from '#src/http/answer.ts';
import type { Env } from '#src/http/env.ts';
import { readRequestBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { invalidField } from '#src/platform/errors.ts';
import type { PaymentDeps } from './payment-deps.ts';
import * as operations from './rehearsal-operations.ts';
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
  router.on(...operations.getRehearsedPayment, async (c) =>
    answer(c, page(await readRehearsedPayment(deps, c.req.param('id')))),
  );
  router.on(...operations.rehearsePayment, async (c) => {
    const sent = new URLSearchParams((await readRequestBody(c.env.incoming)).toString());
    const outcome = OUTCOMES.find((one) => one === sent.get('outcome'));
    const { returnUrl, cancelUrl } = await readRehearsedPayment(deps, c.req.param('id'));
    if (outcome === undefined) throw invalidField('outcome', 'must be "pay", "fail" or "cancel"');
    await rehearsePayment(deps, c.req.param('id'), outcome);
    const onward = outcome === 'pay' ? returnUrl : cancelUrl;
    if (onward === null) return answer(c, page(await readRehearsedPayment(deps, c.req.param('id'))));
    return answer(c, { status: 303, headers: { Location: onward } });
  });
  return router;
}
