import type { OPERATIONS } from './operations.ts';
import type { components, paths } from './schema.d.ts';

/** Every schema of the API by its name: `Resources['VotingEvent']`. */
export type Resources = components['schemas'];

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that have a method, as the API reference writes them: `/voting-events/{idOrCode}`. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

interface AnyOperation {
  parameters: { path?: unknown; query?: unknown };
  requestBody?: unknown;
  responses: unknown;
}
type Operation<M extends Method, P> = P extends keyof paths
  ? paths[P] extends Record<M, infer Found extends AnyOperation>
    ? Found
    : never
  : never;

type ContentOf<Part> = Part extends { content: infer Contents } ? Contents[keyof Contents] : undefined;
type BodyOf<Request> = [NonNullable<Request>] extends [never]
  ? { body?: undefined }
  : undefined extends Request
    ? { body?: ContentOf<NonNullable<Request>> }
    : { body: ContentOf<Request> };

export interface CallOptions {
  /** For POST. By default a new key is made, and used for all retries of this call. Pass your own key to repeat a call after a crash. */
  readonly idempotencyKey?: string;
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The input of a call: `path`, `query` and `body` as the API reference describes them, and the call's options. */
export type Input<M extends Method, P> = Pick<Operation<M, P>['parameters'], 'path' | 'query'> &
  BodyOf<Operation<M, P>['requestBody']> &
  CallOptions;

export type Arguments<M extends Method, P> =
  Record<never, never> extends Input<M, P> ? [input?: Input<M, P>] : [input: Input<M, P>];

type Success = 200 | 201 | 202 | 204;
type AnswerOf<Responses> = [keyof Responses & Success] extends [never]
  ? unknown
  : { [Status in keyof Responses & Success]: ContentOf<Responses[Status]> }[keyof Responses & Success];

/** The answer of a call, as the API reference shows it: `{ data }`, `{ data: […], nextCursor }`, a text, or undefined for 204. */
export type Answer<M extends Method, P> = AnswerOf<Operation<M, P>['responses']>;

export interface AnyPage {
  data: readonly unknown[];
  nextCursor: string | null;
}
/** The paths that answer with a list. */
export type ListPath = {
  [P in PathOf<'get'>]: Answer<'get', P> extends AnyPage ? P : never;
}[PathOf<'get'>];

/** A row of a list. */
export type Row<P> = Answer<'get', P> extends { data: readonly (infer One)[] } ? One : never;

export interface Page<P> {
  readonly data: readonly Row<P>[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
  /** In lists of the newest rows: whether there are older rows. */
  readonly truncated?: boolean;
}

/** A running call. Await it to get only the answer. */
export interface Call<A> extends Promise<A> {
  /** The answer with its headers, which have the request ID, the rest of the quota, and whether the answer is that of an earlier call. */
  withResponse(): Promise<{ readonly answer: A; readonly response: Response; readonly requestId: string }>;
}

/** The call of a list also iterates over its rows: `for await (const voter of voting.voters.list(event))`. */
export type CallOf<M extends Method, P> = Call<Answer<M, P>> & (P extends ListPath ? Rows<M, P> : unknown);
type Rows<M, P> = M extends 'get' ? AsyncIterable<Row<P>> : unknown;

/** The values of a path's parameters, in the order of the path. */
type Values<P> = P extends `${string}{${string}}${infer Rest}` ? [string, ...Values<Rest>] : [];
/** The arguments that follow the values of the path: the body of a change, or the query of a read or a deletion. */
type Content<I, Name extends string, Options> = Name extends keyof I
  ? Record<never, never> extends Pick<I, Name>
    ? [content?: I[Name], options?: Options]
    : [content: I[Name], options?: Options]
  : [content?: undefined, options?: Options];
type MethodOf<M extends Method, P> = (
  ...words: [
    ...Values<P>,
    ...(M extends 'get' | 'delete'
      ? Content<Input<M, P>, 'query', CallOptions>
      : Content<Input<M, P>, 'body', CallOptions & Partial<Pick<Input<M, P>, 'query'>>>),
  ]
) => CallOf<M, P>;
type MethodOfCall<Named> = Named extends `${infer M extends Method} ${infer P}` ? MethodOf<M, P> : never;
type Operations = typeof OPERATIONS;

/** The operations, by noun and verb: `voting.ballots.cast(event, body)`. */
export type Nouns = {
  readonly [Noun in keyof Operations]: {
    readonly [Verb in keyof Operations[Noun]]: MethodOfCall<Operations[Noun][Verb]>;
  };
};

/** A ballot; or `{ paymentAttemptId }`, which finishes a paid ballot. */
export type CastBody = Input<'post', '/public/voting-events/{idOrCode}/ballot/cast'>['body'];

export type CastOutcome =
  | {
      readonly status: 'cast';
      /** It does not count yet: confirm it with its code. */
      readonly ballot: Resources['CastResult'];
    }
  | {
      readonly status: 'payment_required';
      readonly payment: Resources['PaymentRequired'];
      /** The URL to which to send the payer. */
      readonly checkoutUrl: string;
    };
