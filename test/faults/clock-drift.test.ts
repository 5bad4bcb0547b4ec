import path from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { lookAtDurability } from '#src/database/check-server.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { createLog } from '#src/platform/log.ts';
import { repeat } from '#src/platform/within.ts';
import { createTestEvent, demand } from '#test/harness/elections.ts';
import { createFakeClock, hasFaketime } from '#test/harness/faketime.ts';
import { ask, startRealProcesses } from '#test/harness/real-processes.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import type { StartedService } from '#test/harness/started-service.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const real = await use(startRealProcesses());

interface Stepped {
  readonly service: StartedService;
  /** Sets the clock of that process alone. */
  step(offset: string): void;
}

async function startStepped(offset: string, settings: Readonly<Record<string, string>> = {}): Promise<Stepped> {
  const { environment, step } = createFakeClock(path.join(real.folder, `time-${Math.random()}`));
  step(offset);
  return { service: await real.start({ ...environment, ...settings }), step };
}

async function dataOf<Data>(answer: Promise<Response>): Promise<Data> {
  return ((await (await answer).json()) as { data: Data }).data;
}

const workerOf = async ({ service }: Stepped): Promise<string> =>
  (await dataOf<{ checks: { worker: string } }>(ask(service.port, 'GET', '/health'))).checks.worker;

const alarmsOf = ({ service }: Stepped): number => service.output().match(/"alarm":"clock_drift"/g)?.length ?? 0;

describe.skipIf(!hasFaketime)('a process whose clock', () => {
  test.each(['+30m', '-30m'])(
    'steps by %s says so, rests its jobs, shows the database’s time, and takes its jobs up again',
    async (offset) => {
      const event = await createTestEvent(real.inside, real.account, { endsAt: Date.now() + 10 * MINUTE_MS });
      const one = await startStepped('+0s', { WORKER: 'on' });
      expect(await workerOf(one)).toBe('ok');
      one.step(offset);
      await untilTrue(async () => (await workerOf(one)) === 'failed', 10_000);
      // Its output is read beside its answers.
      await untilTrue(() => alarmsOf(one) > 0, 10_000);
      const { key } = { key: real.account.write };
      const shown = await dataOf<{ status: string }>(
        ask(one.service.port, 'GET', `/voting-events/${event.id}`, { key }),
      );
      expect(shown.status).toBe('open');
      const made = await dataOf<{ createdAt: number }>(
        ask(one.service.port, 'POST', '/voting-events', { key, body: { title: 'Made', type: 'poll' } }),
      );
      expect(Math.abs(made.createdAt - Date.now())).toBeLessThan(2_000);
      one.step('+0s');
      await untilTrue(async () => (await workerOf(one)) === 'ok', 10_000);
      expect(await one.service.stop()).toBe(0);
      expect(alarmsOf(one)).toBe(1);
    },
  );

  test('is 4 s off from the next one’s, or steps back by that, refuses nobody and sends its webhooks', async () => {
    const receiver = await startReceiver();
    try {
      const ahead = await startStepped('+4s', { WORKER: 'on' });
      const behind = await startStepped('-4s');
      const endpoint = { url: receiver.url, eventTypes: ['voting_event.created'] };
      const { key } = { key: real.account.write };
      demand(await real.inside.call('POST', '/webhook-endpoints', endpoint, { key }), 201);
      const statuses = new Set<number>();
      const create = async ({ service }: Stepped): Promise<void> => {
        const body = { title: 'Told of', type: 'poll' };
        statuses.add((await ask(service.port, 'POST', '/voting-events', { key, body })).status);
        statuses.add((await ask(service.port, 'GET', '/health')).status);
      };
      for (let times = 0; times < 10; times += 1) for (const one of [ahead, behind]) await create(one);
      await untilTrue(() => receiver.received.length === 20, 10_000);
      ahead.step('-4s');
      behind.step('+4s');
      for (let times = 0; times < 10; times += 1) for (const one of [ahead, behind]) await create(one);
      await untilTrue(() => receiver.received.length === 40, 4_000);
      expect([...statuses].sort()).toEqual([200, 201]);
    } finally {
      await receiver.stop();
    }
  });
});

test('a server that stops waiting for its disk raises an alarm with each look', async () => {
  const lines: string[] = [];
  const log = createLog('error', { write: (line: string) => void lines.push(line) });
  // One connection for every look: the setting of a database is that of connections made after it, and is seen all the same.
  const pool = new pg.Pool({ connectionString: real.databaseUrl, max: 1 });
  const over = new AbortController();
  repeat(50, over.signal, log, 'no look', () => lookAtDurability(pool, log, false));
  const alarms = () => lines.filter((line) => line.includes('"alarm":"database_not_durable"'));
  try {
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(alarms()).toEqual([]);
    await runStatements(real.server.url, ["ALTER DATABASE voting SET synchronous_commit = 'OFF'"]);
    await untilTrue(() => alarms().length > 1);
    expect(alarms()[0]).toContain('"settings":["synchronous_commit"]');
  } finally {
    over.abort();
    await pool.end();
    await runStatements(real.server.url, ['ALTER DATABASE voting RESET synchronous_commit']);
  }
});
