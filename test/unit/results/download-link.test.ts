import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ApiError } from '#src/platform/errors.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import { DOWNLOAD_LINK_MS, type Download, openDownload, signDownload } from '#src/results/download-link.ts';

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
    const token = signDownload(secrets, download, NOW);
    expect(openDownload(secrets, token, NOW + DOWNLOAD_LINK_MS - 1)).toEqual(download);
    expect(refusal(token, NOW + DOWNLOAD_LINK_MS)).toEqual([403, 'download_link_expired']);
    expect(DOWNLOAD_LINK_MS).toBe(300_000);
  });

  test('is refused with any bit of it flipped', () => {
    const bytes = Buffer.from(signDownload(secrets, download, NOW), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(refusal(flipped.toString('base64url'))).toEqual([403, 'download_link_invalid']);
    }
  });

  test('is refused in any other spelling, shortened, lengthened, empty, or signed with another key', () => {
    const token = signDownload(secrets, download, NOW);
    const foreign = signDownload(createSecrets([randomBytes(32)]), download, NOW);
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
