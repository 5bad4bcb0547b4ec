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
  /** The only event that an observe or log key may read; null for other keys. */
  readonly votingEventId: string | null;
  readonly keyName: string;
  readonly keyHint: string;
  readonly keyExpiresAt: number | null;
  readonly keyCreatedAt: number;
  /** Sustained requests a minute that the plan grants this key. */
  readonly requestsPerMinute: number;
  /** The account's cell, then the cells with events that may be shared with it. Left out for an account that is no guest. */
  readonly cells?: readonly string[];
}

/** The key ID of the operator's own commands. The audit trail names no key for this ID. */
export const OPERATOR = 'operator';

/** The account ID of requests without a key. */
export const STRANGER = '';

/** Whether a request came without an API key, to an operation that requires none. */
export const isKeyless = ({ keyId }: Caller): boolean => keyId === '';

/** The roles in an event; each role includes the rights of the roles before it. */
const ROLES = ['viewer', 'editor', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** Editor for changes, viewer for reads. Voting is a change; an operation that accepts an observe key is a read. */
export function roleFor(scope: Scope | readonly Scope[] | 'any' | 'none', method: string): Role {
  const scopes = [scope].flat();
  if (scopes.includes('write')) return 'editor';
  return scopes.includes('vote') && !scopes.includes('observe') && method !== 'GET' ? 'editor' : 'viewer';
}

/** Checks the caller's role in a target; a target without a role passes. @throws ApiError 403, reason `role` (completions 2.5) */
export function requireRole(needed: Role, target: unknown): void {
  const role = ROLES.find((one) => one === Reflect.get(Object(target), 'role'));
  if (role === undefined || ROLES.indexOf(role) >= ROLES.indexOf(needed)) return;
  throw refuse('role', { role, required: needed });
}
