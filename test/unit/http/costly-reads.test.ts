import { EventEmitter } from 'node:events';
import type { HttpBindings } from '@hono/node-server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ok } from '#src/http/answer.ts';
import type { RequestContext } from '#src/http/env.ts';
import { createLeases, RequestLife } from '#src/http/request-life.ts';
import { answer, costly } from '#src/http/send.ts';
import { Presence } from '#src/platform/presence.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A request for a read, as a handler sees it. */
function ask() {
  const outgoing = Object.assign(new EventEmitter(), { destroyed: false });
  const bindings = { incoming: { socket: { destroyed: false } }, outgoing };
  const life = new RequestLife(bindings as unknown as HttpBindings);
  const leases = createLeases(new Presence());
  const load = { pressure: () => ({ waiting: 0, underWay: 0, delayMs: 0 }) };
  const service = { leases, load, hasLeft: async () => false };
  const known: Record<string, unknown> = { life, headers: {}, operation: { path: '/' }, service };
  const get = (name: string) => known[name];
  const c = { get, req: { method: 'POST' }, env: bindings } as unknown as RequestContext;
  const hangUp = () => {
    outgoing.destroyed = true;
    outgoing.emit('close');
  };
  return { c, life, hangUp, held: () => leases.costlyReads.held };
}

const read = vi.fn(async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return ok('read');
});

test('a read whose client hangs up holds its place until the work has ended, and for a rest of twice that time', async () => {
  const { c, life, hangUp, held } = ask();
  const answered = costly(c, read, 'a').finally(() => life.handled());
  await vi.advanceTimersByTimeAsync(100);
  hangUp();
  await vi.advanceTimersByTimeAsync(200);
  await answered;
  expect(held()).toBe(1);
  await vi.advanceTimersByTimeAsync(590);
  expect(held()).toBe(1);
  await vi.advanceTimersByTimeAsync(20);
  expect(held()).toBe(0);
});

test('a read whose client takes its answer late holds its place until then', async () => {
  const { c, life, hangUp, held } = ask();
  const answered = costly(c, read, 'a').finally(() => life.handled());
  await vi.advanceTimersByTimeAsync(5_000);
  await answered;
  expect(held()).toBe(1);
  hangUp();
  expect(held()).toBe(0);
});

test('a read whose client has gone before it begins does not begin', async () => {
  const { c, life, hangUp, held } = ask();
  read.mockClear();
  hangUp();
  const answered = costly(c, read, 'a').finally(() => life.handled());
  await expect(answered).rejects.toMatchObject({ code: 'rate_limited' });
  await vi.advanceTimersByTimeAsync(1);
  expect([read.mock.calls.length, held()]).toEqual([0, 0]);
});

test('a stream whose client has gone before it begins is ended', async () => {
  const { c, life, hangUp } = ask();
  hangUp();
  expect(life.gone.aborted).toBe(true);
  const ended = vi.fn(async () => ({ done: true, value: undefined }) as const);
  const open = () => ({
    [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) as const, return: ended }),
  });
  await answer(c, { status: 200, stream: { open, type: 'text/plain' } });
  expect(ended).toHaveBeenCalledOnce();
});
