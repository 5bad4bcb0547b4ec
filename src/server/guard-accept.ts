import type { Server } from 'node:net';

/** Node's listening handle passes such an object for each connection. It is not in Node's types. */
interface AcceptedHandle {
  getpeername(into: { address?: string }): unknown;
  reset(done: () => void): unknown;
}

type Accept = (this: unknown, fault: unknown, client: AcceptedHandle | undefined) => void;

/**
 * Resets refused connections before Node makes a socket and a parser for them, which is nearly all that a connection costs. Otherwise
 * one address that opens thousands a second fills the kernel's queue, and other peers' connections fall out and retry after a second.
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
