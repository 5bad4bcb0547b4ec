import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { selfSignedCertificate } from './certificates.ts';
import { listen } from './listen.ts';

export interface Received {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly at: number;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** A receiver of webhooks over real HTTP. @param answer called for each message; answers 200 if left out. `times`: the number of the message, from 1 */
export async function startReceiver(
  answer: (response: ServerResponse, request: IncomingMessage, times: number) => void = (response) =>
    response.writeHead(200).end('thanks'),
) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      received.push({ headers, body: Buffer.concat(chunks).toString('utf8'), at: Date.now() });
      answer(response, request, received.length);
    });
  });
  const { url, stop } = await listen(server);
  return { url: `${url}/hooks`, received, stop };
}

/** A receiver that is reached as `localhost` over TLS, and shows a certificate for a name. @param tls what its server offers */
export async function startSecureReceiver(
  certifiedName: string,
  tls: SecureContextOptions = {},
  kind: 'ec' | 'rsa' = 'ec',
) {
  const received: string[] = [];
  const { cert, key } = selfSignedCertificate(certifiedName, kind);
  const server = createSecureServer({ cert, key, ...tls }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push(Buffer.concat(chunks).toString('utf8'));
      response.writeHead(200).end();
    });
  });
  const { port, stop } = await listen(server);
  return { url: `https://localhost:${port}/hooks`, cert, received, stop };
}
