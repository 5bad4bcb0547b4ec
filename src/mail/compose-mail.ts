import { type Html, html } from '#src/reference/html.ts';
import type { Language } from './mail-words.ts';
import type { Mail } from './mailer.ts';

/** A paragraph of text, a code or a link. */
export type MailPart =
  | string
  /** A text to type in or to copy, in a block of its own: a key, a token, or lines of a command. */
  | { readonly code: string }
  /** A URL, and the text of its link. */
  | { readonly link: string; readonly label: string };

interface MailContent {
  readonly to: string;
  readonly language: Language;
  readonly subject: string;
  /** A picture above the text; null for none. */
  readonly logoUrl: string | null;
  readonly parts: readonly MailPart[];
}

function textOf(part: MailPart): string {
  if (typeof part === 'string') return part;
  return 'code' in part ? part.code.replaceAll(/^/gm, '    ') : `${part.label}:\n${part.link}`;
}

/** Inline styles, because many mail programs drop style sheets. */
const STYLE = {
  page: 'margin:0;background:#ffffff',
  main: 'max-width:36em;margin:0 auto;padding:24px;font:16px/1.5 Arial,Helvetica,sans-serif;color:#1a1a1a',
  logo: 'display:block;max-height:64px;max-width:240px;margin:0 0 24px',
  code: 'margin:0 0 16px;padding:12px;background:#f2f2f2;font:18px/1.5 Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere',
  link: 'color:#0b4a8f;font-weight:bold',
} as const;

function htmlOf(part: MailPart): Html {
  if (typeof part === 'string') return html`<p>${part}</p>\n`;
  if ('code' in part) return html`<pre style="${STYLE.code}">${part.code}</pre>\n`;
  return html`<p><a href="${part.link}" style="${STYLE.link}">${part.label}</a></p>\n`;
}

/** Writes a mail as plain text and as HTML with the same content. The HTML escapes all values. */
export function composeMail({ to, language, subject, logoUrl, parts }: MailContent): Omit<Mail, 'id'> {
  // `alt` is empty, because the logo adds nothing to the text for readers who cannot see it.
  const logo = logoUrl === null ? undefined : html`<img src="${logoUrl}" alt="" style="${STYLE.logo}">\n`;
  const page = html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${subject}</title></head>
<body style="${STYLE.page}"><div role="main" style="${STYLE.main}">
${logo}${parts.map(htmlOf)}</div></body></html>
`;
  return { to, subject, text: `${parts.map(textOf).join('\n\n')}\n`, html: page.text };
}
