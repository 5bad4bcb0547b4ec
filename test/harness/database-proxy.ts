import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a database that can be shut, or cut in the middle: then both ends stay open, and nothing goes through any more. */
export interface DatabaseProxy {
  readonly url: string;
  /** Where new connections lead, at the same host. */
  port: number;
  /** Nothing goes through; nothing comes back; no connection is taken. */
  silent: boolean;
  deaf: boolean;
  away: boolean;
  /** Sees what the service sends, before it is passed on. */
  onSent: ((bytes: Buffer) => void) | undefined;
  /** Ends every connection that there is. */
  cut(): void;
  stop(): Promise<void>;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    if (proxy.away) return void inner.destroy();
    const outer = connect(proxy.port, target.hostname);
    for (const [from, to] of [[inner, outer] as const, [outer, inner] as const]) {
      sockets.add(from);
      from.on('data', (bytes: Buffer) => {
        if (from === inner) proxy.onSent?.(bytes);
        if (!proxy.silent && !(proxy.deaf && from === outer)) to.write(bytes);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  const proxy: DatabaseProxy = {
    ...{ url: url.href, port: Number(target.port), silent: false, deaf: false, away: false, onSent: undefined },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      proxy.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
