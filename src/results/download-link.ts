import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { unlessSpoilt } from '#src/platform/errors.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

const ENDINGS: Readonly<Record<DownloadKind, string>> = {
  pdf: 'results.pdf',
  csv: 'results.csv',
  table: 'results-table.csv',
  json: 'results.json',
  cvr: 'cast-vote-records.json',
  blt: 'ballots.blt',
};

const MAX_TITLE = 80;

/** Characters that some file system refuses, or that hide or reorder parts of a name. */
const UNFIT = /[\p{C}\p{Zl}\p{Zp}/\\:*?"<>|]+/gu;

/** RFC 5987: percent-encodes all characters except attr-char, also the marks that encodeURIComponent leaves. */
const encodeExtended = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** The file name as a header, with an ASCII form for old clients. It names a rehearsal, because files are passed on alone. */
export function fileNameHeader(
  { title: shown, code, rehearsalSince }: Pick<VotingEvent, 'title' | 'code' | 'rehearsalSince'>,
  kind: DownloadKind,
): Record<string, string> {
  const ending = rehearsalSince === null ? ENDINGS[kind] : `rehearsal-${ENDINGS[kind]}`;
  const title = [...shown.replace(UNFIT, ' ')].slice(0, MAX_TITLE).join('').trim();
  const full = title === '' ? ending : `${title} - ${ending}`;
  return {
    'Content-Disposition': `attachment; filename="${code}-${ending}"; filename*=UTF-8''${encodeExtended(full)}`,
  };
}

const DOWNLOAD_KINDS = ['pdf', 'csv', 'table', 'json', 'cvr', 'blt'] as const;
export type DownloadKind = (typeof DOWNLOAD_KINDS)[number];
export const PAPER_SIZES = ['a4', 'letter'] as const;
export type PaperSize = (typeof PAPER_SIZES)[number];

/** The content of a link: one export of one event, for one account. */
const downloadSchema = z.object({
  kind: z.enum(DOWNLOAD_KINDS),
  eventId: z.string(),
  accountId: z.string(),
  /** The API key that requested the link. The link ends when this key ends. */
  keyId: z.string(),
  paper: z.enum(PAPER_SIZES),
  /** The only position in the file; null for all positions. */
  positionId: z.string().nullable(),
});
export type Download = Readonly<z.output<typeof downloadSchema>>;

/** How long a link can be used (completions 3, "Results, votes, exports"). */
export const DOWNLOAD_LINK_MS = 5 * MINUTE_MS;

const MAC_BYTES = 32;

/** The token at the end of a download URL: HMAC-SHA256 of the body, then the body. `kind` keeps links of different contents apart. */
export function signLink<Content extends { readonly kind: string }>(
  secrets: Secrets,
  content: Content,
  nowMs: number,
): string {
  const body = Buffer.from(JSON.stringify([nowMs + DOWNLOAD_LINK_MS, content]));
  return Buffer.concat([secrets.mac('download', body), body]).toString('base64url');
}

/** @throws ApiError 403 `forbidden`: reason `download_link_invalid` if not signed here or outdated, otherwise `download_link_expired` */
export function openLink<Content>(secrets: Secrets, token: string, schema: z.ZodType<Content>, nowMs: number): Content {
  const bytes = Buffer.from(token, 'base64url');
  const body = bytes.subarray(MAC_BYTES);
  // Several texts decode to the same bytes (spare bits, skipped characters): accept only the canonical one.
  const genuine =
    bytes.toString('base64url') === token &&
    secrets.macs('download', body).some((mac) => equalSecrets(bytes.subarray(0, MAC_BYTES), mac));
  if (!genuine) throw refuse('download_link_invalid');
  // An earlier release may have signed a link with another content.
  const [expiresAt, content] = z.tuple([z.int(), z.unknown()]).parse(JSON.parse(body.toString('utf8')));
  const parsed = schema.safeParse(content);
  if (!parsed.success) throw refuse('download_link_outdated');
  if (nowMs >= expiresAt) throw refuse('download_link_expired');
  return parsed.data;
}

const eventLink = z.object({ eventId: z.string() });

/** The event of a link, even if the link has expired or is outdated. */
export const eventOfLink =
  ({ secrets }: Pick<Deps, 'secrets'>) =>
  (token: string): string | undefined =>
    unlessSpoilt(() => openLink(secrets, token, eventLink, 0))?.eventId;

export const openDownload = (secrets: Secrets, token: string, nowMs: number): Download =>
  openLink(secrets, token, downloadSchema, nowMs);
