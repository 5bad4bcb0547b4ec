import type { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import type { Answer } from './answer.ts';
import type { AnswerShapes } from './answer-shapes.ts';
import type { Caller, Scope } from './caller.ts';
import type { Urgency } from './load.ts';
import type { RefusalCase } from './refusal-cases.ts';
import { type Role, requireRole, roleFor } from './role.ts';
import type { JsonObject } from './strict-json.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The part of a request that is known before anything is looked up. */
export interface RequestContext {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** Aborted when the client goes away before its answer is complete. */
  readonly whenGone: () => AbortSignal;
}

/** A claim as a statement makes it itself, together with its effect. */
export interface ClaimValues {
  readonly apiKeyId: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  readonly token: Buffer;
  /** The answer, as it is kept when the effect happens. */
  readonly sealedAnswer: string;
}

/** What an earlier request with the same key left. */
export interface StoredClaim {
  readonly fingerprint: Buffer;
  /** Null while it still runs. */
  readonly status: number | null;
  readonly sealedAnswer: string | null;
}

/** An idempotent request that nothing has claimed yet: the statement of its effect will. */
export interface DeferredClaim extends Claim {
  valuesFor(answer: Answer): ClaimValues;
  /** Notes that the statement has claimed it, and stored its answer if there was an effect. */
  claimed(stored: boolean): void;
  /** The answer that an earlier request got. @throws ApiError `idempotency_mismatch`, or `conflict` while that one runs */
  replay(stored: StoredClaim): Answer;
}

/** A request that has passed every check before its handler. */
export interface Call<Query, Body, Target> extends RequestContext {
  readonly query: Query;
  readonly body: Body;
  /** What `find` found: the event, the row that the path names. */
  readonly target: Target;
}

/** The claim of an idempotent request, for routes that store their answer within their own statement or transaction. */
export interface Claim {
  /** Name this request by its key and content, without telling either, the present name first: what it began is found again, under earlier secret keys too. */
  readonly requestKeys: readonly Buffer[];
  /** Stores the answer in the transaction of the effect; throws when the claim was lost meanwhile, which undoes the effect. */
  store(tx: Transaction, answer: Answer, keepMs?: number): Promise<void>;
}

/** One of the bodies that a route may take, for the document. */
export interface BodyCase {
  readonly summary: string;
  readonly schema: z.ZodType;
  /** Passes the schema, and works against the event that the examples are about. */
  readonly example: unknown;
}

/** What the API document tells of a route; nothing here changes how it works. */
export interface RouteDocument {
  /** What it may answer, by status. */
  readonly answers: AnswerShapes;
  /** Refusals beyond those that every route of its kind may give. */
  readonly refusals?: readonly RefusalCase[];
  /** More than the summary says, in Markdown. */
  readonly description?: string;
  /** A body that passes the schema, and works against the event that the examples are about. */
  readonly example?: unknown;
  /** With `bodyFor`: every body that it may choose, by the name of its schema in the document. */
  readonly bodies?: Readonly<Record<string, BodyCase>>;
}

interface RouteBase<Query extends z.ZodType, Body extends z.ZodType, Target> extends RouteDocument {
  /** Unique name of the operation, in camel case. */
  readonly operationId: string;
  readonly summary: string;
  /** The parts of the path that begin with a colon are its parameters; a last one `:name{.+}` takes all that is left. */
  readonly path: string;
  /** The scope that a key needs; `any` takes every valid key, `none` takes no key. An array: one of them is enough. */
  readonly scope: Scope | readonly Scope[] | 'any' | 'none';
  /** The role that the caller needs in the event that the path names. Left out: what the scope says (`roleFor`). */
  readonly role?: Role;
  /** Never refused for how often it is asked, or how much there is to do. Takes no key: `scope: 'none'`. */
  readonly unlimited?: true;
  /** How late it is given up where there is too much to do; by its method unless said otherwise. */
  readonly urgency?: Urgency;
  /** The only query parameters it takes. None when left out. */
  readonly query?: Query;
  /** The body it takes. None when left out. */
  readonly body?: Body;
  /** Where the body depends on what the path names or on what was sent: the choice of one. */
  readonly bodyFor?: (target: Target, raw: JsonObject) => Body;
  /**
   * What the plan must allow for the body that was sent, asked before the body is judged. First calls of a checkout alone are
   * asked: whoever has paid gets what was paid for, whatever became of the plan. @throws ApiError 403 `plan_feature`
   */
  readonly requirePlan?: (target: Target, raw: JsonObject) => void;
  /**
   * Finds what the path names and checks who may see it (404), then role and plan (403): all that is answered before the
   * body is looked at (completions 1.6).
   */
  readonly find: (context: RequestContext) => Promise<Target>;
}

/** Reads; never changes anything that a caller could see. */
export interface ReadRoute<Query extends z.ZodType, Target> extends RouteBase<Query, z.ZodType, Target> {
  readonly method: 'GET';
  readonly read: (call: Call<z.output<Query>, undefined, Target>) => Promise<Answer>;
  /** The account for which this read counts as a costly one; undefined where it costs little. */
  readonly costly?: (call: Call<z.output<Query>, undefined, Target>) => string | undefined;
}

/** Changes in one transaction, which also stores the answer of an idempotent request. */
export interface ChangeRoute<Query extends z.ZodType, Body extends z.ZodType, Target>
  extends RouteBase<Query, Body, Target> {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly change: (call: Call<z.output<Query>, z.output<Body>, Target>, tx: Transaction) => Promise<Answer>;
}

/** Works without one surrounding transaction: hot statements, calls to payment providers. */
export interface WorkRoute<Query extends z.ZodType, Body extends z.ZodType, Target>
  extends RouteBase<Query, Body, Target> {
  readonly method: 'POST';
  readonly work: (call: Call<z.output<Query>, z.output<Body>, Target>, claim: Claim | undefined) => Promise<Answer>;
  /** What of a stored answer may still be told when it is given again. Left out: all of it. */
  readonly replayed?: (target: Target, body: string) => string;
  /** Calls that are one statement, which makes the claim of an idempotent request itself: one trip for all of it. */
  readonly statement?: {
    readonly when: (call: Call<z.output<Query>, z.output<Body>, Target>) => boolean;
    readonly write: (
      call: Call<z.output<Query>, z.output<Body>, Target>,
      claim: DeferredClaim | undefined,
    ) => Promise<Answer>;
  };
}

/** Takes bytes as they come, because a signature is over them: the messages of payment providers. */
export interface RawRoute extends RouteDocument {
  readonly operationId: string;
  readonly summary: string;
  readonly method: 'POST';
  readonly path: string;
  readonly scope: 'none';
  /** From one address. */
  readonly requestsPerMinute: number;
  readonly receive: (context: RequestContext, bytes: Uint8Array, headers: Headers) => Promise<Answer>;
}

/** A route as the pipeline runs it; `define…` check the types of each one where it is written. */
export interface Route extends RouteDocument {
  readonly operationId: string;
  readonly summary: string;
  readonly method: Method;
  readonly path: string;
  readonly scope: Scope | readonly Scope[] | 'any' | 'none';
  /** Asked of whatever `find` gives that says by which role the caller holds it. */
  readonly role: Role;
  readonly query: z.ZodType | undefined;
  /** The one body that it takes; routes that choose have `bodies`. */
  readonly body: z.ZodType | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the target is what this route's own `find` gave
  readonly bodyFor: ((target: any, raw: JsonObject) => z.ZodType) | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the target is what this route's own `find` gave
  readonly requirePlan: ((target: any, raw: JsonObject) => void) | undefined;
  readonly find: (context: RequestContext) => Promise<unknown>;
  /** For routes without a key: what one address may ask. Undefined for the usual. */
  readonly requestsPerMinute?: number;
  /** Never refused for how often it is asked: monitoring must see a service that is well. */
  readonly unlimited?: true;
  readonly urgency?: Urgency;
  readonly run: RouteRun;
}

export type RouteRun =
  | {
      readonly kind: 'read';
      readonly handle: (call: UntypedCall) => Promise<Answer>;
      readonly costly: ((call: UntypedCall) => string | undefined) | undefined;
    }
  | { readonly kind: 'change'; readonly handle: (call: UntypedCall, tx: Transaction) => Promise<Answer> }
  | {
      readonly kind: 'work';
      readonly handle: (call: UntypedCall, claim: Claim | undefined) => Promise<Answer>;
      // biome-ignore lint/suspicious/noExplicitAny: the target is what this route's own `find` gave
      readonly replayed: ((target: any, body: string) => string) | undefined;
      readonly statement:
        | {
            readonly when: (call: UntypedCall) => boolean;
            readonly write: (call: UntypedCall, claim: DeferredClaim | undefined) => Promise<Answer>;
          }
        | undefined;
    }
  | { readonly kind: 'raw'; readonly handle: RawRoute['receive'] };

// The pipeline hands a handler exactly what the route's own schemas and `find` gave, so the types match by construction.
// biome-ignore lint/suspicious/noExplicitAny: the one place where a route's types are forgotten
export type UntypedCall = Call<any, any, any>;

function documentOf({ answers, refusals, description, example, bodies }: RouteDocument): RouteDocument {
  return {
    answers,
    ...(refusals === undefined ? {} : { refusals }),
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    ...(bodies === undefined ? {} : { bodies }),
  };
}

function common<Target>(spec: RouteBase<z.ZodType, z.ZodType, Target> & { method: Method }): Omit<Route, 'run'> {
  const { body } = spec;
  const role = spec.role ?? roleFor(spec.scope, spec.method);
  return {
    operationId: spec.operationId,
    summary: spec.summary,
    method: spec.method,
    path: spec.path,
    scope: spec.scope,
    role,
    ...(spec.unlimited === undefined ? {} : { unlimited: spec.unlimited }),
    ...(spec.urgency === undefined ? {} : { urgency: spec.urgency }),
    ...documentOf(spec),
    query: spec.query,
    body,
    bodyFor: spec.bodyFor ?? (body === undefined ? undefined : () => body),
    requirePlan: spec.requirePlan,
    async find(context) {
      const target = await spec.find(context);
      requireRole(role, target);
      return target;
    },
  };
}

export function readRoute<Query extends z.ZodType, Target>(spec: ReadRoute<Query, Target>): Route {
  return { ...common(spec), run: { kind: 'read', handle: spec.read, costly: spec.costly } };
}

export function changeRoute<Query extends z.ZodType, Body extends z.ZodType, Target>(
  spec: ChangeRoute<Query, Body, Target>,
): Route {
  return { ...common(spec), run: { kind: 'change', handle: spec.change } };
}

export function workRoute<Query extends z.ZodType, Body extends z.ZodType, Target>(
  spec: WorkRoute<Query, Body, Target>,
): Route {
  return {
    ...common(spec),
    run: { kind: 'work', handle: spec.work, replayed: spec.replayed, statement: spec.statement },
  };
}

export function rawRoute(spec: RawRoute): Route {
  const { operationId, summary, method, path, scope, requestsPerMinute } = spec;
  const find = async () => undefined;
  const role = roleFor(scope, method);
  const declared = { operationId, summary, method, path, scope, role, requestsPerMinute, ...documentOf(spec) };
  const nothing = { query: undefined, body: undefined, bodyFor: undefined, requirePlan: undefined };
  return { ...declared, ...nothing, find, run: { kind: 'raw', handle: spec.receive } };
}
