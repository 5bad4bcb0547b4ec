import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { monotonicMs } from '#src/platform/clock.ts';
import { LoopTurns } from '#src/platform/loop-turns.ts';
import { countedAddress } from '#src/platform/network-address.ts';

/** What is parsed before a look at what came of it: some dozens of requests, or some hundred chunks of a body. */
const PIECE_BYTES = 2_048;
/** Longer than parsing what one read brings of anything but a flood. */
const PARSING_MS = 1;

/** Those of all connections: however many of one address flood, others wait for one of them. */
const turns = new LoopTurns();

/**
 * Answers what comes on a connection one request after the other, and parses no further while one waits. Node itself would parse all
 * that a read brings, thousands of requests or of one-byte chunks, and begin each at once. What is left of a read, and each request
 * that was sent ahead, waits for its turn.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #peer: string;
  readonly #parse: (bytes: Buffer) => void;
  /** The requests that wait for the answers before them. */
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
    // With a listener that is not its own, Node's parser no longer reads from the system by itself.
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  /** Begins an answer as soon as all that were asked for before it are sent. */
  inOrder(response: ServerResponse, begin: () => void): void {
    response.once('close', () => this.#answered());
    if (this.#isAnswering) this.#ahead.push(begin);
    else {
      this.#isAnswering = true;
      begin();
    }
  }

  /** Nothing that comes is parsed any more. */
  end(): void {
    this.#isOver = true;
  }

  #answered(): void {
    const next = this.#socket.writable ? this.#ahead.shift() : undefined;
    this.#isAnswering = next !== undefined;
    if (next !== undefined) void turns.take(this.#peer, () => this.#socket.writable && next());
    // The body of the last one may still be on its way.
    if (this.#ahead.length === 0) this.#goOn();
  }

  #goOn(): void {
    if (!this.#isHeld) return;
    void turns.take(this.#peer, () => {
      if (this.#ahead.length > 0) return;
      this.#isHeld = false;
      // While a peer takes none of its answers, Node parses no further either, and goes on by itself.
      if (Reflect.get(this.#socket, '_paused') !== true) this.#socket.resume();
    });
  }

  #read(bytes: Buffer): void {
    if (this.#isOver) {
      // What a refused peer still sends is read for a moment, in turns too.
      this.#socket.pause();
      void turns.take(this.#peer, () => this.#socket.resume());
      return;
    }
    // Reading a body resumes its connection whenever there is room: not before its turn.
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

  /** @returns how many bytes were parsed, or more than there are */
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
