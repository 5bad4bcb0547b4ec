import { setTimeout as delay } from 'node:timers/promises';
import { startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { call, show, withWorld } from './world.ts';

/** Completions 1.6: a request that needs the database is refused within two seconds. */
const SILENT_MS = 2_000;
const REQUESTS = 80;

/** Shows how long requests take while the database neither answers nor closes its connections: some under way when that begins, others later. */
export async function measureSilence(): Promise<void> {
  let hush = (): void => undefined;
  const behindProxy = async (url: string): Promise<string> => {
    const proxy = await startDatabaseProxy(url);
    hush = () => {
      proxy.silent = true;
    };
    return proxy.url;
  };
  await withWorld(async (world) => {
    const ask = async (index: number): Promise<{ readonly status: number; readonly ms: number }> => {
      await delay(index * 50);
      const begin = performance.now();
      const { status } =
        index % 2 === 0
          ? await call(world, 'GET', '/voting-events')
          : await call(world, 'POST', '/voting-events', { title: 'New', type: 'poll' });
      return { status, ms: performance.now() - begin };
    };
    await ask(0);
    hush();
    const answers = await Promise.all(Array.from({ length: REQUESTS }, (_, index) => ask(index)));
    show('the slowest answer while the database is silent', Math.max(...answers.map(({ ms }) => ms)), SILENT_MS, 'ms');
    show('  answers other than 500', answers.filter(({ status }) => status !== 500).length, 0, '');
  }, behindProxy);
}
