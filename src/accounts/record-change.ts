import type { Transaction } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { codePointLength } from '#src/platform/text.ts';
import { auditEntries } from './tables.ts';

export interface Change {
  readonly accountId: string;
  readonly votingEventId: string | null;
  /** The key that asked for it, or null where the service itself acted. */
  readonly keyId: string | null;
  /** For instance `voting_event.updated`. */
  readonly action: string;
  /** The ID of what was changed. */
  readonly resource: string;
  readonly before?: Record<string, unknown>;
  readonly after?: Record<string, unknown>;
}

/** Longer values are stored as length and hash: enough to see a change, and to compare a text that somebody kept. */
const MAX_VALUE_LENGTH = 320;

function shortenedValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (text.length <= MAX_VALUE_LENGTH) return value;
  return { length: codePointLength(text), sha256: sha256(text).toString('hex') };
}

/** The fields of one side of a change, each of a bounded size. */
export function shortened(fields: Record<string, unknown> | null | undefined): Record<string, unknown> | null {
  if (fields === null || fields === undefined) return null;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortenedValue(value)]));
}

/** Writes a change into the audit trail, in the transaction of the change. Never pass a ballot, a key or a code. */
export async function recordChange(
  tx: Transaction,
  deps: { readonly ids: Ids; readonly clock: Clock },
  change: Change,
): Promise<void> {
  await tx.insert(auditEntries).values({
    id: deps.ids.sortable('aud'),
    accountId: change.accountId,
    votingEventId: change.votingEventId,
    keyId: change.keyId,
    action: change.action,
    resource: change.resource,
    before: shortened(change.before),
    after: shortened(change.after),
    createdAt: deps.clock.now(),
  });
}

/** Fields left out of the trail: they change with every update, or are internal. */
const NOT_AUDITED = new Set([
  'updatedAt',
  'definitionVersion',
  'announcedStatus',
  'tieSeed',
  'nameKey',
  'number',
  'deletedAt',
  'copyDone',
  'ballotKey',
]);

/** The fields that differ between two states of a row, for the audit trail. */
export function differenceOf(
  before: object,
  after: object,
): { before: Record<string, unknown>; after: Record<string, unknown> } {
  const states = { before: new Map(Object.entries(before)), after: new Map(Object.entries(after)) };
  const names = [...states.after.keys()].filter(
    (name) =>
      !NOT_AUDITED.has(name) && JSON.stringify(states.before.get(name)) !== JSON.stringify(states.after.get(name)),
  );
  const pick = (state: ReadonlyMap<string, unknown>) =>
    Object.fromEntries(names.map((name) => [name, state.get(name) ?? null]));
  return { before: pick(states.before), after: pick(states.after) };
}
