import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Html, html } from './html.ts';

/** The script of every page, as it is sent. */
export const PAGE_SCRIPT = readFileSync(new URL('./page-script.js', import.meta.url), 'utf8');

const integrity = `sha256-${createHash('sha256').update(PAGE_SCRIPT).digest('base64')}`;

/** Loads the script. Where it is not the one that the page was made for, it does not run, and the page is complete without. */
export const SCRIPT_TAG = html`<script src="/reference/page.js" integrity="${integrity}" defer></script>`;

/** Shown by the script, which makes it work. */
export const SEARCH_BUTTON = html`<button class="find" type="button" aria-haspopup="dialog" aria-keyshortcuts="Control+K Meta+K" hidden>Search <kbd>Ctrl K</kbd></button>`;

export const SEARCH_DIALOG: Html = html`<dialog class="search" aria-label="Search" closedby="any"><div><input type="text" aria-label="Search" placeholder="Operations, guides, reasons of errors" autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="go"><button type="button">Close</button></div><p aria-live="polite"></p><ul aria-label="Hits"></ul></dialog>`;
