import type { Hono, MiddlewareHandler } from 'hono';
import type { RouterRoute } from 'hono/types';
import type { z } from 'zod';
import type { AnswerShapes } from './answer-shapes.ts';
import { type Role, roleFor, type Scope } from './caller.ts';
import type { Env } from './env.ts';
import type { BodyBounds, JsonObject } from './json/strict-json.ts';
import { type Urgency, urgencyOf } from './load.ts';
import type { RefusalCase } from './refusals.ts';
import { parseQuery } from './validation.ts';

interface BodyCase {
  readonly summary: string;
  readonly schema: z.ZodType;
  /** Passes the schema, and works with the event of all examples (`EXAMPLE`). */
  readonly example: unknown;
}

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The declaration of an operation, which the middleware and the API document follow. */
export interface Operation {
  readonly method: (typeof METHODS)[number];
  /** Segments that begin with a colon are parameters; a last segment `:name{.+}` matches the rest of the path. */
  readonly path: string;
  /** The scope that a key needs; `any` takes every valid key, `none` takes no key. With an array, one of its scopes is enough. */
  readonly scope: Scope | readonly Scope[] | 'any' | 'none';
  /** The role that the caller needs in the event that the path names. */
  readonly role: Role;
  /** Also answers requests without a key, if the event that the path names allows this (`admitKeyless`). */
  readonly keyless?: true;
  /** Without an API key: the ID of the event, business or payment that the end of the path names. If left out, any cell answers. */
  readonly about?: (name: string) => string | undefined;
  /** Unique, in camel case. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly answers: AnswerShapes;
  /** Refusals in addition to the common refusals of this kind of operation. */
  readonly refusals?: readonly RefusalCase[];
  /** Exempt from rate limits and load shedding. Requires `scope: 'none'`. */
  readonly unlimited?: true;
  /** For an operation without a key: the rate limit of one address; the usual limit when left out. */
  readonly requestsPerMinute?: number;
  /** How late the operation is shed under load; follows from the method when left out. */
  readonly urgency?: Urgency;
  /** Excluded from `RequestTraces`, even if refused or slow: the time of the request could show who voted when. */
  readonly untraced?: true;
  /** For an organizer's operation that mails: the end of a rehearsal deletes its effects and stored answers (completions 10.5). */
  readonly goesWithRehearsal?: true;
  /** Not in the API document: only a page of the service itself calls it. */
  readonly undocumented?: true;
  /** The handler gets the raw body, because a signature covers its bytes. */
  readonly bytes?: true;
  /** How large its body may be; the usual bounds when left out. */
  readonly bounds?: BodyBounds;
  /** The only query parameters it takes. None when left out. */
  readonly query?: z.ZodType;
  /** A body that passes the schema, and works with the event of all examples (`EXAMPLE`). */
  readonly example?: unknown;
  /** With `bodyFor`: every body that it may choose, by the name of its schema in the document. */
  readonly bodies?: Readonly<Record<string, BodyCase>>;
  readonly body?: z.ZodType | undefined;
  readonly bodyFor?: (target: never, raw: JsonObject) => z.ZodType;
  readonly idempotent?: true;
}

/** Whether an organizer or a voter changes something other than a ballot. */
export const isChange = (operation: Operation): boolean =>
  operation.scope !== 'none' && urgencyOf(operation) === 'change';

type Declaration<Query extends z.ZodType> = Omit<
  Operation,
  'operationId' | 'method' | 'path' | 'role' | 'body' | 'bodyFor' | 'idempotent'
> & {
  /** The role that the caller needs; follows from the scope when left out (`roleFor`). */
  readonly role?: Role;
  readonly query?: Query;
};

const parts = new WeakMap<object, Partial<Operation>>();

/** Records what a handler adds to the declaration of its operation. */
export function annotate<Handler extends object>(handler: Handler, part: Partial<Operation>): Handler {
  parts.set(handler, part);
  return handler;
}

/**
 * Declares an operation: `router.on(...operation('castBallot', 'POST /…', { … }), …)`.
 * @returns method, path, and the middleware that checks the query (which throws ApiError 400 `bad_request`)
 */
export function operation<Path extends string, Query extends z.ZodType>(
  operationId: string,
  route: `${Operation['method']} ${Path}`,
  declaration: Declaration<Query>,
) {
  const { query, scope } = declaration;
  const [method, path] = route.split(' ') as [Operation['method'], Path];
  const checkQuery: MiddlewareHandler<Env & { Variables: { query: z.output<Query> } }> = (c, next) => {
    c.set('query', parseQuery(query, c.get('requestTarget').query) as z.output<Query>);
    return next();
  };
  annotate(checkQuery, { role: roleFor(scope, method), operationId, method, path, ...declaration });
  return [method, path, checkQuery] as const;
}

/** @throws Error if an operation validates no body, lacks Idempotency-Keys, or has the method and path of another operation */
function check(operation: Operation, names: Set<string>): void {
  const { operationId, method, path, scope, bytes } = operation;
  const sends = method !== 'GET' && method !== 'DELETE' && bytes === undefined;
  if (sends && !('body' in operation) && !('bodyFor' in operation)) throw new Error(`${operationId} checks no body`);
  if (method === 'POST' && scope !== 'none' && operation.idempotent === undefined)
    throw new Error(`${operationId} takes no Idempotency-Key`);
  const name = `${method} ${path}`;
  if (names.has(name)) throw new Error(`two operations at ${name}`);
  names.add(name);
}

/** The index of the event's segment in the path of an operation; -1 for a path without an event. */
export const placeOfEvent = ({ path }: Pick<Operation, 'path'>): number =>
  path.slice(1).split('/').indexOf(':idOrCode');

/** The operations of an app by their routes, in the order in which they were mounted. */
export function operationsOf(app: Hono<Env>): Map<RouterRoute, Operation> {
  const operations = new Map<RouterRoute, Operation>();
  let last: RouterRoute | undefined;
  for (const route of app.routes) {
    const part = parts.get(route.handler);
    if (part === undefined) continue;
    if ('operationId' in part) last = route;
    if (last !== undefined) operations.set(last, { ...operations.get(last), ...part, path: route.path } as Operation);
  }
  const names = new Set<string>();
  for (const operation of operations.values()) check(operation, names);
  return operations;
}
