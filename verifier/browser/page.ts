import type { Check } from '../checks.ts';
import { fieldsOf, listOf, textOf } from '../json.ts';
import { mendPromise } from '../note.ts';
import { readJson, readOverHttp } from '../read-service.ts';
import { lastWords, type VerificationReport, verifyLog } from '../verify-log.ts';
import { type Answer, languageOf, wordsOf } from './words.ts';

// The page `/verify`: runs the verifier on a receipt and shows one answer, with a form and a list of the checks. Nothing that is entered
// here leaves the browser, except the event and the key, which are sent to the service that served the page.

const MARKS = { verified: '✓', failed: '✗', left_out: '○', not_asked: '–' } as const;
const WORDS = { verified: 'right', failed: 'wrong', left_out: 'not checked', not_asked: 'not asked' } as const;
const FIELDS = ['event', 'key', 'code', 'promise', 'since'] as const;
/** Most bytes of a receipt's file. A receipt has only a few hundred letters. */
const MOST_BYTES = 100_000;

function find<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page lacks ${id}`);
  return element;
}

const form = find('form', HTMLFormElement);
const button = find('check', HTMLButtonElement);
const receipt = find('receipt', HTMLInputElement);
const byHand = find('by-hand', HTMLDetailsElement);
const about = find('about', HTMLParagraphElement);
const progress = find('progress', HTMLParagraphElement);
const answer = find('answer', HTMLDivElement);
const outcome = find('outcome', HTMLParagraphElement);
const list = find('checks', HTMLUListElement);
const keep = find('keep', HTMLAnchorElement);

let language = languageOf(navigator.languages);
const words = () => wordsOf(language);

function speak(wanted: string): void {
  language = languageOf([wanted, language]);
  document.documentElement.lang = language;
  for (const [name, text] of Object.entries(words().page))
    for (const element of document.querySelectorAll(`[data-say=${name}]`)) element.textContent = text;
  document.title = words().page.title;
}

function fieldOf(name: (typeof FIELDS)[number]): HTMLInputElement | HTMLTextAreaElement | undefined {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? field : undefined;
}
const given = (name: (typeof FIELDS)[number]): string => fieldOf(name)?.value.trim() ?? '';

/** Fills in the values of a link: `/verify#event=…&code=…`. Browsers do not send the fragment to any server. */
function fillIn(fragment: string): void {
  const brought = new URLSearchParams(fragment);
  for (const name of FIELDS) {
    const field = fieldOf(name);
    if (field !== undefined && brought.has(name)) field.value = brought.get(name) ?? '';
  }
  const ofPromise = /\/(evt_\w{1,99})\s/.exec(mendPromise(given('promise')))?.[1];
  const event = fieldOf('event');
  if (event?.value === '' && ofPromise !== undefined) event.value = ofPromise;
}

/** Reads the link to this page from a receipt; if it has none, reads code and promise. */
async function readReceipt(file: File | undefined): Promise<void> {
  if (file === undefined) return;
  const text = file.size > MOST_BYTES ? '' : await file.text();
  const link = /\/verify#(\S{1,9999})/.exec(text)?.[1];
  const promise = mendPromise(text);
  const code = /\b[0-9A-HJKMNP-TV-Z]{26}\b/i.exec(text)?.[0];
  form.reset();
  if (link !== undefined) fillIn(link);
  else
    fillIn(
      String(
        new URLSearchParams({ ...(promise === text ? {} : { promise }), ...(code === undefined ? {} : { code }) }),
      ),
    );
  if (given('event') !== '') return check();
  say('partial', words().noReceipt, '');
  byHand.open = true;
}

function show({ name, status, detail }: Check): HTMLLIElement {
  const item = document.createElement('li');
  item.className = status;
  const mark = document.createElement('span');
  mark.textContent = MARKS[status];
  mark.setAttribute('role', 'img');
  mark.setAttribute('aria-label', WORDS[status]);
  const title = document.createElement('strong');
  title.textContent = name;
  // The text needs its own element: on a telephone, the grid would put bare text into the narrow column of the marks.
  const text = document.createElement('div');
  text.textContent = detail;
  item.append(mark, title, text);
  return item;
}

function say(kind: Answer | '', plain: string, sentence: string): void {
  answer.className = kind;
  const [head, text] = [document.createElement('h2'), document.createElement('p')];
  head.textContent = plain;
  text.textContent = sentence;
  answer.replaceChildren(...(plain === '' ? [] : [head]), ...(sentence === '' ? [] : [text]));
}

/** Only data that the service signed or served can make the answer red. */
function answerOf({ verified, checks, yourBallot }: VerificationReport): Answer {
  if (verified === 'no') return yourBallot?.answer === 'removed' ? 'removed' : 'no';
  if (checks.some(({ name, status }) => name === 'reading' && status === 'left_out')) return 'unreadable';
  return yourBallot?.answer ?? verified;
}

function report(found: VerificationReport): void {
  const { verified, checks, checkpoint, yourBallot } = found;
  const kind = answerOf(found);
  const [plain, sentence] = words().answers[kind];
  const until = yourBallot?.until ?? null;
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short' });
  const when = until === null ? words().inADay : date.format(until);
  say(kind, plain, typeof sentence === 'string' ? sentence : sentence(when));
  list.replaceChildren(...checks.map(show));
  outcome.className = verified;
  outcome.textContent = lastWords(found, 'page');
  progress.textContent = '';
  keep.hidden = verified === 'no' || checkpoint === null;
  if (checkpoint !== null) keep.href = `data:text/plain;charset=utf-8,${encodeURIComponent(checkpoint)}`;
}

/** Shows the event's title and language from the log. They decide nothing, so a failure is ignored. */
async function introduce(read: Parameters<typeof readJson>[0], event: string): Promise<void> {
  const page = await readJson(read, `/public/voting-events/${encodeURIComponent(event)}/log/configurations`).catch(
    () => undefined,
  );
  const part = listOf(fieldsOf(page)['data'])
    .map(fieldsOf)
    .find(({ kind }) => kind === 'event');
  const { title, language: own } = fieldsOf(part?.['value']);
  about.textContent = textOf(title);
  if (textOf(own) !== '') speak(textOf(own));
}

/** A note ends with one line end. A pasted note may have more or none. */
const noteOf = (text: string): string => `${text.replaceAll('\r', '').trimEnd()}\n`;

async function check(): Promise<void> {
  const [event, key, code, promise, since] = FIELDS.map(given);
  button.disabled = true;
  say('', '', '');
  outcome.className = '';
  outcome.textContent = '';
  list.replaceChildren();
  keep.hidden = true;
  progress.textContent = words().reading;
  const read = readOverHttp(location.origin, key === '' ? undefined : key);
  try {
    await introduce(read, event ?? '');
    progress.textContent = words().reading;
    report(
      await verifyLog({
        read,
        event: event ?? '',
        ...(code ? { code } : {}),
        ...(promise ? { promise: noteOf(promise) } : {}),
        ...(since ? { since: noteOf(since) } : {}),
        onProgress: (_what, done, of) => {
          progress.textContent = `${words().reading} ${done} / ${of}`;
        },
      }),
    );
  } finally {
    button.disabled = false;
  }
}

speak(language);
fillIn(location.hash.slice(1));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void check();
});
// Opens the folded form if a required field in it is missing: the browser could not point to a hidden field.
form.addEventListener(
  'invalid',
  () => {
    byHand.open = true;
  },
  true,
);
receipt.addEventListener('change', () => void readReceipt(receipt.files?.[0]));
document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
  event.preventDefault();
  void readReceipt(event.dataTransfer?.files[0]);
});
if (given('event') !== '') void check();
