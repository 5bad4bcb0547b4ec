import { escapeHtml } from '#src/platform/text.ts';

/** Markup that is safe to write as it stands. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | undefined | false | readonly Part[];

function markupOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  return part.map(markupOf).join('');
}

/** Markup from a template; whatever is put in and is not markup itself is escaped, so that forgetting it is not possible. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((text, index) => text + markupOf(parts[index])).join(''));
}

/** Words that can stand in an address: `Voting events` → `voting-events` */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '');
