import { streamText } from '#src/platform/stream-text.ts';
import type { Answer } from './answer.ts';

/** 200 with a table that is made while it is sent. */
export const csv = (open: () => AsyncIterable<string>): Answer => ({
  status: 200,
  stream: { open: () => streamText(open()), type: 'text/csv; charset=utf-8; header=present' },
});
