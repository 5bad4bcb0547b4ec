import type { IncomingMessage } from 'node:http';
import { sql } from 'drizzle-orm';
import { listUnnoted, noteGuestCell } from '#src/accounts/guests.ts';
import { valuesOf } from '#src/database/client.ts';
import { isSilent, otherCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { summariseFault } from '#src/platform/log.ts';
import { CellCallers } from './find-callers.ts';
import { Gate } from './gate.ts';
import { HeldAccounts } from './hold-requests.ts';

/** How long a move waits for running requests. A longer request waits for the move's locks, and then finds no row to change. */
export const DRAIN_MS = 2_000;

/** What a process with several cells runs before their apps: it finds the caller and the cell, and holds requests of moving accounts. */
export function openCells(deps: Deps) {
  const callers = new CellCallers(deps.cells);
  const held = new HeldAccounts();
  const hold = async (cell: Deps, payload: string): Promise<void> => {
    const [account = '', ms = '0'] = payload.split(' ');
    held.hold(account, Number(ms));
    await held.untilIdle(account, DRAIN_MS);
    await cell.db.execute(sql`SELECT pg_notify('account_held', ${`${account} ${cell.processId.toString('hex')}`})`);
  };
  const forget = (account: string): void => {
    for (const cell of deps.cells.values()) {
      // The new cell may have cached the account's keys and events as unknown.
      cell.authenticator.forgetAll();
      cell.events.forgetAll();
    }
    callers.forget(account);
    held.release(account);
  };
  return {
    callers,
    hasLeft: (request: IncomingMessage) => held.hasLeft(request),
    onNotification: {
      guest_changed: (_cell: Deps, account: string) => callers.forget(account),
      account_moving: (cell: Deps, payload: string) =>
        void hold(cell, payload).catch((fault: unknown) =>
          deps.log.warn({ fault: summariseFault(fault) }, 'the move of an account was not answered'),
        ),
      account_moved: (_cell: Deps, account: string) => forget(account),
    },
    openGate: (main: ConstructorParameters<typeof Gate>[1], rateLimiter: RateLimiter): Gate =>
      new Gate({ callers, held, rateLimiter, trustProxy: deps.config.trustProxy }, main),
  };
}

/** Raises an alarm when a cell falls silent. @returns the function to call every second */
export function watchCells(deps: Deps): () => Promise<void> {
  const silent = new Set<string>();
  return async () => {
    for (const cell of [deps, ...otherCells(deps)]) {
      const { cell: name, log } = cell;
      if (isSilent(cell) === silent.has(name)) continue;
      if (silent.delete(name)) log.warn({ cell: name }, 'the cell answers again');
      else {
        silent.add(name);
        log.error({ alarm: 'cell_silent', cell: name }, 'a cell does not answer: its accounts are refused');
      }
    }
  };
}

/**
 * Stores in the cells of guests where events are shared with them. Call before a cell is served: what came back from a backup lacks what was
 * stored since, and a guest's list would lack events. A cell that cannot be asked must not keep the others from this.
 */
export async function noteGuests(cells: readonly Deps[]): Promise<void> {
  const note = async (host: Deps, home: Deps): Promise<void> => {
    const guests = await valuesOf<string>(
      host.db,
      sql`SELECT DISTINCT i.account_id FROM event_invites i JOIN voting_events e ON e.id = i.voting_event_id
        WHERE e.deleted_at IS NULL AND i.account_id IS NOT NULL AND i.account_id NOT IN (SELECT id FROM accounts)`,
    );
    for (const guest of await listUnnoted(home.db, guests, host.cell)) await noteGuestCell(home.db, guest, host.cell);
  };
  for (const host of cells)
    for (const home of cells.filter((cell) => cell !== host))
      await note(host, home).catch((fault: unknown) =>
        home.log.warn({ cell: host.cell, fault: summariseFault(fault) }, 'guests of events were not looked for'),
      );
}
