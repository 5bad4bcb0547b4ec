import type { DriverAnswer, DriverRequest } from '#test/model/driver.ts';
import { at, type Difference, differences, type Json, type Spec, short } from './kit.ts';
import type { Model } from './model.ts';
import type { Event, Key } from './state.ts';

/** One answer that the contract allows. Several are given where the contract leaves it open; the first that fits counts. */
export interface Expected {
  readonly status: number;
  readonly code?: string;
  /** Absent: anything. */
  readonly reason?: string;
  /** `details.field` is one of these. */
  readonly fields?: readonly string[];
  /** `details.issues` names exactly these fields, in any order. */
  readonly issues?: readonly string[];
  readonly details?: Json;
  readonly body?: unknown;
  readonly replayed?: boolean;
  /** Where a redirect leads. */
  readonly location?: RegExp;
  /** What the request does to the service, told what it answered. */
  readonly apply?: (body: unknown) => void;
  /** Under an Idempotency-Key: kept, not kept, or left open. */
  readonly store?: 'yes' | 'no' | 'maybe';
  /** The contract forbids it; the model knows what it does all the same, so that a history can go on after the difference. */
  readonly wrong?: boolean;
  /** After it, model and service have nothing to say to each other any more. */
  readonly ends?: boolean;
}

export interface Context {
  readonly request: DriverRequest;
  readonly now: number;
  readonly key: Key;
  readonly event: Event;
  readonly query: URLSearchParams;
  readonly body: Json;
  /** The last part of the path, where the route has one. */
  readonly id: string;
}

export interface Route {
  readonly method: string;
  /** `:e` is an event, `:id` a record of it. */
  readonly path: string;
  readonly scope: 'read' | 'write' | 'vote' | 'any' | 'none';
  /** Only the owner of the event may. */
  readonly owner?: boolean;
  readonly hasRecord?: (model: Model, context: Context) => boolean;
  readonly query?: readonly string[];
  /** Whether the record exists, for `:id`. */
  readonly exists?: (context: Context) => boolean;
  /** What a body may hold: a wrong one never reaches the handler. A PATCH of nothing is refused as well. */
  readonly body?: Spec;
  /** Refusals of role and plan: before the look-up of an Idempotency-Key and the body. */
  readonly gate?: (model: Model, context: Context) => Expected[];
  readonly handle: (model: Model, context: Context) => Expected[];
}
/** @param more what only some routes have: a known query, a look-up, a gate */
export function route(
  method: string,
  path: string,
  scope: Route['scope'],
  handle: Route['handle'],
  more: Partial<Route> = {},
): Route {
  return { method, path, scope, handle, ...more };
}

export function ok(status: number, data?: unknown, apply?: (body: unknown) => void): Expected {
  return { status, ...(data === undefined ? {} : { body: { data } }), ...(apply ? { apply } : {}) };
}
export function listed(rows: unknown): Expected {
  return { status: 200, body: { data: rows, nextCursor: null } };
}
export function refuse(status: number, code: string, reason?: string, more: Partial<Expected> = {}): Expected {
  return { status, code, ...(reason === undefined ? {} : { reason }), ...more };
}
export const notFound = (): Expected => refuse(404, 'not_found');
export const conflict = (reason: string, more: Partial<Expected> = {}): Expected =>
  refuse(409, 'conflict', reason, more);
export const forbidden = (reason: string, more: Partial<Expected> = {}): Expected =>
  refuse(403, 'forbidden', reason, more);
/** A body that lacks what the event's settings ask for. */
export const lacking = (fields: readonly string[]): Expected =>
  refuse(422, 'validation_error', undefined, { fields, store: 'maybe' });
/** A body that is wrong whatever the service's state: never kept under an Idempotency-Key. */
export const invalid = (fields: readonly string[]): Expected =>
  refuse(422, 'validation_error', undefined, { fields, store: 'no' });
/** A body that is wrong because of what is stored. */
export const unfit = (fields: readonly string[], reason?: string): Expected =>
  refuse(422, 'validation_error', reason, { fields, store: 'maybe' });

/** What a service that doesn't refuse would do. */
export const wrongly = (expected: Expected): Expected => ({ ...expected, wrong: true });

export function fits(expected: Expected, answer: DriverAnswer): boolean {
  if (expected.status !== answer.status) return false;
  if (expected.location !== undefined && !expected.location.test(answer.headers['location'] ?? '')) return false;
  if (expected.code !== undefined && at(answer.body, 'error', 'code') !== expected.code) return false;
  if (expected.reason !== undefined && at(answer.body, 'error', 'details', 'reason') !== expected.reason) return false;
  if (expected.fields !== undefined) {
    const field = at(answer.body, 'error', 'details', 'field');
    if (!expected.fields.some((one) => one === field)) return false;
  }
  if (expected.issues !== undefined) {
    const issues = at(answer.body, 'error', 'details', 'issues');
    const got = Array.isArray(issues) ? new Set(issues.map((one) => String(at(one, 'field')))) : new Set<string>();
    const wanted = new Set(expected.issues);
    if (got.size !== wanted.size || [...wanted].some((one) => !got.has(one))) return false;
  }
  if (expected.details !== undefined && differences(expected.details, at(answer.body, 'error', 'details')).length > 0)
    return false;
  if (expected.replayed === true && answer.headers['idempotent-replayed'] !== 'true') return false;
  return !(expected.replayed === false && answer.headers['idempotent-replayed'] === 'true');
}

export function describe(expected: Expected): string {
  const parts: string[] = [String(expected.status)];
  if (expected.code !== undefined) parts.push(expected.code);
  if (expected.reason !== undefined) parts.push(`reason ${expected.reason}`);
  if (expected.issues !== undefined) parts.push(`issues {${[...new Set(expected.issues)].join(', ')}}`);
  else if (expected.fields !== undefined) parts.push(`field ${expected.fields.slice(0, 4).join(' or ')}`);
  if (expected.details !== undefined) parts.push(short(expected.details));
  if (expected.replayed === true) parts.push('replayed');
  return parts.join(' ');
}
export function describeAnswer(answer: DriverAnswer): string {
  const error = at(answer.body, 'error');
  if (error === undefined)
    return `${answer.status}${answer.headers['idempotent-replayed'] === 'true' ? ' replayed' : ''}`;
  const reason = at(error, 'details', 'reason');
  const field = at(error, 'details', 'field');
  const issues = at(error, 'details', 'issues');
  const fields = Array.isArray(issues) ? issues.map((one) => String(at(one, 'field'))) : [];
  return [
    String(answer.status),
    String(at(error, 'code')),
    ...(reason === undefined ? [] : [`reason ${String(reason)}`]),
    ...(field === undefined
      ? []
      : [fields.length > 1 ? `issues {${[...new Set(fields)].join(', ')}}` : `field ${String(field)}`]),
    ...(answer.status === 500 ? [String(at(error, 'message'))] : []),
  ].join(' ');
}

export interface Finding {
  readonly operation: string;
  readonly kind: string;
  readonly expected: string;
  readonly got: string;
  readonly differences: readonly Difference[];
  /** The state of model and service may differ from here on. */
  readonly fatal: boolean;
}

export const LIMITS = {
  free: { events: 3, voters: 100, paid: false, dataExport: false, perMinute: 120 },
  pro: { events: 100, voters: 50_000, paid: true, dataExport: true, perMinute: 1200 },
  enterprise: { events: 10_000, voters: 10_000_000, paid: true, dataExport: true, perMinute: 12_000 },
} as const;
export const planGate =
  (feature: 'dataExport' | 'paid') =>
  (_: unknown, { event }: Context): Expected[] =>
    LIMITS[event.account.plan][feature] ? [] : [forbidden('plan_feature')];
