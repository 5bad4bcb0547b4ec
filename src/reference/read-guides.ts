import { readFile } from 'node:fs/promises';
import type { Pauses } from '#src/platform/loop-turns.ts';
import { html, Html as Markup } from './html.ts';
import { headingsOf, renderGuide } from './render-markdown.ts';

/** The guides in the order in which they are best read. */
const GUIDES: readonly Place[] = [
  { name: 'first-vote', summary: 'From the first call to a counted vote, in five steps.' },
  { name: 'elections', summary: 'A roll of voters, and keys that come by e-mail.' },
  { name: 'command-line', summary: 'An election from a file: apply, import, mail, watch, report.' },
  { name: 'polls', summary: 'Visitors instead of voters, and how they are told apart.' },
  { name: 'event-life', summary: 'What may be done to an event, and when.' },
  { name: 'paid-votes', summary: 'The two calls of a checkout, and what may happen between them.' },
  { name: 'going-live-with-payments', summary: 'Accounts, keys, messages, refunds, and what to watch.' },
  { name: 'webhooks', summary: 'Being told instead of asking: signatures, retries, order.' },
  { name: 'sdk', summary: 'A client for TypeScript and JavaScript, with types, retries and webhooks.' },
  { name: 'voting-page', summary: 'A page and its server to copy: all methods, accessible, no framework.' },
  { name: 'console', summary: 'Mails, requests, payments, webhooks and results on your own machine, as they come.' },
  { name: 'verifying-a-ballot', summary: 'Checking that a ballot was counted, and that nothing was changed.' },
  { name: 'counting', file: '../counting.md', summary: 'Every rule of every method, to write a second count from.' },
  {
    name: 'security',
    file: '../security.md',
    summary: 'What is promised against whom, what is not, and who must be trusted.',
  },
  { name: 'errors', summary: 'One envelope, a code for people, a reason for programs.' },
  { name: 'limits', summary: 'How many, how long, how often.' },
  { name: 'details', summary: 'What the service does where several answers were possible.' },
  { name: 'changelog', summary: 'What changed, newest first.' },
];

interface Place {
  readonly name: string;
  readonly summary: string;
  /** Path relative to the folder of the guides; by default `<name>.md`. */
  readonly file?: string;
}

const FOLDER = new URL('../../docs/guides/', import.meta.url);

export type Guide = Awaited<ReturnType<typeof readGuide>>;

/** Reads a guide's SVG pictures, by name. They become part of its page, so that they use the page's colours. */
async function readPictures(text: string): Promise<ReadonlyMap<string, string>> {
  const names = [...text.matchAll(/!\[[^[\]]*\]\((pictures\/[\w-]+\.svg)\)/g)].map((match) => match[1] ?? '');
  const read = async (name: string) => [name, await readFile(new URL(name, FOLDER), 'utf8')] as const;
  return new Map(await Promise.all(names.map(read)));
}

/** Reads a guide. @returns its HTML with the pictures, and its Markdown; both have figures in place of placeholders such as limits */
async function readGuide({ name, summary, file = `${name}.md` }: Place, figures: Figures) {
  const written = await readFile(new URL(file, FOLDER), 'utf8');
  const text = Object.entries(figures).reduce((so, [word, figure]) => so.replaceAll(word, figure), written);
  const pictures = await readPictures(text);
  const content = renderGuide(text, (picture, words) => {
    const drawn = (pictures.get(picture) ?? '').replace(/<style>[^<]*<\/style>/, '');
    return html`<figure>${new Markup(drawn)}<figcaption>${words}</figcaption></figure>`;
  });
  const [, title = name] = /^# (.+)$/m.exec(text) ?? [];
  return { name, title, summary, text, content: html`<div class="prose">${content}</div>`, headings: headingsOf(text) };
}

/** Texts to replace in the guides, such as `SDK_SHA256`, with their values, which only the running service knows. */
type Figures = Readonly<Record<string, string>>;

/** Reads the guides in the order of `GUIDES`: the files of `docs/guides`, and some files of `docs`. */
export async function readGuides(figures: Figures, pauses: Pauses): Promise<Guide[]> {
  const guides: Guide[] = [];
  for (const place of GUIDES) {
    guides.push(await readGuide(place, figures));
    await pauses.take();
  }
  return guides;
}
