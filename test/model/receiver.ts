/** Takes webhooks, and looks at what the contract says of each: its signature, its type, its event. */
import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { at, isObject, text } from './kit.ts';
import type { Endpoint } from './state.ts';

interface Received {
  readonly path: string;
  readonly id: string;
  readonly time: string;
  readonly signatures: readonly string[];
  readonly body: string;
}
let taken: Received[] = [];
let number = 0;
let server: Promise<Server> | undefined;

/** One server for all histories of a process: it keeps nothing of the process alive. */
function start(): Promise<Server> {
  server ??= new Promise((resolve) => {
    const made = createServer((request, response) => {
      const header = (name: string) => text(request.headers[name]);
      readText(request)
        .then((body) => {
          const signatures = header('webhook-signature').split(' ');
          const [id, time] = [header('webhook-id'), header('webhook-timestamp')];
          taken.push({ path: request.url ?? '', id, time, signatures, body });
          response.writeHead(204).end();
        })
        .catch(() => response.destroy());
    });
    made.listen(0, '127.0.0.1', () => resolve(made));
    made.unref();
  });
  return server;
}

export class Receiver {
  /** The addresses of this history. */
  readonly #mine = new Set<string>();

  async address(): Promise<string> {
    number += 1;
    const path = `/hook/${number}`;
    this.#mine.add(path);
    return `http://127.0.0.1:${((await start()).address() as AddressInfo).port}${path}`;
  }

  /** What is wrong with what came. Endpoints that were deleted are not looked at. */
  wrong(endpoints: readonly Endpoint[]): string[] {
    const mine = taken.filter((one) => this.#mine.has(one.path));
    taken = taken.filter((one) => !this.#mine.has(one.path));
    return mine.flatMap((one) => {
      const endpoint = endpoints.find(({ url }) => url.endsWith(one.path));
      return endpoint === undefined ? [] : faults(one, endpoint);
    });
  }
}
function faults({ id, time, signatures, body }: Received, endpoint: Endpoint): string[] {
  const signed = endpoint.secrets.some((secret) => {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    return signatures.includes(`v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`);
  });
  const content: unknown = JSON.parse(body);
  const event = at(content, 'votingEventId');
  const lines: string[] = signed ? [] : ['no secret of the endpoint signed it'];
  if (at(content, 'id') !== id || typeof at(content, 'createdAt') !== 'number' || !isObject(at(content, 'data')))
    lines.push('its body lacks id, createdAt or data');
  if (endpoint.eventId !== null && event !== null && event !== undefined && event !== endpoint.eventId)
    lines.push('it is about another event');
  if (/"(voterKey|confirmationCode|votes)":/.test(body.replace(/"votes":\{"total"/g, '')) && !/"payment\./.test(body))
    lines.push('it holds a key, a code or a choice');
  return lines;
}
