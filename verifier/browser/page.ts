import type { Check } from '../checks.ts';
import { readOverHttp } from '../read-service.ts';
import { lastWords, type VerificationReport, verifyLog } from '../verify-log.ts';

// The page `/verify`: the verifier as it is, between a form and a list. Nothing that is typed here leaves the browser, but for
// the event and the key, which go to the service that served the page.

const MARKS = { verified: '✓', failed: '✗', left_out: '○', not_asked: '–' } as const;
const WORDS = { verified: 'right', failed: 'wrong', left_out: 'not checked', not_asked: 'not asked' } as const;
const FIELDS = ['event', 'key', 'code', 'promise', 'since'] as const;

function find<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page lacks ${id}`);
  return element;
}

const form = find('form', HTMLFormElement);
const button = find('check', HTMLButtonElement);
const progress = find('progress', HTMLParagraphElement);
const outcome = find('outcome', HTMLParagraphElement);
const list = find('checks', HTMLUListElement);
const keep = find('keep', HTMLAnchorElement);

function textOf(name: (typeof FIELDS)[number]): string {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? field.value.trim() : '';
}

/** What a link brings along: `/verify#event=…&code=…`. A fragment is not sent to any server. */
function fillIn(): void {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of FIELDS) {
    const field = form.elements.namedItem(name);
    const text = given.get(name);
    if (text !== null && (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement))
      field.value = text;
  }
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
  // An element of its own: a grid on a telephone puts a bare text into the narrow column of the marks.
  const text = document.createElement('div');
  text.textContent = detail;
  item.append(mark, title, text);
  return item;
}

function report(found: VerificationReport): void {
  const { verified, checks, checkpoint } = found;
  list.replaceChildren(...checks.map(show));
  outcome.className = verified;
  outcome.textContent = lastWords(found, 'page');
  progress.textContent = '';
  keep.hidden = verified === 'no' || checkpoint === null;
  if (checkpoint !== null) keep.href = `data:text/plain;charset=utf-8,${encodeURIComponent(checkpoint)}`;
}

/** A note ends with one line end; what was pasted may have more or none. */
const noteOf = (text: string): string => `${text.trimEnd()}\n`;

async function check(): Promise<void> {
  const [key, code, promise, since] = [textOf('key'), textOf('code'), textOf('promise'), textOf('since')];
  button.disabled = true;
  outcome.className = '';
  outcome.textContent = '';
  list.replaceChildren();
  keep.hidden = true;
  progress.textContent = 'Reading the log …';
  try {
    report(
      await verifyLog({
        read: readOverHttp(location.origin, key === '' ? undefined : key),
        event: textOf('event'),
        ...(code === '' ? {} : { code }),
        ...(promise === '' ? {} : { promise: noteOf(promise) }),
        ...(since === '' ? {} : { since: noteOf(since) }),
        onProgress: (what, done, of) => {
          progress.textContent = `Reading ${what}: ${done} of ${of}`;
        },
      }),
    );
  } finally {
    button.disabled = false;
  }
}

fillIn();
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void check();
});
if (textOf('event') !== '') void check();
