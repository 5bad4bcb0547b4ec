import { like } from 'drizzle-orm';
import type { Deps } from '#src/deps.ts';
import { MINUTE_MS, SECOND_MS } from '#src/platform/clock.ts';
import { isLoopbackHost } from '#src/platform/network-address.ts';
import { equalSecrets } from '#src/platform/secrets.ts';
import { openSecret, signMessage } from './signature.ts';
import { webhookEndpoints } from './tables.ts';

/** The name of an inbox, which is the last segment of its URL. */
export const INBOX_NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
const HTTP_PORT = '80';
const INBOX_URL = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?\/console\/inbox\/([a-z0-9-]{1,40})$/;

/** The console's own webhook receiver. It is closed until the console is served. */
export class OwnInbox {
  #port: string | undefined;

  /** @param port on which the service listens */
  open(port: number): void {
    this.#port = String(port);
  }

  /** The name of the inbox to which a receiver's URL leads; undefined for any other URL. */
  nameOf(url: string): string | undefined {
    const [, port = HTTP_PORT, name = ''] = INBOX_URL.exec(url) ?? [];
    return port === this.#port && INBOX_NAME.test(name) ? name : undefined;
  }

  /** Whether a URL leads to this service, but not to an inbox: the service must not post to its own API. @param url absolute */
  isBeside(url: string): boolean {
    const { host, port } = new URL(url);
    return isLoopbackHost(host) && (port === '' ? HTTP_PORT : port) === this.#port && this.nameOf(url) === undefined;
  }
}

/** Largest difference between the time of a message and now. Standard Webhooks advises this limit. */
const TOLERANCE_MS = 5 * MINUTE_MS;

/** The outcome of a receiver's verification of a message, and the endpoint that sent the message. */
export interface InboxVerdict {
  readonly verdict: 'verified' | 'wrong_signature' | 'too_old' | 'not_signed';
  readonly endpointId: string | null;
}

type InboxDeps = Pick<Deps, 'db' | 'secrets' | 'ownInbox'>;

async function listSecrets({ db, secrets, ownInbox }: InboxDeps, inbox: string) {
  const { id, url, secret } = webhookEndpoints;
  const rows = await db
    .select({ id, url, secret })
    .from(webhookEndpoints)
    .where(like(url, `http://%/${inbox}`));
  return rows
    .filter((row) => ownInbox.nameOf(row.url) === inbox)
    .map((row) => ({ id: row.id, secret: openSecret(secrets, row.id, row.secret) }));
}

/**
 * Verifies a message as its receiver should (Standard Webhooks 1.0). Uses the present secrets of the endpoints that send to the inbox.
 * @param inbox its name, of the form `INBOX_NAME`
 * @param nowMs Unix milliseconds
 */
export async function verifyAtInbox(
  deps: InboxDeps,
  inbox: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  nowMs: number,
): Promise<InboxVerdict> {
  const { 'webhook-id': messageId, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers;
  if (messageId === undefined || time === undefined || signatures === undefined)
    return { verdict: 'not_signed', endpointId: null };
  const sent = signatures.split(' ').map((signature) => Buffer.from(signature));
  const signer = (await listSecrets(deps, inbox)).find(({ secret }) => {
    const own = Buffer.from(signMessage([secret], messageId, Number(time), body)['webhook-signature']);
    return sent.some((signature) => equalSecrets(signature, own));
  });
  if (signer === undefined) return { verdict: 'wrong_signature', endpointId: null };
  const isOld = Math.abs(nowMs - Number(time) * SECOND_MS) > TOLERANCE_MS;
  return { verdict: isOld ? 'too_old' : 'verified', endpointId: signer.id };
}
