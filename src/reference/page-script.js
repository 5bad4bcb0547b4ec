// The script of every page of the reference: search, copy buttons, and one language for all samples. This file is served unchanged, and
// pages are complete without it.

/** @param {string} tag @param {object} properties @param {...(Node | string)} within */
const create = (tag, properties, ...within) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...within);
  return element;
};

const status = create('p', { className: 'unseen', role: 'status' });
document.body.append(status);

for (const block of navigator.clipboard === undefined ? [] : document.querySelectorAll('.code')) {
  const code = block.querySelector('pre');
  const button = create('button', { className: 'copy', type: 'button', textContent: 'Copy' });
  button.ariaLabel = `Copy: ${code.ariaLabel}`;
  const say = (words) => {
    button.textContent = words;
    status.textContent = words;
  };
  let calm;
  button.addEventListener('click', async () => {
    clearTimeout(calm);
    await navigator.clipboard.writeText(code.textContent).then(
      () => say('Copied'),
      () => say('Not copied'),
    );
    calm = setTimeout(() => say('Copy'), 2_000);
  });
  block.append(button);
}

const MOST_SHOWN = 20;
const dialog = document.querySelector('dialog');
const field = dialog.querySelector('input');
const count = dialog.querySelector('[aria-live]');
const list = dialog.querySelector('ul');
const opener = document.querySelector('.find');

/** The entries of the index with their texts in lower case; undefined until the index is read. */
let index;
let reading;

const readIndex = async () => {
  const answer = await fetch('/reference/search.json');
  if (!answer.ok) throw new Error(`the index of the search answers ${answer.status}`);
  const { data } = await answer.json();
  return data.map((entry) => ({
    ...entry,
    head: entry.title.toLowerCase(),
    text: `${entry.title} ${entry.about}`.toLowerCase(),
  }));
};

/** How well an entry matches the words; 0 if a word is missing. */
const rank = ({ head, text }, words) => {
  if (!words.every((word) => text.includes(word))) return 0;
  if (head === words.join(' ')) return 4;
  if (head.startsWith(words.join(' '))) return 3;
  return words.every((word) => head.includes(word)) ? 2 : 1;
};

const show = () => {
  if (index === undefined) return;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length === 0 ? [] : index.filter((entry) => rank(entry, words) > 0);
  hits.sort((left, right) => rank(right, words) - rank(left, words));
  const shown = hits.slice(0, MOST_SHOWN);
  list.replaceChildren(
    ...shown.map(({ title, address, kind, about }) =>
      create(
        'li',
        {},
        create(
          'a',
          { href: address },
          create('strong', { textContent: title }),
          create('small', { textContent: kind }),
          create('span', { textContent: about }),
        ),
      ),
    ),
  );
  const found = hits.length === 0 ? 'No hits' : `${hits.length} ${hits.length === 1 ? 'hit' : 'hits'}`;
  const part = hits.length > shown.length ? `, the first ${shown.length} are shown` : '';
  count.textContent = words.length === 0 ? '' : found + part;
};

/** Milliseconds until an index that could not be read is requested again, so that a busy service has a moment. */
const NEXT_TRY = 1_000;

const search = async () => {
  reading ??= readIndex();
  try {
    index = await reading;
    show();
  } catch {
    reading = undefined;
    count.textContent = 'The search cannot be read now. It is tried again.';
    setTimeout(() => {
      if (dialog.open) search();
    }, NEXT_TRY);
  }
};
field.addEventListener('focus', search);
field.addEventListener('input', show);

const open = () => {
  if (dialog.open) return;
  dialog.showModal();
  field.select();
};

opener.addEventListener('click', open);
document.addEventListener('keydown', (event) => {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  open();
});

dialog.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')];
  if (event.key === 'Enter' && event.target === field) links[0]?.click();
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  const stops = [field, ...links];
  const at = stops.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
  stops[Math.min(Math.max(at, 0), stops.length - 1)].focus();
});
list.addEventListener('click', (event) => {
  if (event.target.closest('a') !== null) dialog.close();
});
dialog.querySelector('button').addEventListener('click', () => dialog.close());
if (/Mac|iPhone|iPad/.test(navigator.platform)) opener.querySelector('kbd').textContent = '⌘ K';
opener.hidden = false;

// A language chosen for one sample applies to all samples, on every page.
const LANGUAGE = 'language of samples';
const choose = (language) => {
  for (const tab of document.querySelectorAll('.tabs input')) tab.checked = tab.value === language;
};
document.addEventListener('change', ({ target }) => {
  if (target.closest('.tabs') === null) return;
  const { top } = target.getBoundingClientRect();
  choose(target.value);
  // Samples above have another height now: scroll so that the reader's text stays in place.
  scrollBy(0, target.getBoundingClientRect().top - top);
  localStorage.setItem(LANGUAGE, target.value);
});
// Runs last, because it throws in a browser that forbids storage.
const remembered = localStorage.getItem(LANGUAGE);
if (document.querySelector(`.tabs [value="${CSS.escape(remembered ?? '')}"]`) !== null) choose(remembered);
