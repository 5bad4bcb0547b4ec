import { type ClientOptions, PathClient } from './client.ts';
import { OPERATIONS } from './operations.ts';
import type { Nouns } from './types.ts';

type AnyMethod = (this: PathClient, path: string, input: object) => unknown;

/** Turns `cast(event, body, options)` into a call by path. */
function callNamed(client: PathClient, named: string, words: readonly unknown[]): unknown {
  const [method = '', path = ''] = named.split(' ');
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const [content, options] = words.slice(names.length);
  const input = {
    ...Object(options),
    path: Object.fromEntries(names.map((name, index) => [name, words[index]])),
    [method === 'get' || method === 'delete' ? 'query' : 'body']: content,
  };
  const call: AnyMethod = Reflect.get(client, method);
  return call.call(client, path, input);
}

/**
 * A client of the Voting Service API. Call operations by noun and verb (`voting.ballots.cast(event, body)`), or by path. The arguments are
 * the values of the path; then the body of a change, or the query of a read or a deletion; then the options of the call.
 */
export const VotingService = class VotingService extends PathClient {
  constructor(options: ClientOptions) {
    super(options);
    for (const [noun, verbs] of Object.entries(OPERATIONS)) {
      const methods = Object.entries(verbs).map(([verb, named]) => [
        verb,
        (...words: readonly unknown[]) => callNamed(this, named, words),
      ]);
      // Not enumerable, so that printing the client does not show a hundred functions.
      Object.defineProperty(this, noun, { value: Object.fromEntries(methods) });
    }
  }
} as unknown as new (
  options: ClientOptions,
) => VotingService;
export type VotingService = PathClient & Nouns;
