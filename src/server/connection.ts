import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { monotonicMs } from '#src/platform/clock.ts';
import { LoopTurns } from '#src/platform/loop-turns.ts';
import { countedAddress } from '#src/platform/network-address.ts';

/** Bytes to parse between two checks whether to stop: some dozens of requests, or some hundred chunks of a body. */
const PIECE_BYTES = 2_048;
/** Maximum time to parse in one turn. Parsing one read takes longer only in a flood of tiny requests or chunks. */
const PARSING_MS = 1;

/** Turns of all connections, by address: even if many connections of one address flood, another address waits only for one turn. */
const turns = new LoopTurns();

/**
 * Answers the requests of a connection one after the other, and stops parsing while a request waits. Node itself would parse all
 * bytes of a read (thousands of pipelined requests or one-byte chunks) and begin every request at once. Here the rest of a read,
 * and each pipelined request, waits for its turn.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #peer: string;
  readonly #parse: (bytes: Buffer) => void;
  /** Pipelined requests that wait for earlier answers. */
  readonly #ahead: (() => void)[] = [];
  #isAnswering = false;
  #isHeld = false;
  #isOver = false;

  /** @param socket as Node's server has just taken it */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.#peer = countedAddress(socket.remoteAddress ?? '') ?? '';
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    this.#parse = parse ?? (() => undefined);
    socket.removeAllListeners('data');
    // With a foreign listener for data, Node's parser no longer reads from the socket's handle directly.
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  /** Begins an answer as soon as all earlier answers of the connection are sent. */
  inOrder(response: ServerResponse, begin: () => void): void {
    response.once('close', () => this.#answered());
    if (this.#isAnswering) this.#ahead.push(begin);
    else {
      this.#isAnswering = true;
      begin();
    }
  }

  /** Ends parsing: bytes that still arrive are dropped. */
  end(): void {
    this.#isOver = true;
  }

  #answered(): void {
    const next = this.#socket.writable ? this.#ahead.shift() : undefined;
    this.#isAnswering = next !== undefined;
    if (next !== undefined) void turns.take(this.#peer, () => this.#socket.writable && next());
    // The body of the last request may still be arriving.
    if (this.#ahead.length === 0) this.#goOn();
  }

  #goOn(): void {
    if (!this.#isHeld) return;
    void turns.take(this.#peer, () => {
      if (this.#ahead.length > 0) return;
      this.#isHeld = false;
      // `_paused`: the peer does not read its answers, so Node has paused the socket, and will resume it by itself.
      if (Reflect.get(this.#socket, '_paused') !== true) this.#socket.resume();
    });
  }

  #read(bytes: Buffer): void {
    if (this.#isOver) {
      // Drops these bytes of a refused peer (`closeAfter`), and reads more in this address's next turn.
      this.#socket.pause();
      void turns.take(this.#peer, () => this.#socket.resume());
      return;
    }
    // A handler that reads a body resumes the socket. Bytes that arrive before this connection's turn are put back unparsed.
    const at = this.#isHeld ? 0 : this.#parseSome(bytes);
    if (at >= bytes.length && this.#ahead.length === 0) return;
    const left = bytes.subarray(at);
    if (this.#isOver || this.#socket.destroyed) return;
    this.#socket.pause();
    if (left.length > 0) this.#socket.unshift(left);
    if (this.#isHeld) return;
    this.#isHeld = true;
    if (this.#ahead.length === 0) this.#goOn();
  }

  /** @returns the number of parsed bytes, rounded up to whole pieces: it may exceed `bytes.length` */
  #parseSome(bytes: Buffer): number {
    if (bytes.length <= PIECE_BYTES) {
      this.#parse(bytes);
      return bytes.length;
    }
    const until = monotonicMs() + PARSING_MS;
    let at = 0;
    do {
      this.#parse(bytes.subarray(at, at + PIECE_BYTES));
      at += PIECE_BYTES;
    } while (at < bytes.length && this.#mayParse() && monotonicMs() < until);
    return at;
  }

  #mayParse(): boolean {
    return !this.#isOver && this.#ahead.length === 0 && !this.#socket.isPaused() && !this.#socket.destroyed;
  }
}
