import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ListedPage } from '#sandbox/list-pages.ts';
import type { ReceivedMessage, SentMail, ShownRequest } from '#src/console/console-feed.ts';
import type { LiveResults } from '#src/console/live-stream.ts';
import type { NewestDelivery } from '#src/webhooks/newest-deliveries.ts';
import type { TestServiceOptions } from './test-service.ts';

/** The settings of a service that has a console: as with the embedded database, on one that stands already. */
export const WITH_CONSOLE = {
  environment: { DATABASE_URL: '' },
  webhookAllowPrivate: false,
} as const satisfies TestServiceOptions;

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Asks with exactly these headers: `fetch` sets some of its own, and refuses others. */
export function askRaw(port: number, path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  type Answer = { readonly status: number; readonly headers: Readonly<Record<string, unknown>>; readonly body: string };
  return new Promise<Answer>((resolve, reject) => {
    const json = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, path, method, headers: { ...json, ...headers } }, (answer) => {
      // A stream has no end: its head is enough.
      if (answer.headers['content-type'] === 'text/event-stream') {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: '' });
        answer.destroy();
        return;
      }
      text(answer).then(
        (all) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: all }),
        reject,
      );
    });
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** What its page holds: the token without which nothing can be done. */
export async function readToken(port: number): Promise<string> {
  const { body } = await askRaw(port, '/console');
  return /data-token="([\w-]+)"/.exec(body)?.[1] ?? '';
}

/** What a page of the console knows at a moment, newest last. */
interface ConsoleState {
  readonly mails: SentMail[];
  readonly requests: ShownRequest[];
  readonly messages: ReceivedMessage[];
  payments: ListedPage[] | null;
  deliveries: NewestDelivery[];
  results: LiveResults[];
}

function apply(state: ConsoleState, { mails = [], requests = [], messages = [], ...parts }: Partial<ConsoleState>) {
  state.mails.push(...mails);
  state.requests.push(...requests);
  state.messages.push(...messages);
  Object.assign(state, parts);
}

/** Looks at the console as its page does. */
export async function watchConsole(port: number) {
  const state: ConsoleState = { mails: [], requests: [], messages: [], payments: [], deliveries: [], results: [] };
  const left = new AbortController();
  const waiting = new Set<() => void>();
  const answer = await fetch(`http://127.0.0.1:${port}/console/live`, { signal: left.signal });
  const read = async (): Promise<void> => {
    let rest = '';
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = `${rest}${chunk}`.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) if (event.startsWith('data: ')) apply(state, JSON.parse(event.slice(6)));
      for (const look of waiting) look();
    }
  };
  const ended = read().catch((fault: unknown) => {
    if (!left.signal.aborted) throw fault;
  });
  return {
    state,
    /** Resolves with what is found once something is. */
    until: <T>(find: (state: ConsoleState) => T | undefined) =>
      new Promise<T>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`not shown in time: ${JSON.stringify(state).slice(0, 4_000)}`)),
          20_000,
        );
        const look = (): void => {
          const found = find(state);
          if (found === undefined) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    stop: () => left.abort(),
    /** Resolves when the stream was ended from either side, and rejects where it broke off. */
    ended,
  };
}
