import { describe, expect, test, vi } from 'vitest';
import { Leases } from '#src/platform/leases.ts';
import { Presence } from '#src/platform/presence.ts';

const refuse = (whose: string) => new Error(whose);

describe('leases', () => {
  test('of one account are so many at a time; a further one waits its turn, and is refused after two seconds', async () => {
    vi.useFakeTimers();
    try {
      const leases = new Leases({ perAccount: 2, maxWaiting: 1, refuse });
      const [first] = await Promise.all([leases.take('a'), leases.take('a')]);
      const third = leases.take('a');
      // Whoever finds the queue full is refused at once.
      await expect(leases.take('a')).rejects.toThrow('account');
      await expect(Promise.all([third, vi.advanceTimersByTimeAsync(2_000)])).rejects.toThrow('account');
      const fourth = leases.take('a');
      first?.end();
      (await fourth).end();
      expect(leases.held).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test('of one account keep no other waiting, and all accounts together have a limit', async () => {
    const leases = new Leases({ perAccount: 4, inAll: 6, refuse });
    await leases.take('a', 4);
    await expect(leases.take('a')).rejects.toThrow('account');
    await leases.take('b', 2);
    await expect(leases.take('b')).rejects.toThrow('process');
    expect(leases.held).toBe(6);
  });

  test('of an account are fewer while another account is present, whatever that one asks for', async () => {
    vi.useFakeTimers();
    try {
      const presence = new Presence();
      const leases = new Leases({ perAccount: 4, beside: { perAccount: 2, presence }, maxWaiting: 4, refuse });
      presence.note('flood');
      const held = await Promise.all([1, 2, 3, 4].map(() => leases.take('flood')));
      presence.note('other');
      // What is no account is never present, and holds as much as ever.
      for (const lease of await Promise.all([1, 2, 3, 4].map(() => leases.take('process')))) lease.end();
      // What it holds by then stays its own; of what it gives back it gets two again.
      const waiting = leases.take('flood');
      for (const lease of held.splice(0, 2)) lease.end();
      expect(leases.held).toBe(2);
      held.shift()?.end();
      await waiting;
      expect([leases.held, leases.takeNow('flood')]).toEqual([2, undefined]);
      await vi.advanceTimersByTimeAsync(9_000);
      presence.note('flood');
      expect(leases.takeNow('flood')).toBeUndefined();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(leases.takeNow('flood')).toBeDefined();
    } finally {
      vi.useRealTimers();
    }
  });

  test('are given in turns: however many accounts ask without end, one that comes now is next', async () => {
    const leases = new Leases({ perAccount: 2, inAll: 3, maxWaiting: 10, refuse });
    const order: string[] = [];
    const hold = async (account: string): Promise<void> => {
      const lease = await leases.take(account);
      order.push(account);
      await new Promise((resolve) => setImmediate(resolve));
      lease.end();
    };
    const busy = ['a', 'b', 'c', 'd'].flatMap((account) => Array.from({ length: 8 }, () => hold(account)));
    await new Promise((resolve) => setImmediate(resolve));
    const before = order.length;
    await hold('late');
    expect(order.indexOf('late') - before).toBeLessThan(3);
    await Promise.all(busy);
    expect(leases.held).toBe(0);
  });

  test('end once: a place goes from hand to hand, and none is given back twice', async () => {
    const leases = new Leases({ perAccount: 1, maxWaiting: 5, refuse });
    const first = await leases.take('a');
    const second = leases.take('a');
    first.end();
    first.end();
    // The one who comes now does not get in between.
    const third = leases.take('a');
    expect(leases.held).toBe(1);
    (await second).end();
    (await third).end();
    expect(leases.held).toBe(0);
  });

  test('are not waited for by who has gone', async () => {
    const leases = new Leases({ perAccount: 1, maxWaiting: 5, refuse });
    const [first, gone] = [await leases.take('a'), new AbortController()];
    const waiting = leases.take('a', 1, gone.signal);
    gone.abort();
    await expect(waiting).rejects.toThrow('account');
    await expect(leases.take('a', 1, gone.signal)).rejects.toThrow('account');
    first.end();
    expect(leases.held).toBe(0);
  });
});
