import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { noteGuestKey } from '#src/accounts/guests.ts';
import { firstOfCells, requireServed } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { readAddress, WrongKeys } from '#src/http/authenticate.ts';
import type { Caller } from '#src/http/caller.ts';
import type { Env } from '#src/http/env.ts';
import { isOverQuota, operationAt } from '#src/http/middleware.ts';
import { type Operation, operationsOf, placeOfEvent } from '#src/http/operation.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { accountMoves } from '#src/http/refusals.ts';
import { valuesOf } from '#src/http/request-headers.ts';
import { parseRequestTarget } from '#src/http/request-target.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import type { CellCallers, Home } from './find-callers.ts';
import { findOwner } from './find-cell.ts';
import type { HeldAccounts, Visit } from './hold-requests.ts';

/** How long a request waits for the end of its account's move. */
const HELD_MS = 2_000;
const MOST_GUESTS = 10_000;

interface Front {
  readonly deps: Deps;
  readonly app: Hono<Env>;
  readonly find: (method: string, path: string) => Operation | undefined;
}

interface Route extends Pick<Visit, 'homes'> {
  readonly cell: Deps;
}

interface GateOptions {
  readonly callers: CellCallers;
  readonly held: HeldAccounts;
  readonly rateLimiter: RateLimiter;
  readonly trustProxy: number;
}

/** Sends each request to the app of the cell that holds the requested object. */
export class Gate {
  readonly #options: GateOptions;
  readonly #keys: WrongKeys;
  readonly #fronts = new Map<string, Front>();
  /** Guests whose names and keys this process has stored, by cell and key. */
  readonly #guests = new RecentMap<true>(MOST_GUESTS);
  readonly #main: Front;

  constructor(options: GateOptions, main: Pick<Front, 'deps' | 'app'>) {
    this.#options = options;
    this.#keys = new WrongKeys(options.callers, options.rateLimiter);
    this.#main = this.add(main);
  }

  add({ deps, app }: Pick<Front, 'deps' | 'app'>): Front {
    const operations = operationsOf(app);
    const find = (method: string, path: string) => operationAt(app, operations, method, path);
    const front = { deps, app, find };
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
      const route = await this.#routeOf(operation, env.incoming);
      front = this.#frontOf(route.cell);
      leave = held.enter(env.incoming, route);
    } catch (fault) {
      // Every app can turn the fault into an answer.
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

  async #routeOf(operation: Operation, incoming: IncomingMessage): Promise<Route & Visit> {
    const { held } = this.#options;
    const address = readAddress(incoming, this.#options.trustProxy);
    const [authorization] = valuesOf(incoming.rawHeaders, 'authorization');
    const { segments } = parseRequestTarget(incoming.url ?? '');
    const isOpen = operation.scope === 'none' || (operation.keyless === true && authorization === undefined);
    const find = isOpen
      ? () => this.#findOpen(operation, segments, address)
      : () => this.#ofCaller(operation, segments, incoming, authorization, address);
    const cameAt = monotonicMs();
    for (;;) {
      const since = monotonicMs();
      const route = await find();
      // No `await` may come between this check and `enter`: a notification of a move could arrive in between.
      const moves = [...route.homes.keys()].find((account) => held.isHeld(account));
      if (moves === undefined) return { ...route, since };
      if (!(await held.untilFree(moves, cameAt + HELD_MS - monotonicMs()))) throw accountMoves();
    }
  }

  /** The route to the object of a request without a key; to the main cell if no cell has the object. */
  async #findOpen(operation: Operation, segments: readonly string[], address: string): Promise<Route> {
    const main = this.#main.deps;
    const place = placeOfEvent(operation);
    const about = operation.about?.(segments.at(-1) ?? '');
    const nowhere = { cell: main, homes: new Map() };
    if ((place < 0 && about === undefined) || isOverQuota(this.#options.rateLimiter, operation, address))
      return nowhere;
    const all = [...main.cells.values()];
    const ask = async (cell: Deps): Promise<{ account: string; cell: Deps } | undefined> => {
      const found = await cell.events.findOpen(segments[place] ?? '', cell.clock.now());
      return found && { account: found.event.accountId, cell };
    };
    const found = await (about === undefined ? firstOfCells(all, ask) : findOwner(all, about));
    return found === undefined ? nowhere : { cell: found.cell, homes: new Map([[found.account, found.cell]]) };
  }

  async #ofCaller(
    operation: Operation,
    segments: readonly string[],
    incoming: IncomingMessage,
    authorization: string | undefined,
    address: string,
  ): Promise<Route> {
    const { callers } = this.#options;
    const caller = await this.#keys.callerOf(authorization, address);
    callers.settle(incoming, Promise.resolve(caller));
    const home = callers.homeOf(authorization);
    const place = placeOfEvent(operation);
    const own = home?.cell ?? this.#main.deps;
    const found = home !== undefined && place >= 0 ? await findEvent(home, segments[place] ?? '') : undefined;
    if (found !== undefined && found.cell !== own) await this.#introduce(found.cell, caller);
    return found ?? { cell: own, homes: new Map([[caller.accountId, own]]) };
  }

  async #introduce(cell: Deps, caller: Caller): Promise<void> {
    const name = `${cell.cell} ${caller.keyId}`;
    if (this.#guests.get(name) === true) return;
    await noteGuestKey(cell.db, caller);
    this.#guests.set(name, true);
  }
}

/** The route to an event of an account, or to an event shared with it. A guest's request also waits for moves of the event's owner. */
async function findEvent({ accountId, cell, guestCells }: Home, reference: string): Promise<Route | undefined> {
  const seenIn = async (one: Deps): Promise<Route | undefined> => {
    const found = await one.events.find(accountId, reference, one.clock.now());
    return (
      found && {
        cell: one,
        homes: new Map([
          [accountId, cell],
          [found.event.accountId, one],
        ]),
      }
    );
  };
  return (await seenIn(cell)) ?? firstOfCells(guestCells, seenIn);
}
