import type { DriverAnswer, DriverRequest } from '#test/model/driver.ts';
import { type Context, type Expected, invalid, LIMITS, notFound, planGate, type Route, refuse } from './answer.ts';
import { besideRoutes } from './beside.ts';
import { castingRoutes } from './casting.ts';
import { otherRoutes } from './exports.ts';
import { hookRoutes } from './hooks.ts';
import { at, check, isObject, type Json, text } from './kit.ts';
import type { SentMail } from './mails.ts';
import { organizerRoutes } from './organizer.ts';
import { publicRoutes } from './public.ts';
import { rollRoutes } from './roll.ts';
import { settingsRoutes } from './settings.ts';
import { roleOf, sharingRoutes } from './sharing.ts';
import {
  type Account,
  type Attempt,
  type Endpoint,
  type Event,
  frozen,
  HOUR,
  type Key,
  statusOf,
  type Voter,
} from './state.ts';

interface Stored {
  readonly fingerprint: string;
  readonly status: number;
  readonly body: unknown;
  readonly at: number;
  readonly until: number;
  readonly sure: boolean;
  readonly confirmOf: Event | undefined;
}
export interface ExpectedMail {
  readonly event: Event;
  readonly voter: Voter;
  readonly to: string;
  readonly withKey: boolean;
  /** The contract leaves open whether it is sent. */
  readonly sure: boolean;
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  ) ?? '';

/** The service, as the contract says it is. It is asked what it would answer, then told what was answered. */
export class Model {
  accounts: Account[] = [];
  keys = new Map<string, Key>();
  events: Event[] = [];
  attempts = new Map<string, Attempt>();
  mails: ExpectedMail[] = [];
  endpoints: Endpoint[] = [];
  /** By address. */
  sentTo = new Map<string, readonly SentMail[]>();
  stored = new Map<string, Stored>();
  /** Orders of shuffled ballots by event, seed and candidates. */
  readonly orders = new Map<string, string>();
  readonly wrongCodes: number[] = [];
  /** When anything was last changed. */
  changedAt = 0;
  /** Addresses of files, by their last part. */
  readonly links = new Map<string, { readonly until: number; readonly key: Key; readonly event: Event }>();
  private readonly routes: readonly Route[] = [
    // Must stand before the routes that accept any ID at this place of the path.
    ...besideRoutes,
    ...settingsRoutes,
    ...organizerRoutes,
    ...rollRoutes,
    ...publicRoutes,
    ...castingRoutes,
    ...sharingRoutes,
    ...hookRoutes,
    ...otherRoutes,
  ];
  private readonly used = new Map<string, number[]>();

  /** The same state once more: what is done to one isn't seen in the other. */
  clone(): Model {
    const { accounts, keys, events, attempts, endpoints, mails, sentTo, stored } = this;
    return Object.assign(
      new Model(),
      structuredClone({ accounts, keys, events, attempts, endpoints, mails, sentTo, stored }),
    );
  }

  find(reference: string): Event | undefined {
    return this.events.find(
      (one) => !one.deleted && (one.id === reference || one.code.toLowerCase() === reference.toLowerCase()),
    );
  }

  /** Every answer that the contract allows for this request now. */
  expect(request: DriverRequest, now: number): Expected[] {
    // A start that came is decided by what was stored then.
    for (const event of this.events) statusOf(event, now);
    const [path = '', search = ''] = request.path.split('?');
    const query = new URLSearchParams(search);
    const parts = path.split('/').slice(1).map(decodeURIComponent);
    const matching = this.routes.filter((route) => matches(route.path, parts));
    if (matching.length === 0) return [notFound()];
    const route = matching.find((one) => one.method === request.method);
    if (route === undefined) return [refuse(400, 'bad_request')];
    if (route.scope === 'none') {
      const answers = route.handle(this, openContext(request, now, query, parts.at(-1) ?? ''));
      // Without a key, an address has so many requests a minute.
      return [...answers, refuse(429, 'rate_limited')];
    }
    const key = request.key === undefined ? undefined : this.keys.get(request.key);
    if (key === undefined || key.revoked || (key.expiresAt !== null && now >= key.expiresAt))
      return [refuse(401, 'unauthorized')];
    const limited = this.limited(key);
    const expected = this.expectAuthorized(request, now, route, parts, query, key);
    return limited ? [...expected, refuse(429, 'rate_limited')] : expected;
  }

  private expectAuthorized(
    request: DriverRequest,
    now: number,
    route: Route,
    parts: readonly string[],
    query: URLSearchParams,
    key: Key,
  ): Expected[] {
    if (route.scope !== 'any' && !key.scopes.includes(route.scope)) {
      const observes = key.scopes.includes('observe') && /(stats|results|rounds)$|\/log\//.test(route.path);
      if (!observes) return [refuse(403, 'insufficient_scope')];
    }
    const name = request.headers?.['idempotency-key'];
    if (name !== undefined && request.method === 'POST' && !/^[\x21-\x7e]{1,255}$/.test(name))
      return [refuse(400, 'bad_request', undefined, { fields: ['Idempotency-Key'] })];
    const allowed = route.query ?? [];
    const names = [...query.keys()];
    if (names.some((one) => !allowed.includes(one)) || new Set(names).size !== names.length)
      return [refuse(400, 'bad_request')];
    const limit = query.get('limit');
    if (limit !== null && !(/^[0-9]+$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 200))
      return [refuse(400, 'bad_request')];
    const segments = route.path.split('/').slice(1);
    const reference = parts[segments.indexOf(':e')];
    const event = reference === undefined ? undefined : this.find(reference);
    if (segments.includes(':e')) {
      if (event === undefined || roleOf(event, key.account) === undefined) return [notFound()];
      if (key.eventId !== undefined && key.eventId !== event.id) return [notFound()];
      if (route.scope === 'vote' && statusOf(event, now) === 'draft') return [notFound()];
    }
    const body = request.body;
    const context: Context = {
      request,
      now,
      key,
      event: event as Event,
      query,
      body: isObject(body) ? body : {},
      id: parts[segments.indexOf(':id')] ?? '',
    };
    if (route.exists !== undefined && !route.exists(context)) return [notFound()];
    if (route.hasRecord !== undefined && !route.hasRecord(this, context)) return [notFound()];
    const role = event === undefined ? 'owner' : roleOf(event, key.account);
    const gated = route.gate?.(this, context) ?? [];
    // Voting is writing (completions 2.5); a check of eligibility is not, nor is a proof.
    const votes = route.scope === 'vote' && route.method !== 'GET' && !/\/(voter\/check|log\/proof)$/.test(route.path);
    if ((role === 'viewer' && (route.scope === 'write' || votes)) || (role !== 'owner' && route.owner === true))
      // A business is linked under the owner's plan, which may refuse it first.
      return [
        refuse(403, 'forbidden', 'role'),
        ...gated,
        ...(route.method === 'PUT' ? planGate('paid')(this, context) : []),
      ];
    if (gated.length > 0) return gated;
    const storedName = `${key.key} ${name ?? ''}`;
    let doubt: Expected[] = [];
    if (name !== undefined && request.method === 'POST') {
      const stored = this.stored.get(storedName);
      const fingerprint = this.fingerprint(route, parts, event, query, body);
      if (stored !== undefined && now < stored.until) {
        const answer = this.replay(stored, fingerprint, now);
        // What was stored of a secret ballot goes with the event's key, some time after the result is final: then it is a new request.
        const went = event?.type === 'election' && parts.includes('ballot') && frozen(event, now);
        if (stored.sure && !went) return [answer];
        doubt = [answer];
      }
    }
    if (['POST', 'PATCH', 'PUT'].includes(request.method) && body !== undefined && !isObject(body))
      return [refuse(422, 'validation_error', undefined, { store: 'no' }), ...doubt];
    const answers = misshapen(route, context.body) ?? route.handle(this, context);
    const plain = name === undefined ? answers : answers.map((one) => ({ ...one, replayed: false }));
    if (name === undefined || request.method !== 'POST') return plain;
    const fingerprint = this.fingerprint(route, parts, event, query, body);
    const kept = plain.map((one) => this.keeping(one, storedName, fingerprint, now, route, context));
    return [...kept, ...doubt];
  }

  private fingerprint(
    route: Route,
    parts: readonly string[],
    event: Event | undefined,
    query: URLSearchParams,
    body: unknown,
  ): string {
    const place = parts.map((part, index) => (route.path.split('/')[index + 1] === ':e' ? (event?.id ?? part) : part));
    return `${route.method} ${place.join('/')} ${[...query].toSorted().join('&')} ${canonical(body)}`;
  }

  private replay(stored: Stored, fingerprint: string, now: number): Expected {
    if (stored.fingerprint !== fingerprint) return refuse(422, 'idempotency_mismatch');
    let body = stored.body;
    const event = stored.confirmOf;
    // In a secret event, what a ballot said isn't told again once the event is over, stored answers included.
    if (
      event !== undefined &&
      event.type === 'election' &&
      statusOf(event, now) === 'closed' &&
      isObject(at(body, 'data'))
    )
      body = { data: { ...(at(body, 'data') as Json), votes: [] } };
    if (stored.status >= 400 && stored.status !== 402) {
      const code = text(at(body, 'error', 'code'));
      const reason = at(body, 'error', 'details', 'reason');
      return { status: stored.status, code, ...(typeof reason === 'string' ? { reason } : {}), replayed: true };
    }
    return { status: stored.status, body, replayed: true };
  }

  /** Wraps what an answer does, so that the answer is kept under its key. */
  private keeping(
    expected: Expected,
    name: string,
    fingerprint: string,
    now: number,
    route: Route,
    context: Context,
  ): Expected {
    const kept = expected.store ?? (expected.status === 429 || expected.status >= 500 ? 'no' : 'yes');
    if (kept === 'no') return expected;
    const before = expected.apply;
    const confirmOf = route.path.endsWith('/ballot/confirm') ? context.event : undefined;
    return {
      ...expected,
      apply: (body) => {
        before?.(body);
        // The page of provider_a ends after an hour; an attempt of provider_b is given up after a day.
        const short = expected.status === 402 && at(body, 'data', 'provider') === 'provider_a';
        const until = now + (short ? HOUR : 24 * HOUR);
        this.stored.set(name, {
          fingerprint,
          status: expected.status,
          body,
          at: now,
          until,
          sure: kept === 'yes',
          confirmOf,
        });
      },
    };
  }

  /** Whether a 429 could be right: many requests with this key within the last minute of real time. */
  private limited(key: Key): boolean {
    const now = performance.now();
    const times = (this.used.get(key.key) ?? []).filter((one) => one > now - 60_000);
    times.push(now);
    this.used.set(key.key, times);
    return times.length > LIMITS[key.account.plan].perMinute / 6 - 3;
  }

  /** Tells the model what was answered, and what of the allowed answers that was. */
  settle(expected: Expected, answer: DriverAnswer): void {
    expected.apply?.(answer.body);
  }
}

/** What needs no key knows neither key nor event. */
function openContext(request: DriverRequest, now: number, query: URLSearchParams, id: string): Context {
  return { request, now, query, body: {}, id } as unknown as Context;
}
function misshapen({ method, body: spec }: Route, body: Json): Expected[] | undefined {
  const issues = spec === undefined ? [] : check(body, spec);
  if (issues.length > 0) return [invalid(issues)];
  const isNothing = spec !== undefined && method === 'PATCH' && Object.keys(body).length === 0;
  return isNothing ? [refuse(422, 'validation_error')] : undefined;
}
function matches(pattern: string, parts: readonly string[]): boolean {
  const wanted = pattern.split('/').slice(1);
  return wanted.length === parts.length && wanted.every((one, index) => one.startsWith(':') || one === parts[index]);
}
