import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { csvCell } from '#src/platform/csv.ts';
import { ApiError } from '#src/platform/errors.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import { DOWNLOAD_LINK_MS, type Download, fileNameHeader, openDownload, signLink } from '#src/results/download-link.ts';
import type { EventResults } from '#src/results/event-results.ts';
import { writeCsv } from '#src/results/result-files.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { samplePosition } from './sample-report.ts';

const named = (title: string): string =>
  fileNameHeader({ title, code: 'AGM2026', rehearsalSince: null }, 'pdf')['Content-Disposition'] ?? '';

describe('the name of a file', () => {
  test('is the title in full, percent-encoded as RFC 5987 asks, beside a plain one', () => {
    expect(named("Ọlá's (AGM)*")).toBe(
      'attachment; filename="AGM2026-results.pdf"; filename*=UTF-8\'\'%E1%BB%8Cl%C3%A1%27s%20%28AGM%29%20-%20results.pdf',
    );
  });

  test.each(['../../etc/passwd', 'a\r\nSet-Cookie: x', 'a"b', 'a\\b', 'a/b', '\u202efdp.exe', 'nul\u0000'])(
    'holds nothing that a header, a file system or a reader takes for something else: %j',
    (title) => {
      const header = named(title);
      expect(header).toMatch(
        /^attachment; filename="AGM2026-results\.pdf"; filename\*=UTF-8''[A-Za-z0-9%._~!#$&+^`|-]+$/,
      );
      expect(decodeURIComponent(header.split("''")[1] ?? '')).not.toMatch(/[\p{C}/\\"\r\n]/u);
    },
  );
});

const secrets = createSecrets([randomBytes(32)]);
const NOW = 1_790_000_000_000;
const download: Download = {
  kind: 'cvr',
  eventId: 'evt_1',
  accountId: 'acc_1',
  keyId: 'key_1',
  paper: 'a4',
  positionId: null,
};

function refusal(token: string, nowMs = NOW): unknown {
  try {
    return openDownload(secrets, token, nowMs);
  } catch (fault) {
    return fault instanceof ApiError ? [fault.status, fault.details?.['reason']] : fault;
  }
}

describe('a download link', () => {
  test('says what it was made for, until five minutes are over to the millisecond', () => {
    const token = signLink(secrets, download, NOW);
    expect(openDownload(secrets, token, NOW + DOWNLOAD_LINK_MS - 1)).toEqual(download);
    expect(refusal(token, NOW + DOWNLOAD_LINK_MS)).toEqual([403, 'download_link_expired']);
    expect(DOWNLOAD_LINK_MS).toBe(300_000);
  });

  test('is refused with any bit of it flipped', () => {
    const bytes = Buffer.from(signLink(secrets, download, NOW), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(refusal(flipped.toString('base64url'))).toEqual([403, 'download_link_invalid']);
    }
  });

  test('is refused in any other spelling, shortened, lengthened, empty, or signed with another key', () => {
    const token = signLink(secrets, download, NOW);
    const foreign = signLink(createSecrets([randomBytes(32)]), download, NOW);
    const spellings = [
      `${token}=`,
      `${token} `,
      `!${token}`,
      token.slice(0, -1),
      token.slice(1),
      `${token}A`,
      '',
      'x',
      foreign,
    ];
    for (const spelling of spellings) expect(refusal(spelling)).toEqual([403, 'download_link_invalid']);
  });
});

describe('a cell of a table', () => {
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx', '\nx', '＝1', '＋1', '－1', '＠x', '=cmd|"/c calc"!A1'])(
    'is never a formula: %j',
    (text) => {
      expect(csvCell(text)).toMatch(/^"?'/);
      expect(parseCsv(`${csvCell(text)}\r\n`)).toEqual([[`'${text}`]]);
    },
  );

  test.each([
    ...[' =1+1', '  @x', '\u00a0=1', '\u3000=1', '\ufeff=1', '\u200b=1', ' \t+1', '\u034f=1', '\u115f@x', '\u3164+1'],
    ...['\ufe0f=1'],
  ])('is no formula behind what a spreadsheet may cut off: %j', (text) => {
    const [cell = ''] = parseCsv(`${csvCell(text)}\r\n`)[0] ?? [];
    expect([cell.startsWith("'"), cell.replaceAll("'", '')]).toEqual([true, text]);
  });

  test.each(['﹢1', '﹣1', '﹦1', '﹫x', '⁺1', '⁼1', '₊1', '−1', '"=1', ' "＝1'])(
    'is no formula with a small, full-width or raised sign, or behind a quote: %j',
    (text) => {
      expect(parseCsv(`${csvCell(text)}\r\n`)[0]?.[0]).toBe(`'${text}`);
    },
  );

  test.each([',', ';', '\t', '|', '\n', '\r\n'])(
    'opens no formula behind a separator that it was read with: %j',
    (mark) => {
      for (const sign of ['=1+1', ' +1', '"@x', '－1', '﹢1']) {
        const [cell] = parseCsv(`${csvCell(`a${mark}${sign}`)}\r\n`)[0] ?? [];
        expect(cell).toBe(`a${mark}'${sign}`);
      }
    },
  );

  test('of text is always in quotes, and comes back as it was', () => {
    for (const text of ['a,b', 'a"b', 'a\r\nb', 'a\nb', ' a', 'a ', '', 'plain', '山田']) {
      expect(parseCsv(`${csvCell(text)}\r\n`)).toEqual([[text]]);
      if (text !== '') expect(csvCell(text).startsWith('"')).toBe(true);
    }
  });

  test('keeps the sign of a figure, and only of a figure', () => {
    expect(csvCell('-12.5', true)).toBe('-12.5');
    expect(csvCell(-3)).toBe('-3');
    expect(csvCell('-12.5+A1', true)).toBe(`"'-12.5+A1"`);
  });
});

describe('a table of results', () => {
  test('begins with a byte order mark, has as many cells in every row, and neutralises names and titles', () => {
    const { result } = samplePosition(
      {
        title: '=HYPERLINK("http://x.example")',
        votingMethod: 'plurality',
        names: ['@Ada', '+Bea', 'Cy'],
        ballots: [[[0, 1]], [[1, 1]]],
      },
      1,
    );
    const results: EventResults = {
      votingEventId: 'evt_1',
      title: '-2+3',
      final: true,
      disputed: false,
      asOf: 1,
      stats: {
        totalVotes: 2,
        ballots: 2,
        entries: 2,
        abstentions: 0,
        electorate: null,
        turnout: null,
        lettersPrinted: 3,
        identityChanges: 2,
        rollChanges: 3,
        disclosure: null,
      },
      positions: [result],
      log: { size: 3, rootHash: '+/AB=', close: null },
      afterReversals: null,
      byGroup: null,
      lot: { seedHash: 'ab', seed: null, root: null },
    };
    const text = [...writeCsv(results)].join('');
    expect(text.startsWith('\ufeffrecord,')).toBe(true);
    const rows = parseCsv(text.slice(1));
    expect(new Set(rows.map((row) => row.length))).toEqual(new Set([12]));
    expect(rows.flat().filter((cell) => /^[=+@\t\r]/.test(cell))).toEqual([]);
    expect(rows.flat()).toContain("'@Ada");
    expect(rows.flat()).toContain("'-2+3");
  });
});
