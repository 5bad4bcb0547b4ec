import type { Server } from 'node:net';

/** What Node's listening handle gives for each connection: not in Node's types. */
interface AcceptedHandle {
  getpeername(into: { address?: string }): unknown;
  reset(done: () => void): unknown;
}

type Accept = (this: unknown, fault: unknown, client: AcceptedHandle | undefined) => void;

/**
 * Resets connections before Node makes a socket and a parser of them, which is nearly all that a connection costs: while one
 * address opens thousands a second, the kernel's queue overflows, and a peer whose connection falls out of it tries again after
 * a second.
 * @returns false if this version of Node has another handle: the caller then checks each socket
 */
export function guardAccept(server: Server, refuses: (address: string) => boolean): boolean {
  const handle: unknown = Reflect.get(server, '_handle');
  const accept: Accept | undefined = Reflect.get(Object(handle), 'onconnection');
  if (typeof accept !== 'function') return false;
  const guarded: Accept = function (fault, client) {
    const peer: { address?: string } = {};
    client?.getpeername(peer);
    if (client !== undefined && refuses(peer.address ?? '')) client.reset(() => undefined);
    else accept.call(this, fault, client);
  };
  return Reflect.set(Object(handle), 'onconnection', guarded);
}
