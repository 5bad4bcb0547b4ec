import { setTimeout as pause } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import type { RequestContext } from './env.ts';
import { tooManyRequests } from './rate-limit.ts';
import { answer } from './send.ts';

/** Costly reads of one account at a time: whoever asks for more waits, and takes nothing from other accounts. */
const PER_ACCOUNT = 2;
const MAX_WAIT_MS = 2_000;
/** Requests of one account that may wait: more would only hold connections until they are refused. */
const MAX_WAITING = 50;

interface Places {
  underWay: number;
  readonly waiting: Set<() => void>;
}

/** Lets an account have so many searches, files, statistics and long lists under way, and no more. */
export class CostlyReads {
  readonly #places = new Map<string, Places>();

  /** Runs a read in a place of its account; one that streams keeps its place to its end. @throws ApiError 429 after 2 s */
  async run(account: string, isHead: boolean, read: () => Promise<Answer>): Promise<Answer> {
    const release = await this.#take(account);
    let answer: Answer;
    try {
      answer = await read();
    } catch (fault) {
      release();
      throw fault;
    }
    const { stream } = answer;
    if (stream === undefined || isHead) {
      release();
      return answer;
    }
    async function* open(source: NonNullable<Answer['stream']>): AsyncGenerator<Uint8Array> {
      try {
        yield* source.open();
      } finally {
        release();
      }
    }
    return { ...answer, stream: { ...stream, open: () => open(stream) } };
  }

  async #take(account: string): Promise<() => void> {
    const places = this.#places.get(account) ?? { underWay: 0, waiting: new Set() };
    this.#places.set(account, places);
    if (places.underWay < PER_ACCOUNT) places.underWay += 1;
    else if (places.waiting.size >= MAX_WAITING || !(await this.#wait(places))) throw busy();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const [next] = places.waiting;
      // The place goes from hand to hand: nobody who comes now gets in between.
      if (next !== undefined) next();
      else if (places.underWay === 1) this.#places.delete(account);
      else places.underWay -= 1;
    };
  }

  async #wait(places: Places): Promise<boolean> {
    const giveUp = new AbortController();
    const turn = Promise.withResolvers<true>();
    const take = (): void => {
      places.waiting.delete(take);
      turn.resolve(true);
    };
    places.waiting.add(take);
    const late = pause(MAX_WAIT_MS, false as const, { signal: giveUp.signal }).catch(() => false as const);
    const came = await Promise.race([turn.promise, late]);
    giveUp.abort();
    // The place may have been handed over at the very end of the time.
    return came || !places.waiting.delete(take);
  }
}

const busy = () => tooManyRequests(1, 'Two searches, exports or statistics of this account are under way already.');

/** Answers with a read that counts as a costly one of an account. @throws ApiError 429 after 2 s without a place */
export async function costly(c: RequestContext, account: string, read: () => Promise<Answer>): Promise<Response> {
  return answer(c, await c.get('service').costlyReads.run(account, c.req.method === 'HEAD', read));
}
