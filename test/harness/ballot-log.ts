import { createApiKey } from '#src/accounts/create-api-key.ts';
import { openCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { parseVerifierKey } from '#src/ballot-log/signed-note.ts';
import { TILE_WIDTH, tilePath } from '#src/ballot-log/tiles.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';
import { demand } from './elections.ts';
import { decodeBundle } from './read-log-proofs.ts';
import type { TestAccount, TestService } from './test-service.ts';

async function createKeyOfEvent(
  service: TestService,
  account: TestAccount,
  scope: 'observe' | 'log',
  votingEventId: string,
): Promise<string> {
  const { key } = await createApiKey(service.deps.db, service.deps, {
    ...{ accountId: account.id, name: `A key to ${scope}`, scopes: [scope], votingEventId, expiresInDays: null },
  });
  return key;
}

/** A key that reads one event's log, statistics and results. */
export const createObserverKey = (service: TestService, account: TestAccount, eventId: string): Promise<string> =>
  createKeyOfEvent(service, account, 'observe', eventId);

/** A key for voters: it reads one event's log and nothing else. */
export const createLogKey = (service: TestService, account: TestAccount, eventId: string): Promise<string> =>
  createKeyOfEvent(service, account, 'log', eventId);

/**
 * The verifier's result over HTTP, and the requested checks that it could not verify.
 * @param event its ID or code
 */
export async function verifyOverHttp(service: TestService, event: string, key: string | undefined, since?: string) {
  const read = readOverHttp(service.url, key);
  const report = await verifyLog({ read, event, ...(since === undefined ? {} : { since }) });
  const open = report.checks.filter(({ status }) => status !== 'verified' && status !== 'not_asked');
  return { ...report, open };
}

const waitAsAsked = (headers: Headers): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Number(headers.get('Retry-After') ?? 1) * 1_000));

/** Asks again where the address has asked too often, as any client does. */
export async function askPatiently(service: TestService, method: string, path: string, key: string, body?: unknown) {
  for (;;) {
    const answer = await service.call(method, path, body, { key });
    const tooBusy = answer.status === 429 && !String(answer.body.error.message).includes('confirmation codes');
    if (!tooBusy) return answer;
    await waitAsAsked(answer.headers);
  }
}

/** Reads a log over HTTP as any observer does. */
export class LogReader {
  readonly #service: TestService;
  readonly #base: string;
  readonly #key: string;

  constructor(service: TestService, eventId: string, key: string) {
    this.#service = service;
    this.#base = `/public/voting-events/${eventId}/log`;
    this.#key = key;
  }

  get(path: string) {
    return askPatiently(this.#service, 'GET', `${this.#base}/${path}`, this.#key);
  }

  async bytes(path: string): Promise<Buffer> {
    for (;;) {
      const response = await fetch(`http://127.0.0.1:${this.#service.port}${this.#base}/${path}`, {
        headers: { Authorization: `Bearer ${this.#key}` },
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      if (response.status === 200) return bytes;
      if (response.status !== 429) throw new Error(`${path} answered ${response.status}`);
      await waitAsAsked(response.headers);
    }
  }

  async verifier() {
    const key = await this.#service.call('GET', '/.well-known/voting-log-key');
    return parseVerifierKey(String(key.body).trim());
  }

  /** The signed head, its signature checked. */
  async checkpoint() {
    const answer = await this.get('checkpoint');
    if (answer.status !== 200) throw new Error(`the checkpoint answered ${answer.status}`);
    return openCheckpoint(String(answer.body), await this.verifier());
  }

  async entries(size: number): Promise<Buffer[]> {
    const entries: Buffer[] = [];
    for (let index = 0; index * TILE_WIDTH < size; index += 1) {
      const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH);
      entries.push(...decodeBundle(await this.bytes(tilePath({ level: 'entries', index, width }))));
    }
    return entries;
  }

  async leaves(): Promise<{ t: string; [name: string]: unknown }[]> {
    const { size } = await this.checkpoint();
    return (await this.entries(size)).map((data) => JSON.parse(data.toString()));
  }

  async prove(confirmationCode: string) {
    const body = { confirmationCode };
    return demand(await askPatiently(this.#service, 'POST', `${this.#base}/proof`, this.#key, body), 200);
  }
}
