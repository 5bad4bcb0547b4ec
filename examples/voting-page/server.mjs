// Your server: it holds the API key, which no browser sees, and answers the page.
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { PaymentPendingError, PaymentRequiredError, VotingService, VotingServiceError } from 'voting-service';

/** Draws the receipt's QR code, where `uqr` is installed. */
const { renderSVG } = await import('uqr').catch(() => ({}));
const { API = 'http://127.0.0.1:3000', VOTE_KEY = '', EVENT = '', POLL = '', PORT = '3002' } = process.env;
/** Where voters see this server; payers come back to it. */
const PAGE_URL = new URL(process.env.PAGE_URL ?? `http://127.0.0.1:${PORT}`);
/** The key may open other events, too: this page is for these. */
const EVENTS = [EVENT, POLL].filter((code) => code !== '');
const MOST_BYTES = 100_000;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};
const voting = new VotingService({ baseUrl: API, key: VOTE_KEY, maxRetries: 2, timeoutMs: 10_000 });
const { ballots, events, quadraticCredits: credits, voters } = voting;
const hash = (value) => createHash('sha256').update(value).digest('hex');
const pick = (body, ...names) =>
  Object.fromEntries(names.filter((name) => body[name]).map((name) => [name, body[name]]));
const dataOf = async (call) => (await call).data;

/** Where payers come back to. The page of `provider_a` alone has a link back. */
function wayBack({ code, payments }) {
  const returnUrl = new URL(code, PAGE_URL).href;
  return payments.provider === 'provider_a' ? { returnUrl, cancelUrl: `${returnUrl}?cancelled` } : { returnUrl };
}

/** Balance and prices of a question that takes credits; it may sell none. */
async function readCredits(code, query, isSold) {
  const { availableCredits, heldCredits } = await dataOf(credits.get(code, query));
  const options = isSold ? await dataOf(credits.getOptions(code, query)).catch(() => null) : null;
  return { available: availableCredits + heldCredits, options };
}

/** What the page may ask for. `once` holds the Idempotency-Key of a call that is repeated until it gets an answer. */
const actions = {
  async show({ code, visitorId }) {
    const context = await dataOf(events.getContext(code));
    const ballot = await dataOf(ballots.get(code, { seed: visitorId }));
    const prices = {};
    for (const { id: positionId, votingMethod } of context.type === 'poll' ? ballot.positions : [])
      if (votingMethod === 'quadratic')
        prices[positionId] = await readCredits(code, { positionId, visitorId }, context.payments.quadraticCredits);
    return { context, ballot, credits: prices };
  },
  key: ({ code, body }) => dataOf(voters.requestKey(code, pick(body, body.voterId ? 'voterId' : 'email'))),
  register: ({ code, body, once }) =>
    dataOf(voters.register(code, pick(body, 'name', 'email', 'voterId', 'groupId'), once)),
  check: ({ code, body, identity }) => dataOf(voters.check(code, { ...identity, ...pick(body, 'voterId', 'email') })),
  async cast({ code, body, identity, once }) {
    const context = await dataOf(events.getContext(code));
    const back = context.payments.required ? wayBack(context) : {};
    const ballot = { ...identity, ...pick(body, 'voterId', 'email'), votes: body.votes, ...back };
    const outcome = await voting.castOrPay(code, ballot, once);
    return outcome.status === 'cast' ? outcome.ballot : { checkoutUrl: outcome.checkoutUrl };
  },
  async credits({ code, body, visitorId, once }) {
    const back = wayBack(await dataOf(events.getContext(code)));
    const order = { ...pick(body, 'positionId', 'credits', 'tierId', 'email'), visitorId, ...back };
    return dataOf(credits.buy(code, order, once));
  },
  /** A payer who comes back proves nothing: the service says whether the payment has arrived. */
  async paid({ code, body: { paymentAttemptId } }) {
    const { purpose, status } = await voting.waitForPayment(code, paymentAttemptId, { timeoutMs: 15_000 });
    if (status === 'failed' || status === 'cancelled') return { ended: status };
    if (purpose === 'quadratic_credits') return dataOf(credits.buy(code, { paymentAttemptId }));
    const outcome = await voting.castOrPay(code, { paymentAttemptId });
    return outcome.status === 'cast' ? outcome.ballot : { pending: true };
  },
  async confirm({ code: event, body }) {
    const receipt = await dataOf(ballots.confirm(event, pick(body, 'confirmationCode')));
    const { confirmationCode: code, logPromise: promise } = receipt;
    const check = `${API}/verify#${new URLSearchParams({ event, code, promise })}`;
    return { ...receipt, check, qr: renderSVG?.(check, { border: 4 }) };
  },
};

/** What the page is shown of an error: what is wrong with the input, and nothing of this server. */
function answerOf(error) {
  if (error instanceof PaymentRequiredError) return { status: 200, data: { checkoutUrl: error.checkoutUrl } };
  if (error instanceof PaymentPendingError) return { status: 200, data: { pending: true } };
  const { status, message, code, reason = code, issues } = error;
  if (error instanceof VotingServiceError && status < 500 && status !== 401 && code !== 'insufficient_scope')
    return { status, message, reason, issues };
  console.error(error);
  return { status: 502 };
}

async function act(request, event, action, visitorId) {
  const isWhole = Number(request.headers['content-length'] ?? Infinity) <= MOST_BYTES;
  // A form of another site cannot send this type.
  if (request.headers['content-type'] !== 'application/json' || !isWhole || !Object.hasOwn(actions, action))
    return { status: 400, message: 'This request is not from the page.' };
  try {
    const body = JSON.parse(await text(request));
    const key = request.headers['idempotency-key'];
    const once = key === undefined ? {} : { idempotencyKey: hash(`${visitorId} ${key}`) };
    // In an election voters prove themselves; in a poll they are who this server says they are.
    const identity = body.voterKey ? { voterKey: body.voterKey } : { visitorId };
    return { status: 200, data: await actions[action]({ code: event, body, identity, visitorId, once }) };
  } catch (error) {
    return answerOf(error);
  }
}

/** A browser is a visitor here. Where your users have accounts, take an HMAC of their ID instead: one person, one vote. */
function visitorOf(request) {
  const known = /(?:^|; )visitor=([0-9a-f]{32})(?:;|$)/.exec(request.headers.cookie ?? '')?.[1];
  const value = known ?? randomBytes(16).toString('hex');
  const secure = PAGE_URL.protocol === 'https:' ? '; Secure' : '';
  // Visitor IDs are seen in the log of a poll. A hash does not lead back to the cookie.
  const visitorId = `vi_${hash(value)}`;
  return { visitorId, cookie: `visitor=${value}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax${secure}` };
}

const read = (name, type) => [readFileSync(new URL(name, import.meta.url)), `text/${type}; charset=utf-8`];
const page = read('page.html', 'html');
const files = { '/page.js': 'javascript', '/ballot.js': 'javascript', '/style.css': 'css' };
const served = new Map(Object.entries(files).map(([path, type]) => [path, read(`.${path}`, type)]));

createServer(async (request, response) => {
  const send = (status, body, type = 'text/plain', headers = {}) =>
    response.writeHead(status, { ...HEADERS, 'Content-Type': type, ...headers }).end(body);
  const { pathname } = new URL(request.url ?? '/', PAGE_URL);
  const [, first = '', event = '', action = ''] = pathname.split('/');
  const { visitorId, cookie } = visitorOf(request);
  // Under another name the cookie would be lost on the way back from a payment.
  if (request.headers.host !== PAGE_URL.host) return send(421, `This page is at ${PAGE_URL}`);
  if (request.method === 'POST' && first === 'api' && EVENTS.includes(event)) {
    const { status, ...answer } = await act(request, event, action, visitorId);
    return send(status, JSON.stringify(answer), 'application/json');
  }
  if (pathname === '/') return send(302, '', 'text/plain', { Location: `/${EVENTS[0]}` });
  if (request.method === 'GET' && EVENTS.includes(first)) return send(200, ...page, { 'Set-Cookie': cookie });
  return served.has(pathname) ? send(200, ...served.get(pathname)) : send(404, 'Not here.');
}).listen(Number(PORT), '127.0.0.1', () => {
  for (const code of EVENTS) console.log(`${code === EVENT ? 'Election' : 'Poll'}: ${new URL(code, PAGE_URL)}`);
});
