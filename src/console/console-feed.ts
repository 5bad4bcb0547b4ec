import { randomBytes, randomUUID } from 'node:crypto';
import type { TraceableRequest } from '#src/http/errors.ts';
import type { RequestTrace } from '#src/http/trace-requests.ts';
import type { Mail, Mailer } from '#src/mail/mailer.ts';
import type { InboxVerdict } from '#src/webhooks/own-inbox.ts';

interface Numbered<Item> {
  readonly version: number;
  readonly item: Item;
}

/** Ring buffer of the newest items of a kind, each once, oldest first. */
class Ring<Item extends { readonly id: string }> {
  readonly #max: number;
  readonly #items: Numbered<Item>[] = [];
  readonly #known = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns false if the item is already there */
  add(item: Item, version: number): boolean {
    if (this.#known.has(item.id)) return false;
    this.#known.add(item.id);
    this.#items.push({ version, item });
    if (this.#items.length > this.#max) this.#known.delete(this.#items.shift()?.item.id ?? '');
    return true;
  }

  since(version: number): Item[] {
    return this.#items.filter((one) => one.version > version).map(({ item }) => item);
  }

  find(id: string): Item | undefined {
    return this.#items.find(({ item }) => item.id === id)?.item;
  }
}

export const KEPT = { mails: 200, requests: 500, messages: 100 } as const;
const TOKEN_BYTES = 32;

export interface SentMail extends Pick<Mail, 'to' | 'subject' | 'text'> {
  readonly id: string;
  /** Unix milliseconds, like all times here. */
  readonly at: number;
  readonly html: string | null;
}

export interface ShownRequest extends RequestTrace {
  readonly id: string;
}

export interface ReceivedMessage extends InboxVerdict {
  readonly id: string;
  readonly at: number;
  /** Last segment of the inbox's URL. */
  readonly inbox: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An item with its kind, as processes send it to each other. */
export type FeedEntry =
  | { readonly kind: 'mail'; readonly item: SentMail }
  | { readonly kind: 'request'; readonly item: ShownRequest }
  | { readonly kind: 'message'; readonly item: ReceivedMessage };

/** Facts that all processes of one start of the service share. */
export interface Start {
  /** ID of the start: a page with another ID reloads itself. */
  readonly runId: string;
  /** Secret that actions require; only the console's page has it. */
  readonly token: string;
  readonly startedAt: number;
}

/** What the console shows of this start of the service. Kept in memory only, because mails contain voter keys. */
export class ConsoleFeed {
  #start: Start;
  #version = 0;
  #changes = 0;
  #isClosed = false;
  readonly #mails = new Ring<SentMail>(KEPT.mails);
  readonly #requests = new Ring<ShownRequest>(KEPT.requests);
  readonly #messages = new Ring<ReceivedMessage>(KEPT.messages);
  readonly #waiting = new Set<() => void>();
  #relay: (entry: FeedEntry) => void = () => undefined;

  constructor(startedAt: number) {
    this.#start = { runId: randomUUID(), token: randomBytes(TOKEN_BYTES).toString('base64url'), startedAt };
  }

  get start(): Start {
    return this.#start;
  }

  /** Rises when payments, deliveries or results may have changed. */
  get changes(): number {
    return this.#changes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Joins the other processes of a start. @param relay sends an entry to the other processes, which `take` it */
  join(start: Start, relay: (entry: FeedEntry) => void): void {
    this.#start = start;
    this.#relay = relay;
  }

  addMail({ to, subject, text, html }: Mail, at: number): void {
    this.#add({ kind: 'mail', item: { id: randomUUID(), at, to, subject, text, html: html ?? null } });
  }

  addRequest({ untraced: _untraced, ...request }: TraceableRequest, at: number): void {
    const { accountId = null, keyHint = null, code = null, reason } = request;
    const known = { accountId, keyHint, code, reason: typeof reason === 'string' ? reason : null };
    this.#add({ kind: 'request', item: { ...request, ...known, id: randomUUID(), at } });
  }

  addMessage(message: Omit<ReceivedMessage, 'id'>): void {
    this.#add({ kind: 'message', item: { id: randomUUID(), ...message } });
  }

  #add(entry: FeedEntry): void {
    this.take(entry);
    this.#relay(entry);
  }

  /** Adds an entry of this or another process; ignores an entry it already has. */
  take(entry: FeedEntry): void {
    if (!this.#keep(entry, this.#version + 1)) return;
    this.#version += 1;
    if (entry.kind === 'message' || (entry.kind === 'request' && entry.item.method !== 'GET')) this.#changes += 1;
    this.#wake();
  }

  /** Notes a change of data that the stream reads from elsewhere (payments, deliveries), so that it reads them soon. */
  noteChange(): void {
    this.#changes += 1;
    this.#wake();
  }

  #keep({ kind, item }: FeedEntry, version: number): boolean {
    if (kind === 'mail') return this.#mails.add(item, version);
    return kind === 'request' ? this.#requests.add(item, version) : this.#messages.add(item, version);
  }

  /** Adds refused requests of earlier starts, which the database keeps. @param traces newest first */
  recall(traces: readonly RequestTrace[]): void {
    for (const trace of traces.filter(({ at }) => at < this.#start.startedAt).toReversed())
      this.take({ kind: 'request', item: { ...trace, id: `${trace.at}/${trace.requestId}` } });
  }

  /** All kept entries, for a new process. */
  entries(): FeedEntry[] {
    const { mails, requests, messages } = this.since(0);
    return [
      ...mails.map((item) => ({ kind: 'mail', item }) as const),
      ...requests.map((item) => ({ kind: 'request', item }) as const),
      ...messages.map((item) => ({ kind: 'message', item }) as const),
    ];
  }

  /** The items newer than a version of this process, oldest first; all items for 0. */
  since(version: number) {
    return {
      version: this.#version,
      mails: this.#mails.since(version),
      requests: this.#requests.since(version),
      messages: this.#messages.since(version),
    };
  }

  findMail(id: string): SentMail | undefined {
    return this.#mails.find(id);
  }

  /** Resolves when an item newer than `version` exists, `afterMs` have passed, the feed closes or the signal aborts. */
  async changed(version: number, afterMs: number, signal: AbortSignal): Promise<void> {
    if (this.#version > version || this.#isClosed || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake);
    const timer = setTimeout(wake, afterMs);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', wake);
    this.#waiting.delete(wake);
  }

  /** Ends all waits, because the process stops. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }
}

/** Adds each mail to the feed once it was sent. @param now Unix milliseconds */
export function keepMails(mailer: Mailer, feed: ConsoleFeed, now: () => number): Mailer {
  return {
    async send(mail) {
      await mailer.send(mail);
      feed.addMail(mail, now());
    },
    close: () => mailer.close(),
  };
}
