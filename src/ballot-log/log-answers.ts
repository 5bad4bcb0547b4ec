import type { Answer } from '#src/http/answer.ts';

/** A tile never changes: the address of one that is not full names its width. */
const FOREVER = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** A signed note, or a verifier key. */
export const noteAnswer = (content: string): Answer => ({
  status: 200,
  text: { content, type: 'text/plain; charset=utf-8' },
});

/** @param isLasting false for what may be gone with the next request: no one keeps it */
export const tileAnswer = (content: Uint8Array<ArrayBuffer>, isLasting = true): Answer => ({
  status: 200,
  ...(isLasting ? { headers: FOREVER } : {}),
  bytes: { content, type: 'application/octet-stream' },
});
