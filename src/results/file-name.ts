import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { DownloadKind } from './download-link.ts';

const ENDINGS: Readonly<Record<DownloadKind, string>> = {
  pdf: 'results.pdf',
  csv: 'results.csv',
  table: 'results-table.csv',
  json: 'results.json',
  cvr: 'cast-vote-records.json',
  blt: 'ballots.blt',
};

const MAX_TITLE = 80;

/** What some file system refuses, and what hides or reorders a name. */
const UNFIT = /[\p{C}\p{Zl}\p{Zp}/\\:*?"<>|]+/gu;

/** RFC 5987: everything but attr-char is percent-encoded, the marks that encodeURIComponent leaves too. */
const encodeExtended = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** The file's name as a header: plain ASCII with the event's code for old clients, the title in full for the others. */
export function fileNameHeader(event: Pick<VotingEvent, 'title' | 'code'>, kind: DownloadKind): Record<string, string> {
  const ending = ENDINGS[kind];
  const title = [...event.title.replace(UNFIT, ' ')].slice(0, MAX_TITLE).join('').trim();
  const full = title === '' ? ending : `${title} - ${ending}`;
  return {
    'Content-Disposition': `attachment; filename="${event.code}-${ending}"; filename*=UTF-8''${encodeExtended(full)}`,
  };
}
