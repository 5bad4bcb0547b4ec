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
  /** Passes the schema, and works against the event that the examples are about. */
  readonly example: unknown;
}

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** What is declared of an operation: the middlewares and the API document go by it. */
export interface Operation {
  readonly method: (typeof METHODS)[number];
  /** The parts that begin with a colon are its parameters; a last one `:name{.+}` takes all that is left. */
  readonly path: string;
  /** The scope that a key needs; `any` takes every valid key, `none` takes no key. An array: one of them is enough. */
  readonly scope: Scope | readonly Scope[] | 'any' | 'none';
  /** The role that the caller needs in the event that the path names. */
  readonly role: Role;
  /** Takes no key, too, where the event that the path names says so (`admitKeyless`). */
  readonly keyless?: true;
  /** Unique, in camel case. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly answers: AnswerShapes;
  /** Refusals beyond those that every operation of its kind may give. */
  readonly refusals?: readonly RefusalCase[];
  /** Never refused for how often it is asked, or how much there is to do. Takes no key: `scope: 'none'`. */
  readonly unlimited?: true;
  /** For an operation without a key: how much one address may ask. Left out: the usual. */
  readonly requestsPerMinute?: number;
  /** How late it is given up where there is too much to do; by its method unless said otherwise. */
  readonly urgency?: Urgency;
  /** Stands in no list of requests, refused or slow: who was at the ballot box at which moment is not kept. */
  readonly untraced?: true;
  /** For an organizer's operation that mails: what it does in a rehearsal goes with it, its stored answers too (completions 10.5). */
  readonly goesWithRehearsal?: true;
  /** Stands in no API document: it is for a page of the service itself. */
  readonly undocumented?: true;
  /** Takes bytes as they come, because a signature is over them. */
  readonly bytes?: true;
  /** How large its body may be; the usual bounds when left out. */
  readonly bounds?: BodyBounds;
  /** The only query parameters it takes. None when left out. */
  readonly query?: z.ZodType;
  /** A body that passes the schema, and works against the event that the examples are about. */
  readonly example?: unknown;
  /** With `bodyFor`: every body that it may choose, by the name of its schema in the document. */
  readonly bodies?: Readonly<Record<string, BodyCase>>;
  /** The schema of `body()`. */
  readonly body?: z.ZodType | undefined;
  readonly bodyFor?: (target: never, raw: JsonObject) => z.ZodType;
  readonly idempotent?: true;
}

/** Whether it is a change of an organizer, or of a voter other than a ballot. */
export const isChange = (operation: Operation): boolean =>
  operation.scope !== 'none' && urgencyOf(operation) === 'change';

type Declaration<Query extends z.ZodType> = Omit<
  Operation,
  'operationId' | 'method' | 'path' | 'role' | 'body' | 'bodyFor' | 'idempotent'
> & {
  /** Left out: what the scope says (`roleFor`). */
  readonly role?: Role;
  readonly query?: Query;
};

const parts = new WeakMap<object, Partial<Operation>>();

/** Notes what a handler adds to the operation that it stands in. */
export function annotate<Handler extends object>(handler: Handler, part: Partial<Operation>): Handler {
  parts.set(handler, part);
  return handler;
}

/**
 * Declares an operation: `router.on(...operation('castBallot', 'POST /…', { … }), …)`.
 * @returns method, path, and the middleware that checks the query. @throws ApiError 400 `bad_request` from there
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

/** Finds what was left out, or stands at the address of another one. @throws Error */
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
