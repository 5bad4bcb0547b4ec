// The page: who are you, your ballot, look once more, receipt. What was entered survives a reload and a lost network.
import { el, question } from './ballot.js';

const CODE = location.pathname.slice(1);
const RETRIES = 3;
/** Reasons in the words of a voter. Other refusals come with a sentence of their own. */
const REASONS = {
  already_voted: 'You have voted already.',
  event_closed: 'Voting is over.',
  event_not_open: 'Voting has not begun yet.',
  identity_required: 'Enter your e-mail address, or the voter ID of your letter.',
  voter_key_invalid: 'This voter key is wrong or has expired. Have a new one mailed to you.',
  voter_pending: 'The organizers have not approved you yet.',
  voter_rejected: 'The organizers have not approved you.',
};
const find = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const say = (text) => find('status').replaceChildren(text);
/** As long as this tab is open and the vote does not count yet: a shared computer keeps nothing. */
const memory = JSON.parse(sessionStorage.getItem(CODE) ?? '{"who":{},"votes":[],"unanswered":{}}');
const remember = (changes) => sessionStorage.setItem(CODE, JSON.stringify(Object.assign(memory, changes)));
let [shown, steps, questions] = [{}, ['vote', 'review', 'receipt'], []];

class Refused extends Error {
  constructor(message, { reason, issues = [] } = {}) {
    super(REASONS[reason] ?? message);
    Object.assign(this, { reason, issues });
  }
}

/** Asks the server; where no answer comes again, with the same Idempotency-Key: nothing is done twice, and nothing is lost. */
async function ask(action, body = {}) {
  const text = JSON.stringify(body);
  const known = memory.unanswered[action];
  const key = known?.text === text ? known.key : crypto.randomUUID();
  remember({ unanswered: { ...memory.unanswered, [action]: { text, key } } });
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(`/api/${CODE}/${action}`, { method: 'POST', headers, body: text }).catch(() => null);
    const answer = response?.status < 500 ? await response.json().catch(() => null) : null;
    if (answer !== null) {
      remember({ unanswered: { ...memory.unanswered, [action]: undefined } });
      say('');
      if (response.ok) return answer.data;
      throw new Refused(answer.message, answer);
    }
    if (tries > RETRIES) throw new Refused('No answer came. What you entered is still here. Please try again.');
    say('No answer yet. Trying again …');
    await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** tries));
  }
}

function go(id) {
  for (const section of all('main > section')) section.hidden = section.id !== id;
  const heading = find(id).querySelector('h2');
  find('step').textContent = steps.includes(id) ? `Step ${steps.indexOf(id) + 1} of ${steps.length}` : '';
  document.title = `${heading.textContent} · ${shown.context.title}`;
  fail('');
  heading.focus();
}

/** Shows what is wrong by its field, or above where it has none, and moves the focus there. */
function fail(text, issues = []) {
  for (const one of questions) one.fail('');
  for (const input of all('[aria-invalid]')) input.removeAttribute('aria-invalid');
  for (const old of all('label .wrong')) old.remove();
  say('');
  let isMarked = false;
  for (const { field, message } of issues) {
    const [, index, part] = /^votes\[(\d+)\]\.(\w+)/.exec(field) ?? [];
    const { positionId, candidateId } = memory.votes[index] ?? {};
    const asked = questions.find(({ position: { id } }) => id === positionId || message.includes(id));
    const input = asked ? find(`${positionId}-${candidateId}`) : find('identity').elements.namedItem(field);
    if (asked) {
      const name = asked.candidates.find(({ id }) => id === candidateId)?.name;
      asked.fail(`${part && part !== 'positionId' ? `${name}:` : 'This question'} ${message}.`);
    } else if (input && !find('who').hidden) {
      input.closest('label').append(el('span', { className: 'wrong', id: `wrong-${field}`, textContent: message }));
      input.setAttribute('aria-describedby', `wrong-${field}`);
    } else continue;
    input?.setAttribute('aria-invalid', 'true');
    isMarked = true;
  }
  const rest = issues.length > 0 ? issues.map(({ field, message }) => `${field} ${message}.`).join(' ') : text;
  find('alert').textContent = isMarked ? 'Something is not right yet. It is marked below.' : rest;
  const first = isMarked && document.querySelector('.wrong:not(:empty)').closest('label, fieldset');
  if (first) (first.querySelector('[aria-invalid]') ?? first.querySelector('input, button:enabled')).focus();
  else if (rest !== '') find('alert').focus();
}

/** What a button does: one press does it once, and refusals are shown. */
const on = (element, type, work) =>
  element.addEventListener(type, async (event) => {
    event.preventDefault();
    if (element.ariaBusy === 'true') return;
    element.ariaBusy = 'true';
    await work().catch(refuse);
    element.ariaBusy = 'false';
  });
function refuse(error) {
  if (!(error instanceof Refused)) throw error;
  const { message, reason, issues } = error;
  if (reason === 'voter_key_invalid') go('who');
  fail(message, reason === 'voter_key_invalid' ? [{ field: 'voterKey', message }] : issues);
}

// Decimals by ISO 4217, which amounts count: browsers give some currencies others, and would show a hundredth of the price.
const WHOLE = 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx uyi vnd vuv xaf xof xpf';
const THOUSANDTHS = 'bhd iqd jod kwd lyd omr tnd';
function money(amount, currency) {
  const digits = WHOLE.includes(currency) ? 0 : THOUSANDTHS.includes(currency) ? 3 : 2;
  return (amount / 10 ** digits).toLocaleString([], { style: 'currency', currency, minimumFractionDigits: digits });
}

/** The way to a hosted page, which leads back here. */
function pay({ checkoutUrl }) {
  say('You are sent on to pay …');
  location.assign(checkoutUrl);
}

/** Sells more credits for a question, where it does. */
function shopOf({ id: positionId }) {
  const { options } = shown.credits[positionId] ?? {};
  if (!options) return [];
  const { tiers, currency, pricePerCreditMinor, minCredits: min, maxCredits: max } = options;
  const kinds = tiers?.map(({ id, label, amountMinor }) =>
    el('option', { value: id }, `${label}: ${money(amountMinor, currency)}`),
  );
  const input = kinds ? el('select', {}, ...kinds) : el('input', { type: 'number', min, max, value: min });
  const text = kinds ? 'More credits' : `More credits, ${money(pricePerCreditMinor, currency)} each`;
  const label = el('label', {}, text, input);
  const buy = el('button', { type: 'button', className: 'plain', textContent: 'Buy credits' });
  on(buy, 'click', async () => {
    readVotes();
    const kind = kinds ? { tierId: input.value } : { credits: Number(input.value) };
    pay(await ask('credits', { positionId, ...kind, email: memory.who.email }));
  });
  return [el('div', { className: 'shop' }, label, buy)];
}

function readVotes() {
  remember({ votes: questions.flatMap(({ read }) => read()) });
  return memory.votes;
}

function showBallot() {
  const { ballot, context, credits } = shown;
  questions = ballot.positions.map((position) => {
    const candidates = ballot.candidates.filter(({ positionIds }) => positionIds.includes(position.id));
    const saved = memory.votes.filter(({ positionId }) => positionId === position.id);
    const mayAbstain = position.minSelections === 0 || ballot.positions.length > 1;
    return question(position, candidates, { saved, mayAbstain, credits: credits[position.id], shop: shopOf(position) });
  });
  find('questions').replaceChildren(...questions.map(({ element }) => element));
  const price = context.payments.payToVote;
  find('cast').textContent = price ? `Pay ${money(price.amountMinor, price.currency)} and go on` : 'Continue';
  go('vote');
}

function showReview(confirmationCode, isPaid) {
  remember({ confirmationCode, isPaid });
  const lines = questions.flatMap(({ position, candidates }) => {
    const own = memory.votes.filter(({ positionId }) => positionId === position.id);
    const nameOf = (id) => candidates.find((candidate) => candidate.id === id)?.name;
    const words = own.map(({ candidateId, value, rank }) => {
      if (rank !== undefined) return `${rank}. ${nameOf(candidateId)}`;
      return value === undefined ? nameOf(candidateId) : `${nameOf(candidateId)}: ${value}`;
    });
    return [el('dt', {}, position.title), el('dd', {}, words.join(', ') || 'No answer')];
  });
  find('summary').replaceChildren(...lines);
  find('change').hidden = isPaid === true;
  go('review');
}

/** Says before the ballot is filled in when somebody may not vote. */
async function enter() {
  const { eligible, reason } = await ask('check', memory.who);
  if (!eligible) throw new Refused('You may not vote here.', { reason });
  // Drawn again it would lose what was chosen meanwhile.
  if (find('vote').hidden) showBallot();
}

/** The payer is back. The server makes the second call once the money has arrived. */
async function finishPayment() {
  say('Waiting for your payment to arrive …');
  let answer = { pending: true };
  while (answer.pending) answer = await ask('paid', { paymentAttemptId: memory.attempt });
  remember({ attempt: undefined });
  if (answer.ended) throw new Refused('The payment did not go through. Your choices are still here.');
  if (answer.confirmationCode) return showReview(answer.confirmationCode, true);
  shown = await ask('show');
  showBallot();
  say(`You have ${answer.availableCredits} credits now.`);
}

async function start() {
  // A link in a mail brings the key behind its #, which no server sees. Out of the address with it, before somebody reads it there.
  const link = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const back = new URLSearchParams(location.search);
  history.replaceState(null, '', location.pathname);
  const { email: linkEmail, voterId: linkId, key: voterKey } = link;
  const who = { email: linkEmail || undefined, voterId: linkId || undefined, voterKey };
  // Another voter at the same screen finds nothing of the one before.
  if (voterKey && voterKey !== memory.who.voterKey) remember({ who, votes: [], confirmationCode: undefined });
  shown = await ask('show');
  const { title, description, type, status, voter, payments } = shown.context;
  find('title').textContent = title;
  find('about').textContent = description ?? '';
  if (status !== 'open') {
    go('over');
    return fail(REASONS[status === 'closed' ? 'event_closed' : 'event_not_open']);
  }
  const isElection = type === 'election';
  const { requireVoterId: voterId, selfRegistration: registration, pollIdentity } = voter;
  const email = isElection ? !voterId || registration : pollIdentity === 'email' || payments.provider === 'provider_b';
  const asked = { email, or: isElection && !voterId, voterId, voterKey: isElection, ask: isElection, registration };
  for (const [id, isAsked] of Object.entries(asked)) find(id).hidden = !isAsked;
  find('groupId').hidden = shown.ballot.groups.length === 0;
  find('groups').append(...shown.ballot.groups.map(({ id, name }) => el('option', { value: id }, name)));
  for (const input of all('#identity input, #identity select')) input.value = memory.who[input.name] ?? '';
  const asksWho = isElection || email || voterId;
  if (asksWho) steps = ['who', ...steps];
  if (back.has('paymentAttemptId')) remember({ attempt: back.get('paymentAttemptId') });
  const isBack = memory.attempt ?? memory.confirmationCode ?? (back.has('cancelled') || undefined);
  if (isBack === undefined && asksWho) go('who');
  else showBallot();
  if (memory.attempt) await finishPayment();
  else if (memory.confirmationCode) showReview(memory.confirmationCode, memory.isPaid);
  else if (isBack) fail('Nothing was paid. Your choices are still here.');
  else if (!asksWho || memory.who.voterKey) await enter();
}

function readWho() {
  const inputs = all('#identity label:not([hidden]) :is(input, select)').filter(({ value }) => value.trim() !== '');
  const who = Object.fromEntries(inputs.map(({ name, value }) => [name, value.trim()]));
  // Who has no address is known by the voter ID of the letter.
  if (!find('or').hidden && who.email?.includes('@') === false) Object.assign(who, { email: '', voterId: who.email });
  remember({ who });
  return memory.who;
}

on(find('identity'), 'submit', async () => {
  readWho();
  const missing = all('#identity > label:not([hidden]) input').filter(({ value }) => value.trim() === '');
  const issues = missing.map(({ name: field }) => ({ field, message: 'Please fill this in.' }));
  if (issues.length > 0) throw new Refused('', { issues });
  await enter();
});
on(find('ask'), 'click', async () => {
  const { maskedEmail } = await ask('key', readWho());
  fail('');
  say(`If you are on the list of voters, a mail with your key is on its way to ${maskedEmail}.`);
});
on(find('register'), 'click', async () => {
  await ask('register', readWho());
  fail('');
  say('You are registered. Now have a key mailed to you.');
});
on(find('ballot'), 'submit', async () => {
  // What may be paid for already is not paid for again.
  if (memory.attempt) return finishPayment();
  const votes = readVotes();
  if (votes.length === 0) throw new Refused('The ballot is still empty. Choose something first.');
  const answer = await ask('cast', { ...memory.who, votes });
  if (answer.checkoutUrl) return pay(answer);
  showReview(answer.confirmationCode);
});
on(find('change'), 'click', async () => {
  remember({ confirmationCode: undefined });
  showBallot();
});
on(find('confirm'), 'click', async () => {
  const answer = await ask('confirm', { confirmationCode: memory.confirmationCode });
  const { confirmationCode: code, logPromise: promise, votes, check, qr } = answer;
  const lines = votes.map(({ positionName, candidateName }) => `${positionName}: ${candidateName}`);
  const receipt = [shown.context.title, `Confirmation code: ${code}`, ...lines, check, '', promise].join('\n');
  find('code').textContent = code;
  find('verify').href = check;
  find('qr').lastChild.src = `data:image/svg+xml,${encodeURIComponent(qr)}`;
  find('qr').hidden = !qr;
  find('keep').href = URL.createObjectURL(new Blob([receipt], { type: 'text/plain' }));
  sessionStorage.removeItem(CODE);
  go('receipt');
});
start().catch(refuse);
