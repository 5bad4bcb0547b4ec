import type { IncomingMessage } from 'node:http';
import { hashOfKey, unauthorized } from '#src/accounts/authenticate.ts';
import { listGuestCells } from '#src/accounts/guests.ts';
import { firstOfCells, requireArrived } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import type { Authentication } from '#src/http/authenticate.ts';
import type { Caller } from '#src/http/caller.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { RecentMap } from '#src/platform/recent-map.ts';

/** As long as the cache of a cell trusts a key. */
const KEPT_MS = 10_000;
const MOST_KEPT = 20_000;

/** The cell that holds an account, and the cells with events that may be shared with it. */
export interface Home {
  readonly accountId: string;
  readonly cell: Deps;
  readonly guestCells: readonly Deps[];
}

interface Kept extends Home {
  readonly readAt: number;
}

const isUnauthorized = (fault: unknown): boolean => fault instanceof ApiError && fault.code === 'unauthorized';

/** Finds the caller of a key in any cell. A silent cell delays only keys that no other cell has. */
export class CellCallers implements Authentication {
  readonly #cells: ReadonlyMap<string, Deps>;
  /** By the hash of a key. */
  readonly #homes = new RecentMap<Kept>(MOST_KEPT);
  readonly #known = new WeakMap<IncomingMessage, Promise<Caller>>();

  constructor(cells: ReadonlyMap<string, Deps>) {
    this.#cells = cells;
  }

  /** @throws ApiError `unauthorized` if every cell was asked and none has the key; the fault of a cell that could not be asked */
  async authenticate(authorization: string | undefined, mayAsk: () => boolean): Promise<Caller> {
    const hash = hashOfKey(authorization);
    if (hash === undefined) throw unauthorized();
    const kept = this.#homes.get(hash);
    // Asking all cells counts as one look-up for `mayAsk`.
    let may: boolean | undefined;
    const mayAskOnce = (): boolean => (may ??= mayAsk());
    const ask = async (cell: Deps): Promise<{ cell: Deps; caller: Caller } | undefined> => {
      try {
        return { cell, caller: await cell.authenticator.authenticate(authorization, mayAskOnce) };
      } catch (fault) {
        if (isUnauthorized(fault)) return undefined;
        throw fault;
      }
    };
    // If the last known cell does not know the key, the account may have moved: ask all cells.
    const askAll = () => firstOfCells([...this.#cells.values()], ask);
    let found = (kept && (await ask(kept.cell))) ?? (await askAll());
    // Only if `mayAsk` let the cells query their databases: a flood of invented keys must cause no further queries.
    if (found === undefined && may === true) {
      await requireArrived([...this.#cells.values()], 'api_keys', 'hash', `\\x${hash}`);
      for (const { authenticator } of this.#cells.values()) authenticator.forget(hash);
      // Ask again: the account may have arrived in its new cell after that cell was asked.
      found = await askAll();
    }
    if (found === undefined) {
      this.#homes.delete(hash);
      throw unauthorized();
    }
    const { cell, caller } = found;
    if (kept?.cell !== cell || monotonicMs() - kept.readAt > KEPT_MS) {
      const names = await listGuestCells(cell.db, caller.accountId);
      const guestCells = names.flatMap((name) => (name === cell.cell ? [] : (this.#cells.get(name) ?? [])));
      this.#homes.set(hash, { accountId: caller.accountId, cell, guestCells, readAt: monotonicMs() });
    }
    const { guestCells = [] } = this.#homes.get(hash) ?? {};
    return guestCells.length === 0 ? caller : { ...caller, cells: [cell, ...guestCells].map((one) => one.cell) };
  }

  accountOf(authorization: string): string | undefined {
    return this.homeOf(authorization)?.accountId;
  }

  /** The home of a key that was just authenticated. */
  homeOf(authorization: string | undefined): Home | undefined {
    return this.#homes.get(hashOfKey(authorization) ?? '');
  }

  known(request: IncomingMessage): Promise<Caller> | undefined {
    return this.#known.get(request);
  }

  /** Stores the caller or the fault that was found for a request, for the app that serves the request. */
  settle(request: IncomingMessage, caller: Promise<Caller>): void {
    // Prevents an unhandled rejection: an app that refuses the request earlier never reads the fault.
    caller.catch(() => undefined);
    this.#known.set(request, caller);
  }

  /** Drops what is known of an account that moved or became a guest. */
  forget(accountId: string): void {
    for (const [hash, home] of this.#homes) if (home.accountId === accountId) this.#homes.delete(hash);
  }
}
