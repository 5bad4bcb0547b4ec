import { Marked, type Tokens } from 'marked';
import { escapeHtml } from '#src/platform/text.ts';
import { Html, html, slugOf } from './html.ts';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Escapes text between tags. Quotes need no escape there, and code is full of them. */
const renderText = (text: string): Html => new Html(text.replaceAll(/[&<>]/g, (character) => ESCAPES[character] ?? ''));

function renderJson(text: string): Html {
  const parts = text.split(/("(?:[^"\\]|\\.)*"(?=\s*:))/g).map(renderText);
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<b>${part}</b>` : part))}`;
}

/** A block of code that scrolls by itself and can be focused with the keyboard. */
function renderCode(text: string, language: string, label: string): Html {
  const content = language === 'json' ? renderJson(text) : renderText(text);
  return html`<div class="code"><pre tabindex="0" aria-label="${label}"><code>${content}</code></pre></div>`;
}

type DrawPicture = (name: string, words: string) => Html;

const noPicture: DrawPicture = (_name, words) => html`${words}`;

/** @param label name, for screen readers, of code blocks that name no file */
function createMarked(draw: DrawPicture, label = 'Code'): Marked {
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading): string {
        return `<h${depth} id="${slugOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>`;
      },
      code({ text, lang = '' }: Tokens.Code): string {
        const [language = '', file] = lang.split(' ');
        const code = renderCode(text, language, file ?? label).text;
        return file === undefined ? code : `<p class="file">${escapeHtml(file)}</p>${code}`;
      },
      table(token: Tokens.Table): string {
        const row = (cells: readonly Tokens.TableCell[], tag: string): string =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const rows = token.rows.map((cells) => row(cells, 'td')).join('');
        return `<div class="wide" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${rows}</tbody></table></div>`;
      },
      image({ href, text }: Tokens.Image): string {
        return draw(href, text).text;
      },
      // Guides link to each other by file name, so that the links also work in the repository. Here the links become routes.
      link({ href, tokens }: Tokens.Link): string {
        const address = href.replace(/^(?:\.\.\/|guides\/|\/reference\/)?([a-z-]+)\.md(#.*)?$/, '/reference/$1$2');
        return `<a href="${escapeHtml(address)}">${this.parser.parseInline(tokens)}</a>`;
      },
      // Show raw HTML as text: if it were rendered, a page would need its own Content-Security-Policy.
      html({ text }: Tokens.HTML | Tokens.Tag): string {
        return escapeHtml(text);
      },
    },
  });
}

const plain = createMarked(noPicture);

/** Renders text of the API document: CommonMark with tables, without raw HTML. */
export const renderMarkdown = (text: string, label?: string): Html =>
  new Html(createMarked(noPicture, label).parse(text, { async: false }));

/** Renders Markdown within a line, without a paragraph around it. */
export const renderLine = (text: string): Html => new Html(plain.parseInline(text, { async: false }));

export const renderGuide = (text: string, draw: DrawPicture): Html =>
  new Html(createMarked(draw).parse(text, { async: false }));

export type Heading = ReturnType<typeof headingsOf>[number];

/** The headings of a text; their own texts are inline Markdown. */
export const headingsOf = (text: string) =>
  plain
    .lexer(text)
    .flatMap((token) =>
      token.type === 'heading' && token['depth'] > 1
        ? [{ depth: Number(token['depth']), text: String(token['text']), anchor: slugOf(String(token['text'])) }]
        : [],
    );
