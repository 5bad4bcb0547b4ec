import type { IncomingMessage } from 'node:http';
import { sql } from 'drizzle-orm';
import { hashOfKey, unauthorized } from '#src/accounts/authenticate.ts';
import { listGuestCells } from '#src/accounts/guests.ts';
import { isTrue } from '#src/database/client.ts';
import { CellSilent, firstOfCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import type { Authentication } from '#src/http/authenticate.ts';
import type { Caller } from '#src/http/caller.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { RecentMap } from '#src/platform/recent-map.ts';

/** As long as a cell's own cache believes a key. */
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

/** Finds the caller of a key in any cell. A cell that is silent holds up only the keys that no other cell has. */
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
    // All cells together count as one look-up.
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
    // The account may have moved since: all cells are asked where its last one does not know the key.
    const askAll = () => firstOfCells([...this.#cells.values()], ask);
    let found = (kept && (await ask(kept.cell))) ?? (await askAll());
    // Only where the databases were asked: floods of invented keys are not to be asked for.
    if (found === undefined && may === true) {
      const isArriving = await this.#isArriving(hash);
      for (const { authenticator } of this.#cells.values()) authenticator.forget(hash);
      if (isArriving) throw new CellSilent('the account of a key is between two cells');
      // Asked again: the account may have arrived after its new cell was asked.
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

  /** Whether a key that no cell has is of an account whose move was cut off after the switch: it is finished soon. */
  async #isArriving(hash: string): Promise<boolean> {
    const found = await firstOfCells([...this.#cells.values()], async ({ db }) =>
      (await isTrue(
        db,
        sql`SELECT EXISTS (SELECT FROM arriving_rows WHERE table_name = 'api_keys' AND content ->> 'hash' = ${`\\x${hash}`})`,
      ))
        ? true
        : undefined,
    );
    return found === true;
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

  /** Has the app take the caller, or answer the fault, that was found for a request. */
  settle(request: IncomingMessage, caller: Promise<Caller>): void {
    // An app that refuses the request before its caller matters never looks at the fault.
    caller.catch(() => undefined);
    this.#known.set(request, caller);
  }

  /** Drops what is known of an account that moved or became a guest. */
  forget(accountId: string): void {
    for (const [hash, home] of this.#homes) if (home.accountId === accountId) this.#homes.delete(hash);
  }
}
