import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { noteGuestKey } from '#src/accounts/guests.ts';
import { firstOfCells, requireServed } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { readAddress, WrongKeys } from '#src/http/authenticate.ts';
import type { Caller } from '#src/http/caller.ts';
import type { Env } from '#src/http/env.ts';
import { accountMoves } from '#src/http/errors.ts';
import { isOverQuota, operationAt } from '#src/http/middleware.ts';
import { type Operation, operationsOf, placeOfEvent } from '#src/http/operation.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { valuesOf } from '#src/http/request-headers.ts';
import { parseRequestTarget } from '#src/http/request-target.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import type { CellCallers, Home } from './find-callers.ts';
import type { HeldAccounts } from './hold-requests.ts';

/** How long a request waits for the end of its account's move. */
const HELD_MS = 2_000;
const MOST_GUESTS = 10_000;

interface Front {
  readonly deps: Deps;
  readonly app: Hono<Env>;
  /** By their names: each asks the cell of its app. */
  readonly operations: ReadonlyMap<string, Operation>;
  readonly find: (method: string, path: string) => Operation | undefined;
}

/** Where a request goes, and the accounts whose move it must not run into. */
interface Route {
  readonly cell: Deps;
  readonly accounts: readonly string[];
}

interface GateOptions {
  readonly callers: CellCallers;
  readonly held: HeldAccounts;
  readonly rateLimiter: RateLimiter;
  readonly trustProxy: number;
}

/** Sends each request to the app of the cell that holds what it is about. */
export class Gate {
  readonly #options: GateOptions;
  readonly #keys: WrongKeys;
  readonly #fronts = new Map<string, Front>();
  /** Guests that this process has made known, by cell and key. */
  readonly #guests = new RecentMap<true>(MOST_GUESTS);
  readonly #main: Front;

  constructor(options: GateOptions, main: Pick<Front, 'deps' | 'app'>) {
    this.#options = options;
    this.#keys = new WrongKeys(options.callers, options.rateLimiter);
    this.#main = this.add(main);
  }

  add({ deps, app }: Pick<Front, 'deps' | 'app'>): Front {
    const operations = operationsOf(app);
    const named = new Map([...operations.values()].map((one) => [one.operationId, one]));
    const find = (method: string, path: string) => operationAt(app, operations, method, path);
    const front = { deps, app, operations: named, find };
    this.#fronts.set(deps.cell, front);
    return front;
  }

  async fetch(request: Request, env: HttpBindings): Promise<Response> {
    const { callers, held } = this.#options;
    const operation = this.#main.find(request.method, this.#main.app.getPath(request));
    if (operation === undefined || operation.unlimited === true) return this.#main.app.fetch(request, env);
    let front = this.#main;
    let leave = (): void => undefined;
    try {
      const { cell, accounts } = await this.#routeOf(operation, env.incoming);
      front = this.#frontOf(cell);
      leave = held.enter(accounts);
    } catch (fault) {
      // Any app gives the answer its shape.
      callers.settle(env.incoming, Promise.reject(fault));
    }
    try {
      return await front.app.fetch(request, env);
    } finally {
      leave();
    }
  }

  #frontOf(cell: Deps): Front {
    const front = this.#fronts.get(requireServed(cell).cell);
    if (front === undefined) throw new Error(`cell ${cell.cell} has no app`);
    return front;
  }

  async #routeOf(operation: Operation, incoming: IncomingMessage): Promise<Route> {
    const address = readAddress(incoming, this.#options.trustProxy);
    const [authorization] = valuesOf(incoming.rawHeaders, 'authorization');
    const { segments } = parseRequestTarget(incoming.url ?? '');
    const isOpen = operation.scope === 'none' || (operation.keyless === true && authorization === undefined);
    if (isOpen) return { cell: await this.#findOpen(operation, segments, address), accounts: [] };
    return this.#ofCaller(operation, segments, incoming, authorization, address);
  }

  /** The cell with what a request without a key is about; the main one if none has it. */
  async #findOpen(operation: Operation, segments: readonly string[], address: string): Promise<Deps> {
    const main = this.#main.deps;
    const place = placeOfEvent(operation);
    const { operationId, isHere } = operation;
    if ((place < 0 && isHere === undefined) || isOverQuota(this.#options.rateLimiter, operation, address)) return main;
    const isIn = async (cell: Deps): Promise<boolean> =>
      place < 0
        ? (await this.#frontOf(cell)
            .operations.get(operationId)
            ?.isHere?.(segments.at(-1) ?? '')) === true
        : (await cell.events.findOpen(segments[place] ?? '', cell.clock.now())) !== undefined;
    const ask = async (cell: Deps) => ((await isIn(cell)) ? cell : undefined);
    return (await firstOfCells([...main.cells.values()], ask)) ?? main;
  }

  async #ofCaller(
    operation: Operation,
    segments: readonly string[],
    incoming: IncomingMessage,
    authorization: string | undefined,
    address: string,
  ): Promise<Route> {
    const { callers, held } = this.#options;
    const since = monotonicMs();
    for (;;) {
      const caller = await this.#keys.callerOf(authorization, address);
      const home = callers.homeOf(authorization);
      const place = placeOfEvent(operation);
      const own = { cell: home?.cell ?? this.#main.deps, accounts: [caller.accountId] };
      const found = home !== undefined && place >= 0 ? await findEvent(home, segments[place] ?? '') : undefined;
      const route = found ?? own;
      if (route.cell !== own.cell) await this.#introduce(route.cell, caller);
      // Nothing is awaited from here to `enter` that a notification of a move could come before.
      const moves = route.accounts.find((account) => held.isHeld(account));
      if (moves === undefined) {
        callers.settle(incoming, Promise.resolve(caller));
        return route;
      }
      if (!(await held.untilFree(moves, since + HELD_MS - monotonicMs()))) throw accountMoves();
    }
  }

  async #introduce(cell: Deps, caller: Caller): Promise<void> {
    const name = `${cell.cell} ${caller.keyId}`;
    if (this.#guests.get(name) === true) return;
    await noteGuestKey(cell.db, caller);
    this.#guests.set(name, true);
  }
}

/** The route to an event of an account, or one that is shared with it: the move of its owner concerns a guest, too. */
async function findEvent({ accountId, cell, guestCells }: Home, reference: string): Promise<Route | undefined> {
  const seenIn = async (one: Deps): Promise<Route | undefined> => {
    const found = await one.events.find(accountId, reference, one.clock.now());
    return found && { cell: one, accounts: [...new Set([accountId, found.event.accountId])] };
  };
  return (await seenIn(cell)) ?? firstOfCells(guestCells, seenIn);
}
