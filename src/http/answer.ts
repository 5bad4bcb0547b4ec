import { jsonPieces, streamText } from '#src/platform/stream-text.ts';
import type { CachedJson } from './cached-json.ts';

export interface Answer {
  readonly status: 200 | 201 | 202 | 204 | 302 | 303 | 402 | 503;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of a stored answer, to be sent unchanged. */
  readonly replayed?: string;
  /** Text instead of JSON. */
  readonly text?: { readonly content: string; readonly type: string };
  /** Bytes instead of JSON, for reads. */
  readonly bytes?: { readonly content: Uint8Array<ArrayBuffer>; readonly type: string };
  /** Cached JSON, sent plain or compressed, or as 304 if the caller has it already. */
  readonly kept?: CachedJson;
  /** Streamed bytes, for reads. `open` is not called for HEAD. `endsUnderLock`: the stream itself prevents a move until its end. */
  readonly stream?: {
    readonly open: () => AsyncIterable<Uint8Array>;
    readonly type: string;
    readonly endsUnderLock?: true;
  };
}

export const ok = (data: unknown): Answer => ({ status: 200, body: { data } });
export const kept = (text: CachedJson): Answer => ({ status: 200, kept: text });
export const created = (data: unknown): Answer => ({ status: 201, body: { data } });
export const accepted = (data: unknown): Answer => ({ status: 202, body: { data } });
export const queued = (id: string): Answer => accepted({ id, status: 'queued' });
/** 200 with a resource that may have megabytes, streamed. */
export const inPieces = (data: unknown): Answer => ({
  status: 200,
  stream: { open: () => streamText(jsonPieces({ data })), type: 'application/json' },
});
export const gone: Answer = { status: 204 };
export const goneAfter = (work: Promise<void>): Promise<Answer> => work.then(() => gone);
export const redirect = (location: string): Answer => ({ status: 302, headers: { Location: location } });

/** A page of a list; lists that are not paginated leave the cursor out. */
export const list = (data: readonly unknown[], nextCursor: string | null = null): Answer => ({
  status: 200,
  body: { data, nextCursor },
});

/** 200 with a table that is streamed. */
export const csv = (open: () => AsyncIterable<string>): Answer => ({
  status: 200,
  stream: { open: () => streamText(open()), type: 'text/csv; charset=utf-8; header=present' },
});
