import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm';
import type { PlanName } from '#src/accounts/plans.ts';
import type { Database } from '#src/database/client.ts';
import type { Role } from '#src/http/role.ts';
import { isCode } from './repository.ts';
import { eventInvites, votingEvents } from './tables.ts';
import type { VotingEvent } from './types.ts';

/** An event as an account sees it. */
export interface EventAccess {
  readonly event: VotingEvent;
  readonly role: Role;
  readonly ownerPlan: PlanName;
}

const asker = sql.placeholder('accountId');
const reference = sql.placeholder('reference');

/** One row of another slice's table, by its key. */
const ownerPlan = sql<PlanName>`(SELECT a.plan FROM accounts a WHERE a.id = ${votingEvents.accountId})`;

/** One trip and unique indexes only: every request about an event begins here. Named, so that nothing is planned twice. */
function prepareStatements(db: Database) {
  const prepare = (column: typeof votingEvents.id | typeof votingEvents.codeKey, name: string) =>
    db
      .select({
        event: votingEvents,
        ownerPlan,
        sharedAs: eventInvites.role,
      })
      .from(votingEvents)
      .leftJoin(eventInvites, and(eq(eventInvites.votingEventId, votingEvents.id), eq(eventInvites.accountId, asker)))
      .where(
        and(
          eq(column, reference),
          isNull(votingEvents.deletedAt),
          or(eq(votingEvents.accountId, asker), isNotNull(eventInvites.role)),
        ),
      )
      .prepare(name);
  const prepareOpen = (column: typeof votingEvents.id | typeof votingEvents.codeKey, name: string) =>
    db
      .select({ event: votingEvents, ownerPlan })
      .from(votingEvents)
      .where(and(eq(column, reference), isNull(votingEvents.deletedAt), eq(votingEvents.logOpen, true)))
      .prepare(name);
  return {
    byId: prepare(votingEvents.id, 'find_event_access_by_id'),
    byCode: prepare(votingEvents.codeKey, 'find_event_access_by_code'),
    openById: prepareOpen(votingEvents.id, 'find_open_event_by_id'),
    openByCode: prepareOpen(votingEvents.codeKey, 'find_open_event_by_code'),
  };
}

const prepared = new WeakMap<Database, ReturnType<typeof prepareStatements>>();

function statementsOf(db: Database): ReturnType<typeof prepareStatements> {
  const kept = prepared.get(db);
  if (kept !== undefined) return kept;
  const fresh = prepareStatements(db);
  prepared.set(db, fresh);
  return fresh;
}

/** The event that an ID or code names, if it is the account's own or shared with it by an accepted invite (completions 2.2). */
export async function findAccess(db: Database, accountId: string, named: string): Promise<EventAccess | undefined> {
  const statements = statementsOf(db);
  const [row] = isCode(named)
    ? await statements.byCode.execute({ accountId, reference: named.toLowerCase() })
    : await statements.byId.execute({ accountId, reference: named });
  if (row === undefined) return undefined;
  const { event, ownerPlan, sharedAs } = row;
  return { event, ownerPlan, role: event.accountId === accountId ? 'owner' : (sharedAs ?? 'viewer') };
}

/** The event that an ID or code names, of whichever account, if its log answers without a key. */
export async function findOpenAccess(db: Database, named: string): Promise<EventAccess | undefined> {
  const statements = statementsOf(db);
  const [row] = isCode(named)
    ? await statements.openByCode.execute({ reference: named.toLowerCase() })
    : await statements.openById.execute({ reference: named });
  return row === undefined ? undefined : { ...row, role: 'viewer' };
}
