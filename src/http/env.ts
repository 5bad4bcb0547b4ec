import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { Database } from '#src/database/client.ts';
import type { Log } from '#src/platform/log.ts';
import type { ThreadPool } from '#src/platform/thread-pool.ts';
import type { Caller } from './caller.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { IdempotentRequest } from './idempotent-request.ts';
import type { JsonBody } from './json/strict-json.ts';
import type { Load } from './load.ts';
import type { Operation } from './operation.ts';
import type { LeasesByKind, RequestLife } from './request-life.ts';
import type { RequestTarget } from './request-target.ts';

/** The sender of a request, as its log line names it. */
interface Known {
  /** From `X-Forwarded-For` if proxies are configured; IPv6 as its /64 network. */
  readonly address?: string | undefined;
  readonly accountId?: string;
  /** The first and last characters of the API key. */
  readonly keyHint?: string;
}

export interface Service {
  readonly referenceUrl: string;
  readonly db: Database;
  readonly log: Log;
  readonly idempotency: IdempotencyStore;
  readonly leases: LeasesByKind;
  readonly load: Pick<Load, 'pressure'>;
  readonly threads: ThreadPool;
  /** The folder in which long bodies are stored while they arrive and wait for their turn. */
  readonly bodyFolder: string;
  /** Called with the event's ID after a change, whether it was committed or rolled back. */
  readonly changed: (eventId: string) => void;
  /** The stored answers of other cells, by the names of cells. A silent cell is left out. */
  readonly answersOf: (cells: readonly string[]) => readonly IdempotencyStore[];
  /** The stored answers of the named cell. @throws CellSilent before it is served */
  readonly answersIn: (cell: string) => IdempotencyStore;
  /** Whether an event that an account did not find has moved to another cell meanwhile. @param named its ID or code */
  readonly isElsewhere: (accountId: string, named: string) => Promise<boolean>;
  /** Whether an account of a request has left its cell meanwhile: the request may have read only some of the rows, or none. */
  readonly hasLeft: (request: IncomingMessage) => Promise<boolean>;
}

/** The variables of a request that middleware sets for later steps. */
export type Env = {
  Bindings: HttpBindings;
  Variables: {
    service: Service;
    requestId: string;
    life: RequestLife;
    requestTarget: RequestTarget;
    /** Headers of the answer; every step may add some. */
    headers: Record<string, string>;
    known: Known;
    /** Not set if the path is unknown. */
    operation: Operation;
    caller: Caller;
    idempotencyKey: string | undefined;
    query: unknown;
    /** The resource that the path names, such as the event with the caller's role in it. */
    target: unknown;
    json: JsonBody | undefined;
    /** The request as its Idempotency-Key identifies it; undefined without one. */
    repeatable: IdempotentRequest | undefined;
  };
};

/** A step of a route that sets or reads the resource that the path names. */
export type TargetStep<Target> = MiddlewareHandler<Env & { Variables: { target: Target } }>;

/** The part of a request's context that does not depend on its route. */
export type RequestContext = Pick<Context<Env>, 'env' | 'get' | 'req'>;
