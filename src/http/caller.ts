import { refuse } from './refusals.ts';

export const SCOPES = ['read', 'write', 'vote', 'observe', 'log'] as const;
export type Scope = (typeof SCOPES)[number];

/** The sender of a request, as authentication found it. Only authentication makes one. */
export interface Caller {
  readonly keyId: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly plan: string;
  readonly scopes: readonly Scope[];
  /** Set for an observe and a log key: the one event that it may read. */
  readonly votingEventId: string | null;
  readonly keyName: string;
  readonly keyHint: string;
  readonly keyExpiresAt: number | null;
  readonly keyCreatedAt: number;
  /** Sustained requests a minute that the plan grants this key. */
  readonly requestsPerMinute: number;
}

/** In place of a key, where the operator's own commands ask: the audit trail then names no key. */
export const OPERATOR = 'operator';

/** Whether a request came without a key, to an operation that takes none or may take none. */
export const isKeyless = ({ keyId }: Caller): boolean => keyId === '';

/** What somebody may do with an event; each role may do all that those before it may. */
const ROLES = ['viewer', 'editor', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** What `find` says of the caller where a route is about an event. */
interface RoleHolder {
  readonly role: Role;
}

/**
 * The role that a route needs where it declares none: changing takes an editor, reading a viewer. Voting is changing, so
 * that the vote key of an account that may only look on casts nothing; what an observer's key may do is reading.
 */
export function roleFor(scope: Scope | readonly Scope[] | 'any' | 'none', method: string): Role {
  const scopes = [scope].flat();
  if (scopes.includes('write')) return 'editor';
  return scopes.includes('vote') && !scopes.includes('observe') && method !== 'GET' ? 'editor' : 'viewer';
}

function holdsRole(target: unknown): target is RoleHolder {
  if (typeof target !== 'object' || target === null) return false;
  return ROLES.some((role) => role === Reflect.get(target, 'role'));
}

/** Checks the role of who found an event; what belongs to an account alone has no roles. @throws ApiError 403 `forbidden`, reason `role` (completions 2.5) */
export function requireRole(needed: Role, target: unknown): void {
  if (!holdsRole(target) || ROLES.indexOf(target.role) >= ROLES.indexOf(needed)) return;
  throw refuse('role', { role: target.role, required: needed });
}
