import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { monotonicMs } from '#src/platform/clock.ts';
import { LoopTurns } from '#src/platform/loop-turns.ts';

/** Bytes that are parsed before the next check whether to stop: some hundred chunks of a body. */
const PIECE_BYTES = 2_048;
const HEAD_END = Buffer.from('\r\n\r\n');
/** Maximum time to parse in one turn. Parsing one read takes longer only in a flood of tiny requests or chunks. */
const PARSING_MS = 1;

/** Milliseconds of parsing per iteration of the event loop, for all connections together, with the work that their requests begin. */
const PARSING_IN_ALL_MS = 4;

/** Bounds parsing: each address has an equal share of an iteration, so that large bodies do not delay another address's small request. */
class Parsing {
  /** Milliseconds by address in this iteration. */
  readonly #spent = new Map<string, number>();
  #addressesBefore = 1;

  mayGoOn(address: string): boolean {
    const addresses = Math.max(this.#addressesBefore, this.#spent.size);
    return (this.#spent.get(address) ?? 0) < PARSING_IN_ALL_MS / addresses;
  }

  count(address: string, ms: number): void {
    if (this.#spent.size === 0) setImmediate(() => this.#end());
    this.#spent.set(address, (this.#spent.get(address) ?? 0) + ms);
  }

  #end(): void {
    this.#addressesBefore = this.#spent.size;
    this.#spent.clear();
  }
}

const parsing = new Parsing();

/** At most 8 requests begin in an iteration of the event loop, because all others wait for their first steps. Addresses take turns. */
const beginnings = new LoopTurns({ together: 8 });

/** Turns of all connections, by address: however many connections of one address are busy, another address waits only for one turn. */
const turns = new LoopTurns();
/** Turns to parse bytes that were put back. Short pieces share a turn: otherwise each of hundreds of small requests waits for its own. */
const parsingTurns = new LoopTurns({ turnMs: 1 });

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
  #hasTurn = false;
  #isOver = false;

  /** @param socket that Node's server has just accepted @param peer its address, as `countedAddress` gives it */
  constructor(socket: Socket, peer: string) {
    this.#socket = socket;
    this.#peer = peer;
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    this.#parse = parse ?? (() => undefined);
    socket.removeAllListeners('data');
    // A listener for data that is not Node's own makes Node's parser stop reading from the socket's handle directly.
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  /** Begins an answer as soon as all earlier answers of the connection are sent. */
  inOrder(response: ServerResponse, begin: () => void): void {
    response.once('close', () => this.#answered());
    if (this.#isAnswering) this.#ahead.push(begin);
    else {
      this.#isAnswering = true;
      void beginnings.take(this.#peer, () => this.#socket.writable && begin());
    }
  }

  /** Runs work for the peer in a turn of its address, like the beginning of a request. */
  soon(work: () => void): void {
    void beginnings.take(this.#peer, work);
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
    void parsingTurns.take(this.#peer, () => {
      if (this.#ahead.length > 0) return;
      this.#isHeld = false;
      // `_paused`: the peer does not read its answers, so Node has paused the socket, and will resume it by itself.
      if (Reflect.get(this.#socket, '_paused') === true) return;
      // Passes the bytes that were put back to `#read` at once, so that their parsing counts as this turn.
      this.#hasTurn = true;
      this.#socket.read();
      this.#hasTurn = false;
      if (!this.#isHeld) this.#socket.resume();
    });
  }

  #read(bytes: Buffer): void {
    if (this.#isOver) {
      // The peer is refused already (`closeAfter`): these bytes are dropped, and more are read when it is this address's turn.
      this.#socket.pause();
      void turns.take(this.#peer, () => this.#socket.resume());
      return;
    }
    // A handler that reads a body resumes the socket. Bytes that arrive before this connection's turn are put back unparsed.
    const mayParse = !this.#isHeld && (this.#hasTurn || parsing.mayGoOn(this.#peer));
    const at = mayParse ? this.#parseSome(bytes) : 0;
    if (at === bytes.length && this.#ahead.length === 0) return;
    const left = bytes.subarray(at);
    if (this.#isOver || this.#socket.destroyed) return;
    this.#socket.pause();
    if (left.length > 0) this.#socket.unshift(left);
    if (this.#isHeld) return;
    this.#isHeld = true;
    if (this.#ahead.length === 0) this.#goOn();
  }

  /** @returns the number of parsed bytes */
  #parseSome(bytes: Buffer): number {
    const from = monotonicMs();
    let [at, ms] = [0, 0];
    do {
      // A piece ends with a request's head: of several pipelined requests, the first is parsed, and the others stay bytes.
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      const head = piece.indexOf(HEAD_END);
      const length = head === -1 ? piece.length : head + HEAD_END.length;
      this.#parse(piece.subarray(0, length));
      at += length;
      ms = monotonicMs() - from;
    } while (at < bytes.length && this.#mayParse() && ms < PARSING_MS);
    parsing.count(this.#peer, ms);
    return at;
  }

  #mayParse(): boolean {
    return !this.#isOver && this.#ahead.length === 0 && !this.#socket.isPaused() && !this.#socket.destroyed;
  }
}
