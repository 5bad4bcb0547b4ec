import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
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

/** What a log line says of who sent a request. */
interface Known {
  /** As far as the configured proxies can be believed; IPv6 by its /64. */
  readonly address?: string | undefined;
  readonly accountId?: string;
  /** The beginning and the end of the key. */
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
  /** Where long bodies stand while they come and wait. */
  readonly bodyFolder: string;
  /** Called with the event that a request was about, once its change was committed. */
  readonly changed: (eventId: string) => void;
}

interface Repeatable {
  readonly request: IdempotentRequest;
}

/** What a request carries from one middleware to the next. */
export type Env = {
  Bindings: HttpBindings;
  Variables: {
    service: Service;
    requestId: string;
    life: RequestLife;
    requestTarget: RequestTarget;
    /** Headers of the answer, wherever it comes from. */
    headers: Record<string, string>;
    known: Known;
    /** Not there yet where an address is unknown. */
    operation: Operation;
    caller: Caller;
    idempotencyKey: string | undefined;
    query: unknown;
    /** What the path names: the event with the caller's role in it, the row. */
    target: unknown;
    json: JsonBody | undefined;
    repeatable: Repeatable | undefined;
  };
};

/** A request as handlers pass it on: whatever its route added to it, it has this. */
export type RequestContext = Pick<Context<Env>, 'env' | 'get' | 'req'>;
