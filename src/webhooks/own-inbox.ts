import { isIPv6 } from 'node:net';
import { createPoster, type Poster } from './guarded-post.ts';

/** What may stand at the end of an address of the inbox. */
export const INBOX_NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
const INBOX_PATH = '/console/inbox/';
const HTTP_PORT = '80';
const INBOX_URL = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?\/console\/inbox\/([a-z0-9-]{1,40})$/;

/**
 * The receiver of messages that the console has: the one address on this machine that the service sends webhooks to though
 * private networks are refused. Closed until the console is served.
 */
export class OwnInbox {
  #origin: string | undefined;
  #port = '';

  /** @param host as the service listens on it */
  open(host: string, port: number): void {
    this.#origin = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    this.#port = String(port);
  }

  /** The inbox that an address of a receiver names; undefined for every other address. */
  nameOf(url: string): string | undefined {
    const [, port = HTTP_PORT, name = ''] = INBOX_URL.exec(url) ?? [];
    return this.#origin !== undefined && port === this.#port && INBOX_NAME.test(name) ? name : undefined;
  }

  /** Where messages for an inbox are posted: nothing of it was sent by anyone but the name. */
  addressOf(name: string): string {
    return `${this.#origin}${INBOX_PATH}${name}`;
  }
}

/** Sends what is for the inbox there, and everything else through the guard. */
export function posterWithInbox(guarded: Poster, inbox: OwnInbox): Poster {
  const inside = createPoster(true);
  return {
    post(url, headers, body) {
      const name = inbox.nameOf(url);
      return name === undefined ? guarded.post(url, headers, body) : inside.post(inbox.addressOf(name), headers, body);
    },
    async close() {
      await Promise.all([guarded.close(), inside.close()]);
    },
  };
}
