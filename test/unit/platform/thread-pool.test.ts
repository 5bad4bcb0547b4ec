import { afterAll, describe, expect, test } from 'vitest';
import { Leases } from '#src/platform/leases.ts';
import { ThreadPool } from '#src/platform/thread-pool.ts';

const moduleOf = (body: string): URL =>
  new URL(`data:text/javascript,${encodeURIComponent(`export const work = async (input) => { ${body} };`)}`);

const ECHO = moduleOf('return input');
const LATE = moduleOf('await new Promise((resolve) => setTimeout(resolve, 50)); return input');
const NAMES_ITSELF = moduleOf('globalThis.name ??= Math.random(); return globalThis.name');
/** What a hostile order does to its thread. */
const HOSTILE: readonly [string, URL, string][] = [
  ['takes all of its time', moduleOf('for (;;) {}'), 'took too long'],
  ['never ends', moduleOf('await new Promise(() => setInterval(() => {}, 1000))'), 'took too long'],
  ['takes all of its memory', moduleOf('const all = []; for (;;) all.push(new Array(1e5).fill({}))'), 'memory'],
  ['ends its thread', moduleOf('process.exit(1)'), 'the thread ended'],
  ['throws', moduleOf('throw new Error("no such thing")'), 'no such thing'],
  [
    'throws where nobody waits',
    moduleOf('setImmediate(() => { throw new Error("apart") }); await new Promise(() => {})'),
    'apart',
  ],
  ['is no module', new URL('data:text/javascript,export const x = ('), 'SyntaxError'],
];

const LIMITS = { threads: 2, maxHeapMb: 64, idleMs: 60_000 };
const pool = new ThreadPool(LIMITS, undefined);
afterAll(() => pool.close());

describe('threads', () => {
  test.each(HOSTILE)(
    'an order that %s fails alone: those of other accounts are served meanwhile',
    async (_, module, says) => {
      // Only what never ends by itself needs a limit that passes.
      const maxMs = says === 'took too long' ? 1_500 : 600_000;
      const hostile = Array.from({ length: 3 }, () => pool.run({ module, input: 1, account: 'bad', maxMs }));
      const ends = Promise.allSettled(hostile);
      const others = ['a', 'b', 'a', 'c'].map((account) =>
        pool.run({ module: ECHO, input: account, account, maxMs: 60_000 }),
      );
      let isOver = false;
      void ends.then(() => {
        isOver = true;
      });
      expect(await Promise.all(others)).toEqual(['a', 'b', 'a', 'c']);
      if (says === 'took too long') expect(isOver).toBe(false);
      expect(
        (await ends)
          .map((end) => end.status === 'rejected' && String(end.reason))
          .every((words) => words !== false && words.includes(says)),
      ).toBe(true);
    },
  );

  test('are taken in turns by the accounts, however many orders one of them has', async () => {
    const ended: string[] = [];
    const order = (account: string) => async () => {
      await pool.run({ module: LATE, input: 0, account, maxMs: 60_000 });
      ended.push(account);
    };
    const asked = [...Array.from({ length: 10 }, () => order('many')), order('one'), order('two')];
    await Promise.all(asked.map((ask) => ask()));
    expect(ended.indexOf('one')).toBeLessThan(4);
    expect(ended.indexOf('two')).toBeLessThan(5);
  });

  test('go to the account whose last turn is longest ago, however many others have orders waiting', async () => {
    const one = new ThreadPool({ ...LIMITS, threads: 1 }, undefined);
    const ended: string[] = [];
    const ask = async (account: string) => {
      await one.run({ module: LATE, input: 0, account, maxMs: 60_000 });
      ended.push(account);
    };
    const hostile = ['a', 'b', 'c', 'd'].flatMap((account) => [ask(account), ask(account), ask(account)]);
    // Each of them has had a turn, and has orders waiting.
    await Promise.all([0, 3, 6, 9].map((first) => hostile[first]));
    const before = ended.length;
    await ask('late');
    // Behind those that run already, on spare threads too where threads are slow to begin; in the order of asking it came behind eight.
    expect(ended.indexOf('late') - before).toBeLessThan(4);
    await Promise.all(hostile);
    await one.close();
  });

  test('are held by no two accounts with long orders: a third one is served meanwhile, and no account twice beside them', async () => {
    const own = new ThreadPool(LIMITS, undefined);
    const forEver = moduleOf('await new Promise(() => setInterval(() => {}, 1000))');
    const long = ['bad', 'worse', 'bad', 'worse'].map((account) =>
      own.run({ module: forEver, input: 1, account, maxMs: 600_000 }),
    );
    void Promise.allSettled(long);
    for (const account of ['a', 'b', 'c'])
      expect(await own.run({ module: ECHO, input: account, account, maxMs: 600_000 })).toBe(account);
    await own.close();
  });

  test('keep to what they did before, where they are free', async () => {
    const ask = (about: string, account: string) =>
      pool.run({ module: NAMES_ITSELF, input: 0, account, about, maxMs: 60_000 });
    const [first, second] = await Promise.all([ask('one', 'a'), ask('two', 'b')]);
    expect(first).not.toBe(second);
    for (let times = 0; times < 3; times += 1)
      expect([await ask('one', 'b'), await ask('two', 'a')]).toEqual([first, second]);
  });

  test('do not do what nobody waits for, begun or not', async () => {
    const leaver = new AbortController();
    const [running, waiting] = [0, 1].map(() =>
      pool.run({ module: HOSTILE[0]?.[1] ?? ECHO, input: 0, account: 'a', maxMs: 600_000, gone: leaver.signal }),
    );
    const ends = Promise.allSettled([running, waiting]);
    await pool.run({ module: ECHO, input: 0, account: 'b', maxMs: 60_000 });
    leaver.abort();
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await pool.run({ module: ECHO, input: 'next', account: 'a', maxMs: 60_000 })).toBe('next');
  });

  test('take so many orders of an account as it may have, and give every place back', async () => {
    const leases = new Leases({ perAccount: 2, refuse: (whose) => new Error(whose) });
    const small = new ThreadPool({ ...LIMITS, threads: 1 }, undefined, leases);
    const ask = (module: URL) => small.run({ module, input: 0, account: 'a', maxMs: 60_000 });
    const asked = [ask(LATE), ask(moduleOf('throw new Error("x")')), ask(ECHO)];
    expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(leases.held).toBe(0);
    await small.close();
  });
});
