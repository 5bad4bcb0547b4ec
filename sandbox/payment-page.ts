import { amountText, PROVIDER_A_MONEY, PROVIDER_B_MONEY } from '#src/payment-providers/currencies.ts';
import { escapeHtml } from '#src/platform/text.ts';
import type { Checkout } from './checkouts.ts';

const STYLE = `
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;background:#eef1f6;color:#1c2333;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.banner{width:100%;background:#8a4b00;color:#fff;text-align:center;padding:.5rem 1rem;font-size:.875rem;font-weight:600}
main{width:100%;max-width:27rem;margin:2rem 0;padding:0 1rem}
.card{background:#fff;border-radius:1rem;box-shadow:0 1px 2px #1c233314,0 12px 32px #1c23331f;overflow:hidden}
.sum{padding:1.75rem 1.75rem 1.5rem;border-bottom:1px solid #e3e7ef}
.what{margin:0;color:#525d75;font-size:.95rem;overflow-wrap:anywhere}
h1{margin:.25rem 0 0;font-size:2.25rem;line-height:1.2;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.with{padding:1.5rem 1.75rem 1.75rem}
.method{display:flex;gap:.75rem;align-items:center;border:1px solid #cfd6e4;border-radius:.625rem;padding:.75rem 1rem;margin-bottom:1.25rem}
.method svg{flex:none}
.method small{display:block;color:#525d75}
dl{margin:0 0 1.25rem;font-size:.875rem;display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem}
dt{color:#525d75}dd{margin:0;text-align:right;overflow-wrap:anywhere}
button{width:100%;min-height:3rem;border-radius:.625rem;border:1px solid transparent;font:inherit;font-weight:600;cursor:pointer}
button:focus-visible{outline:3px solid #9cb8ff;outline-offset:2px}
.pay{background:#1d4ed8;color:#fff}.pay:hover{background:#1a43ba}
.row{display:grid;grid-template-columns:1fr 1fr;gap:.75rem;margin-top:.75rem}
.other{background:#fff;border-color:#cfd6e4;color:#1c2333}.other:hover{background:#f3f5fa}
.declined{margin:1.25rem 1.75rem 0;padding:.75rem 1rem;border-radius:.625rem;background:#fde8e8;color:#8a1c1c;font-size:.9rem}
.note{margin:1.25rem 0 0;color:#525d75;font-size:.8125rem;text-align:center}
.more{margin:.5rem 0 0;color:#525d75;font-size:.875rem;overflow-wrap:anywhere;max-height:6rem;overflow:auto}
.done{padding:2rem 1.75rem;text-align:center}.done h1{font-size:1.5rem;margin:0 0 .5rem}
.done dl{margin:1.5rem 0 0;padding-top:1.25rem;border-top:1px solid #e3e7ef;text-align:left}
.back{display:flex;align-items:center;justify-content:center;min-height:3rem;margin-top:1.25rem;border:1px solid #cfd6e4;border-radius:.625rem;color:inherit;font-weight:600;text-decoration:none}
.back:focus-visible{outline:3px solid #9cb8ff;outline-offset:2px}
@media (max-width:30rem){main{margin:1rem 0}.sum,.with{padding-left:1.25rem;padding-right:1.25rem}}
@media (prefers-color-scheme:dark){body{background:#11151f;color:#e8ecf5}.card{background:#1a2030;box-shadow:none;border:1px solid #2c3549}
.sum,.done dl,.back{border-color:#2c3549}.what,.more,.method small,dt,.note{color:#a7b1c7}.method,.other{border-color:#3a455d}.other{background:#1a2030;color:#e8ecf5}.other:hover{background:#232b3f}.pay{background:#3b6cf0}}
`;

function document(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><link rel="icon" href="data:,"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><div class="banner" role="note">Test payment: no money moves</div><main><div class="card">${content}</div></main></body></html>`;
}

const CARD = `<svg width="36" height="26" viewBox="0 0 36 26" aria-hidden="true"><rect x=".5" y=".5" width="35" height="25" rx="4" fill="#1d4ed8"/>
<rect y="6" width="36" height="5" fill="#0f2a7a"/><rect x="4" y="16" width="10" height="3" rx="1.5" fill="#dbe5ff"/></svg>`;

/** The amount as payers write it, not as the provider counts it: `(123450, 'usd')` of provider_a → `USD 1,234.50`. */
export function shownAmount({ provider, amount, currency }: Checkout): string {
  const code = currency.toLowerCase();
  const money = provider === 'provider_a' ? PROVIDER_A_MONEY : PROVIDER_B_MONEY;
  const minor = money.fromProviderAmount(code, amount);
  // The amount matches no price in this currency, so only a foreign program can have sent it: show it unchanged.
  if (minor === null) return `${code.toUpperCase()} ${amount} (in the provider's unit)`;
  const [whole = '', fraction] = amountText(minor, code).split('.');
  const grouped = BigInt(whole).toLocaleString('en-US');
  return `${code.toUpperCase()} ${grouped}${fraction === undefined ? '' : `.${fraction}`}`;
}

function summary({ title, description }: Checkout, amount: string): string {
  const more = description === null ? '' : `<p class="more">${escapeHtml(description)}</p>`;
  return `<p class="what">${escapeHtml(title)}</p><h1>${escapeHtml(amount)}</h1>${more}`;
}

const DECLINED = `<p class="declined" role="alert">The bank refused this card. Nothing was charged. Try again, or use another card.</p>`;

/** The page on which a payer decides whether to pay. */
export function paymentPage(checkout: Checkout): string {
  const amount = shownAmount(checkout);
  const rows = [
    ['Reference', checkout.reference],
    ...(checkout.email === null ? [] : [['Receipt to', checkout.email]]),
  ].map(([term = '', text = '']) => `<dt>${escapeHtml(term)}</dt><dd>${escapeHtml(text)}</dd>`);
  return document(
    `Pay ${amount}`,
    `<div class="sum">${summary(checkout, amount)}</div>
${checkout.declined ? DECLINED : ''}<form class="with" method="post"><div class="method">${CARD}<div>Test card ending in 4242<small>Always there, never charged</small></div></div>
<dl>${rows.join('')}</dl>
<button class="pay" name="outcome" value="pay">Pay ${escapeHtml(amount)}</button>
<div class="row"><button class="other" name="outcome" value="fail">Decline</button><button class="other" name="outcome" value="cancel">Cancel</button></div>
<p class="note">Decline plays a payment that the bank refuses, and a payer who gives up; Cancel goes back without paying.</p></form>`,
  );
}

/** The page for a payer who has nothing left to do here. */
export function closingPage(heading: string, text: string): string {
  return document(
    heading,
    `<div class="done"><h1>${escapeHtml(heading)}</h1><p class="what">${escapeHtml(text)}</p></div>`,
  );
}

const ENDINGS = {
  paid: ['Paid', 'Thank you. This payment is complete.'],
  processing: ['Under way', 'Thank you. Your bank takes some days for this payment.'],
  failed: ['Declined', 'The bank refused this payment. Nothing was charged.'],
  expired: ['This page has expired', 'Nothing was charged. Go back and start the payment again.'],
} as const;

/** The page for a payer who comes back to a page that has ended. @param backUrl the merchant's page */
export function endedPage(checkout: Checkout, backUrl: string): string {
  if (checkout.status === 'open') throw new Error('an open page has not ended');
  const [heading, text] = ENDINGS[checkout.status];
  const back = /^https?:/.test(backUrl)
    ? `<a class="back" href="${escapeHtml(backUrl)}">Go back to the merchant</a>`
    : '';
  return document(
    heading,
    `<div class="done"><h1>${escapeHtml(heading)}</h1><p class="what">${escapeHtml(text)}</p>
<dl><dt>${escapeHtml(checkout.title)}</dt><dd>${escapeHtml(shownAmount(checkout))}</dd></dl>${back}</div>`,
  );
}
