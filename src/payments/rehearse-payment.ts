import { Hono } from 'hono';
import type { Answer } from '#src/http/answer.ts';
import { answersText } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { FORM_BYTES, readStrangersBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { amountInMainUnit } from '#src/payment-providers/currencies.ts';
import { appendAttempt, type CheckoutPage } from '#src/payment-providers/provider.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { invalidField, notFound } from '#src/platform/errors.ts';
import { html } from '#src/reference/html.ts';
import { findAttemptById, isOpen } from './attempt-repository.ts';
import type { PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { settlePayment } from './settle-payment.ts';

// Payments of a rehearsal (completions 10.5): a page of the service itself replaces the provider's page, and takes no money.

export const OUTCOMES = ['pay', 'fail', 'cancel'] as const;
type Outcome = (typeof OUTCOMES)[number];

export function rehearsalPage(
  { config }: { readonly config: { readonly baseUrl: string } },
  { id, provider }: PaymentAttempt,
): CheckoutPage {
  const checkoutUrl = `${config.baseUrl}/rehearsal-payments/${id}`;
  return { provider, checkoutUrl, ...providerKind(provider).rehearsedPage(`rehearsal_${id}`) };
}

/** Finds the attempt of a running rehearsal. @throws ApiError 404 for any other ID */
async function requireAttempt(deps: Pick<PaymentDeps, 'db'>, id: string): Promise<PaymentAttempt> {
  const attempt = await findAttemptById(deps.db, id);
  if (attempt?.rehearsal !== true) throw notFound();
  return attempt;
}

/** @throws ApiError 404 if the ID is not that of an attempt of a running rehearsal */
export async function readRehearsedPayment(deps: Pick<PaymentDeps, 'db'>, id: string) {
  const { terms, amountMinor, currency, status } = await requireAttempt(deps, id);
  const back = terms.returnUrl === null ? null : appendAttempt(terms.returnUrl, id);
  return {
    title: terms.title,
    /** Such as `5 USD`. */
    price: `${amountInMainUnit(amountMinor, currency)} ${currency.toUpperCase()}`,
    isOpen: isOpen(status),
    returnUrl: back,
    cancelUrl: terms.cancelUrl ?? back,
  };
}

/** Settles an attempt in place of its provider, unless it has ended. @throws ApiError 404 if it is not of a rehearsal */
export async function rehearsePayment(deps: PaymentDeps, id: string, outcome: Outcome): Promise<void> {
  const attempt = await requireAttempt(deps, id);
  if (!isOpen(attempt.status)) return;
  if (outcome === 'fail') await settlePayment(deps, attempt, { kind: 'failed' });
  else if (outcome === 'cancel') await settlePayment(deps, attempt, { kind: 'cancelled' });
  else
    await settlePayment(deps, attempt, {
      kind: 'paid',
      payment: {
        amountMinor: attempt.amountMinor,
        currency: attempt.currency,
        reference: null,
        attemptId: id,
        providerPaymentId: `rehearsal_${id}`,
        paidAtMs: null,
        feeMinor: null,
        livemode: false,
      },
    });
}

const BUTTONS = html`<p><button name="outcome" value="pay">Pay</button> <button name="outcome" value="fail">Fail</button> <button name="outcome" value="cancel">Cancel</button></p>`;

type RehearsedPayment = Awaited<ReturnType<typeof readRehearsedPayment>>;

function page({ title, price, isOpen, returnUrl, cancelUrl }: RehearsedPayment): Answer {
  const form = isOpen
    ? html`<form method="post">${BUTTONS}</form>`
    : html`<p>This payment has ended. You can close this page.</p>`;
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>Rehearsal of a payment</title></head>
<body><main><h1>Rehearsal of a payment</h1><p>This is a rehearsal: no money is taken, and no payment provider hears of it.</p><p>${title}: ${price}</p>${form}</main></body></html>
`;
  // Browsers also apply `form-action` to the redirect that follows a form.
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

/** Routes of the page that replaces the payment provider's page in a rehearsal (completions 10.5). */
export function rehearsedPaymentRouter(deps: PaymentDeps): Hono<Env> {
  const about = (id: string): string => id;
  const router = new Hono<Env>();
  router.on(
    ...operation('getRehearsedPayment', 'GET /:id', {
      summary: 'The payment page of a rehearsal',
      scope: 'none',
      about,
      description: 'Stands for the page of the payment provider while an event is rehearsed. It takes no money.',
      answers: answersText('text/html', 'A page with the amount and three buttons: pay, fail, cancel.'),
      refusals: [],
    }),
    async (c) => answer(c, page(await readRehearsedPayment(deps, c.req.param('id')))),
  );
  router.on(
    ...operation('rehearsePayment', 'POST /:id', {
      summary: 'Press a button of the payment page of a rehearsal',
      scope: 'none',
      about,
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
      const sent = new URLSearchParams((await readStrangersBody(c, FORM_BYTES)).toString());
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
