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
