import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

/** What the proxy does with a request instead of passing it on. `answer lost`: the service does the work, and no answer arrives. */
export type ProxyFault =
  | 'reset'
  | 'answer lost'
  | 'answer cut'
  | 'silence'
  /** Nothing: this one is passed on. */
  | 'pass'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

interface PassedRequest {
  readonly method: string;
  readonly target: string;
  readonly idempotencyKey: string | undefined;
  readonly at: number;
}

/** A proxy in front of the service that fails when it is asked to, over real connections. */
export async function startFailingProxy(port: number) {
  const requests: PassedRequest[] = [];
  let waiting: ProxyFault[] = [];
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse, fault: ProxyFault | undefined): void => {
    const { method, url, headers } = incoming;
    const inner = request({ port, host: '127.0.0.1', method, path: url, headers }, async (answer) => {
      const pieces: Buffer[] = [];
      for await (const piece of answer) pieces.push(piece);
      const body = Buffer.concat(pieces);
      if (fault === 'answer lost') return void outgoing.destroy();
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      if (fault === 'answer cut') {
        outgoing.write(body.subarray(0, body.length / 2));
        return void setTimeout(() => outgoing.destroy(), 50);
      }
      outgoing.end(body);
    });
    inner.on('error', () => outgoing.destroy());
    incoming.pipe(inner);
  };
  const server = createServer((incoming, outgoing) => {
    const key = incoming.headers['idempotency-key'];
    const { method = '', url = '' } = incoming;
    requests.push({ method, target: url, idempotencyKey: key?.toString(), at: Date.now() });
    const fault = waiting.shift();
    if (fault === 'reset') return void incoming.socket.destroy();
    if (fault === 'silence') return;
    if (typeof fault === 'object') return void outgoing.writeHead(fault.status, fault.headers).end(fault.body);
    pass(incoming, outgoing, fault);
  });
  return {
    ...(await listen(server)),
    /** Every request since the last call of `fail`. */
    requests,
    /** Makes the next requests fail, the first by the first fault and so on. Later requests are passed on. */
    fail(...faults: ProxyFault[]): void {
      waiting = faults;
      requests.length = 0;
    },
  };
}
