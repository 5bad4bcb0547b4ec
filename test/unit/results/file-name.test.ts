import { describe, expect, test } from 'vitest';
import { fileNameHeader } from '#src/results/download-link.ts';

const named = (title: string): string => fileNameHeader({ title, code: 'AGM2026' }, 'pdf')['Content-Disposition'] ?? '';

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
