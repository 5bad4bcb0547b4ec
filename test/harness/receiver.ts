import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { selfSignedCertificate } from './certificates.ts';

export interface Received {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly at: number;
}

/** A receiver of webhooks over real HTTP. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  stop(): Promise<void>;
}

/** @param answer what it does with a message; 200 unless told otherwise. `times` counts messages from 1. */
export async function startReceiver(
  answer: (response: ServerResponse, request: IncomingMessage, times: number) => void = (response) =>
    response.writeHead(200).end('thanks'),
): Promise<Receiver> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      received.push({ headers, body: Buffer.concat(chunks).toString('utf8'), at: Date.now() });
      answer(response, request, received.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A receiver that is reached as `localhost` over TLS, and shows a certificate for a name. */
/** @param tls what its server offers */
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/hooks`,
    cert,
    received,
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
