import { AccountPlaces } from './account-places.ts';
import type { Answer } from './answer.ts';
import type { RequestContext } from './env.ts';
import { tooManyRequests } from './rate-limit.ts';
import { answer } from './send.ts';

/** Costly reads of one account at a time. */
const PER_ACCOUNT = 2;
const MAX_WAITING = 50;

/** Lets an account have so many searches, files, statistics and long lists under way, and no more. */
export class CostlyReads {
  readonly #places = new AccountPlaces({
    perAccount: PER_ACCOUNT,
    maxWaiting: MAX_WAITING,
    refusal: () => tooManyRequests(1, 'Two searches, exports or statistics of this account are under way already.'),
  });

  /** Runs a read in a place of its account; one that streams keeps its place to its end. @throws ApiError 429 after 2 s */
  async run(account: string, isHead: boolean, read: () => Promise<Answer>): Promise<Answer> {
    const release = await this.#places.take(account);
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
}

/** Answers with a read that counts as a costly one of an account. @throws ApiError 429 after 2 s without a place */
export async function costly(c: RequestContext, account: string, read: () => Promise<Answer>): Promise<Response> {
  return answer(c, await c.get('service').costlyReads.run(account, c.req.method === 'HEAD', read));
}
