// The script of the console, inlined into the page unchanged. It writes text and never markup, because others sent what is shown; the
// policy of the page would refuse markup.

const { run, token } = document.body.dataset;
const MOST_ROWS = 200;
/** As many as the service remembers. */
const KEPT = { mails: 200, requests: 500, messages: 100 };
const CONNECT_AGAIN_MS = 5_000;

const byId = (id) => document.getElementById(id);

/** @param {string} tag @param {object} properties @param {...(Node | string | false | undefined)} within */
const create = (tag, { name, label, ...properties } = {}, ...within) => {
  const element = Object.assign(document.createElement(tag), properties);
  if (name !== undefined) element.dataset.name = name;
  if (label !== undefined) element.ariaLabel = label;
  element.append(...within.filter((part) => part !== false && part !== undefined));
  return element;
};
const text = (tag, textContent, className = '') => create(tag, { textContent, className });
const time = (at) =>
  create('time', { dateTime: new Date(at).toISOString(), textContent: new Date(at).toLocaleTimeString() });
const counted = (number, one) => `${number} ${number === 1 ? one : `${one}s`}`;
const row = (...within) => create('li', { tabIndex: -1 }, ...within);
const line = (...within) => create('p', { className: 'line' }, ...within.flatMap((part) => [part, ' ']));
const small = (...parts) => text('small', parts.filter(Boolean).join(' · '));
const link = (href, words) => create('a', { href, target: '_blank', rel: 'noreferrer', textContent: words });

const say = (words) => {
  byId('said').textContent = words;
};

const button = (words, label, act) => {
  const element = create('button', { type: 'button', textContent: words, name: words, label });
  element.addEventListener('click', () => {
    say('');
    act(element).catch((fault) => say(fault.message));
  });
  return element;
};

/** Sends an action with the token, which only this page has. @throws Error with the service's message */
const ask = async (path, body) => {
  const headers = { 'Content-Type': 'application/json', 'X-Console-Token': token };
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.json()).error.message);
};

const copyButton = (words, what = words) =>
  button('Copy', `Copy ${what}`, async (element) => {
    await navigator.clipboard.writeText(words);
    element.textContent = 'Copied';
    element.ariaLabel = `Copied ${what}`;
  });

const fold = (words, ...within) =>
  create('details', { name: words }, create('summary', { name: `fold ${words}`, textContent: words }), ...within);
const pre = (label, textContent) => create('pre', { label, textContent, tabIndex: 0 });

/** Indents JSON for people. Other text stays unchanged. */
const pretty = (body) => {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2);
  } catch (fault) {
    if (fault instanceof SyntaxError) return body;
    throw fault;
  }
};
const typeOf = (body) => /"type":"([\w.]+)"/.exec(body)?.[1] ?? 'a message';

// The content of a row of each kind.

/** In a mail, a code to type in has its own line, and the line above a URL says what the URL is for. */
const codesIn = (mail) => [...mail.matchAll(/^ {4}(\S+)$/gm)].map(([, code]) => code);
const linksIn = (mail) => [...mail.matchAll(/^(.+):\n(https?:\/\/\S+)$/gm)].map(([, label, href]) => ({ label, href }));

const frameOf = ({ id, subject }) => {
  const folded = fold('As mail programs show it');
  folded.addEventListener('toggle', () => {
    if (folded.open && folded.querySelector('iframe') === null)
      folded.append(create('iframe', { src: `/console/mails/${id}`, title: `Mail: ${subject}` }));
  });
  return folded;
};

const mailRow = (mail) =>
  row(
    line(text('strong', mail.subject), small(`to ${mail.to}`), time(mail.at)),
    ...codesIn(mail.text).map((code) => line(text('code', code, 'key'), copyButton(code))),
    ...linksIn(mail.text).map(({ label, href }) => line(link(href, label))),
    mail.html !== null && frameOf(mail),
    fold('Text', pre(`Text of: ${mail.subject}`, mail.text)),
  );

const requestRow = ({ status, method, route, code, reason, ...request }) =>
  row(
    line(
      text('span', status, `status s${Math.floor(status / 100)}`),
      text('span', method, `method ${method.toLowerCase()}`),
      text('code', route === 'none' ? 'no such address' : route),
      code !== null && link(`/reference/errors#${reason === null ? code : `${reason}-${status}`}`, reason ?? code),
      code !== null && reason !== null && small(code),
    ),
    line(
      small(request.accountId ?? 'no account', request.keyHint, `${request.ms} ms`, request.requestId),
      time(request.at),
    ),
  );

const decideButton = (words, outcome, { pageId, amount, reference }) =>
  button(words, `${words} ${amount} (${reference})`, () => ask('/console/payments', { pageId, outcome }));

const paymentRow = ({ amount, title, status, declined, refunded, ...page }) =>
  row(
    line(
      text('strong', amount),
      text('span', title),
      text('span', refunded ? 'refunded' : status, `badge ${status}`),
      declined && text('span', 'card declined', 'badge failed'),
    ),
    page.open &&
      line(
        decideButton('Pay', 'pay', { ...page, amount }),
        decideButton('Fail', 'fail', { ...page, amount }),
        decideButton('Cancel', 'cancel', { ...page, amount }),
        link(page.url, 'Open the page'),
      ),
    line(small(page.provider.replace('_', ' '), page.reference, page.email), time(page.createdAt)),
  );

const attemptItem = ({ number, at, durationMs, responseStatus, error, responseBody }) =>
  create(
    'li',
    { value: number },
    `${responseStatus ?? ''} ${error ?? ''} after ${durationMs} ms, `,
    time(at),
    responseBody !== null && responseBody !== '' && pre(`Answer to attempt ${number}`, responseBody),
  );

const deliveryRow = ({ eventType, status, url, messageId, endpointId, attempts, attemptCount, ...delivery }) =>
  row(
    line(text('strong', eventType), text('span', status, `badge ${status}`), time(delivery.createdAt)),
    line(text('code', url)),
    attempts.length > 0 && create('ol', { className: 'attempts', label: 'Attempts' }, ...attempts.map(attemptItem)),
    line(
      small(counted(attemptCount, 'attempt'), messageId, delivery.accountId),
      status === 'pending' && small(`next at ${new Date(delivery.nextTryAt).toLocaleTimeString()}`),
    ),
    delivery.endpointStatus === 'active'
      ? line(button('Send again', `Send again ${messageId}`, () => ask('/console/replays', { endpointId, messageId })))
      : line(small('The endpoint is switched off.')),
  );

const VERDICTS = {
  verified: 'signature verified',
  wrong_signature: 'signature is of no endpoint that sends here',
  too_old: 'signed more than 5 minutes ago',
  not_signed: 'not signed',
};

const messageRow = ({ inbox, headers, body, verdict, endpointId, at }) => {
  const messageId = headers['webhook-id'];
  return row(
    line(text('strong', typeOf(body)), text('span', VERDICTS[verdict], `badge ${verdict}`), time(at)),
    line(small(`inbox ${inbox}`, messageId, endpointId)),
    fold('Body', pre(`Body of ${messageId}`, pretty(body))),
    fold('Headers', pre(`Headers of ${messageId}`, pretty(JSON.stringify(headers)))),
    endpointId !== null &&
      line(button('Replay', `Replay ${messageId}`, () => ask('/console/replays', { endpointId, messageId }))),
  );
};

const candidateItem = ({ name, votesWon, weightWon, winner }, most) =>
  create(
    'li',
    { className: 'candidate' },
    text('span', `${name}${winner ? ' ✓' : ''}`),
    create('progress', { max: most, value: Number(weightWon), label: `${name}: ${weightWon}` }),
    text('span', votesWon === Number(weightWon) ? weightWon : `${weightWon} (${counted(votesWon, 'vote')})`),
  );

const positionParts = ({ title, votingMethod, ballots, candidates }) => {
  const most = Math.max(1, ...candidates.map(({ weightWon }) => Number(weightWon)));
  return [
    create('h4', {}, title, ' ', small(votingMethod.replaceAll('_', ' '), counted(ballots, 'ballot'))),
    create('ul', { className: 'candidates' }, ...candidates.map((candidate) => candidateItem(candidate, most))),
  ];
};

const resultRow = ({ title, code, status, ballots, turnout, missing, positions }) =>
  row(
    create('h3', {}, title, ' ', text('span', status, `badge ${status}`)),
    line(small(code, counted(ballots, 'ballot'), turnout !== null && `turnout ${(turnout * 100).toFixed(1)} %`)),
    missing !== null && text('p', missing),
    ...positions.flatMap(positionParts),
  );

// Rows: how they are shown and replaced.

/** Replaces a row: its open parts stay open, and the focus stays in its place. */
const replaceRow = (old, fresh) => {
  for (const { dataset, open } of old.querySelectorAll('details')) {
    const again = fresh.querySelector(`details[data-name="${dataset.name}"]`);
    if (again !== null) again.open = open;
  }
  const { activeElement } = document;
  const wasFocused = old.contains(activeElement);
  old.replaceWith(fresh);
  if (wasFocused) (fresh.querySelector(`[data-name="${activeElement.dataset.name}"]`) ?? fresh).focus();
};

const rows = new Map();
/** Shows items as rows. An unchanged row keeps its element. */
const show = (id, items, make, empty) => {
  const list = byId(id);
  const before = rows.get(id) ?? new Map();
  const after = new Map();
  for (const item of items) {
    const known = before.get(item.id);
    const said = JSON.stringify(item);
    const entry = known?.said === said ? known : { said, element: make(item) };
    if (known !== undefined && known !== entry) replaceRow(known.element, entry.element);
    after.set(item.id, entry);
  }
  for (const [key, { element }] of before) if (!after.has(key)) element.remove();
  let next = list.firstElementChild;
  for (const { element } of after.values()) {
    if (element === next) next = next.nextElementSibling;
    else list.insertBefore(element, next);
  }
  rows.set(id, after);
  const none = document.querySelector(`[data-of="${id}"]`);
  none.dataset.words ??= none.textContent;
  none.textContent = empty ?? none.dataset.words;
  none.hidden = items.length > 0;
};

const known = { mails: [], requests: [], messages: [], payments: [], deliveries: [], results: [] };
const filter = byId('filter');

const isWanted = (request) => {
  const words = filter.elements.text.value.toLowerCase();
  if (filter.elements.refused.checked && request.status < 400) return false;
  return words === '' || Object.values(request).join(' ').toLowerCase().includes(words);
};

/** Shows a part: rows for a list, `absent` for null, and otherwise that the part cannot be read now. */
const showPart = (id, part, make, absent) => {
  if (Array.isArray(part)) show(id, part, make);
  else show(id, [], make, part === null ? absent : 'This cannot be read now. The log of the service says why.');
};

const showAll = () => {
  const { mails, requests, messages, payments, deliveries, results } = known;
  const count = (id, number) => {
    byId(`${id}-count`).textContent = number || '';
  };
  show('mail-rows', mails, mailRow);
  show('request-rows', requests.filter(isWanted).slice(0, MOST_ROWS), requestRow);
  show('message-rows', messages, messageRow);
  const pages = payments?.map?.((page) => ({ ...page, id: page.pageId })) ?? payments;
  showPart('payment-rows', pages, paymentRow, 'No sandbox of payment providers runs.');
  byId('clock').hidden = payments === null;
  showPart('delivery-rows', deliveries, deliveryRow);
  showPart('result-rows', results, resultRow);
  count('mails', mails.length);
  count('requests', requests.length);
  count('payments', payments?.length);
  count('webhooks', deliveries.length);
  count('inbox', messages.length);
  count('results', results.length);
};

const takeNews = ({ first, runId, ...news }) => {
  // The service was restarted, so the token of this page is no longer valid.
  if (runId !== run) return location.reload();
  for (const [name, most] of Object.entries(KEPT)) {
    const newest = (news[name] ?? []).toReversed();
    known[name] = first ? newest : [...newest, ...known[name]].slice(0, most);
  }
  for (const name of ['payments', 'deliveries', 'results']) if (name in news) known[name] = news[name];
  showAll();
};

const connect = () => {
  const source = new EventSource('/console/live');
  const state = byId('state');
  source.addEventListener('open', () => {
    state.textContent = 'Live';
  });
  source.addEventListener('message', ({ data }) => takeNews(JSON.parse(data)));
  source.addEventListener('error', () => {
    state.textContent = 'The service does not answer. Trying again …';
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, CONNECT_AGAIN_MS);
  });
};

// One part is shown at a time.
const sections = [...document.querySelectorAll('section')];
const open = (id) => {
  for (const section of sections) section.hidden = section.id !== id;
  for (const anchor of document.querySelectorAll('nav a'))
    anchor.ariaCurrent = anchor.hash === `#${id}` ? 'page' : null;
};
const openNamed = () => {
  const named = sections.find(({ id }) => `#${id}` === location.hash);
  if (named !== undefined) open(named.id);
  return named;
};
if (openNamed() === undefined) open('mails');
addEventListener('hashchange', () => {
  openNamed()?.querySelector('h2').focus();
  scrollTo(0, 0);
});

filter.addEventListener('input', showAll);
filter.addEventListener('submit', (event) => event.preventDefault());
byId('clock').addEventListener('click', ({ target }) => {
  const advanceMs = Number(target.dataset.advance);
  if (advanceMs > 0) ask('/console/clock', { advanceMs }).catch((fault) => say(fault.message));
});
const endpoint = {
  url: `${location.origin}/console/inbox/mine`,
  eventTypes: ['voting_event.updated', 'voter.updated', 'ballot.confirmed', 'payment.succeeded'],
};
byId('subscribe').textContent =
  `curl -s -H "Authorization: Bearer $WRITE_KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(endpoint)}' ${location.origin}/webhook-endpoints`;
byId('copy-subscribe').append(copyButton(byId('subscribe').textContent, 'the call'));
connect();
