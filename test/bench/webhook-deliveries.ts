import { createServer } from 'node:http';
import { Pool } from 'undici';
import { listen } from '#test/harness/listen.ts';
import type { BenchLine } from './line.ts';
import { alternate } from './windows.ts';

const ENDPOINTS = 20;
const MESSAGES = 400;
const CONNECTIONS = 64;

/** Deliveries a second, from the row in the outbox to the receiver's answer, beside a bare loop that posts the same bytes. */
export const webhookDeliveries: BenchLine = async (bench) => {
  let arrived = 0;
  let wake: () => void = () => undefined;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      arrived += 1;
      response.writeHead(200).end();
      wake();
    });
  });
  const { url: origin, stop } = await listen(server);
  const type = 'voting_event.updated';
  const endpoints: unknown[] = [];
  for (let index = 0; index < ENDPOINTS; index += 1) {
    const endpoint = { url: `${origin}/${index}`, eventTypes: [type] };
    endpoints.push((await bench.organize('POST', '/webhook-endpoints', endpoint))['id']);
  }
  const data = JSON.stringify({ id: 'evt_x', title: 'A title', description: 'x'.repeat(400) });
  const waitFor = (count: number): Promise<void> =>
    new Promise((resolve) => {
      wake = () => {
        if (arrived >= count) resolve();
      };
      wake();
    });

  const through = async (): Promise<number> => {
    arrived = 0;
    const startedAt = performance.now();
    const record =
      'SELECT record_webhook_events($1, NULL, $2, ARRAY[$3 || i::text], ARRAY[$4]) FROM generate_series(1, $5) AS i';
    const prefix = `msg_${performance.now()}_`;
    await bench.pool.query(record, [bench.accountId, type, prefix, data, MESSAGES]);
    await waitFor(ENDPOINTS * MESSAGES);
    return (ENDPOINTS * MESSAGES * 1_000) / (performance.now() - startedAt);
  };
  const pool = new Pool(origin, { connections: CONNECTIONS });
  const bare = async (): Promise<number> => {
    arrived = 0;
    const startedAt = performance.now();
    let left = ENDPOINTS * MESSAGES;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        while (left > 0) {
          left -= 1;
          const answer = await pool.request({ method: 'POST', path: '/bare', body: data });
          await answer.body.dump();
        }
      }),
    );
    return (ENDPOINTS * MESSAGES * 1_000) / (performance.now() - startedAt);
  };
  await through();
  await bare();
  const seen = await alternate(bench, 5, { through, bare });
  for (const id of endpoints) await bench.organize('DELETE', `/webhook-endpoints/${id}`);
  await pool.close();
  await stop();
  return [
    {
      work: 'webhook deliveries, outbox included',
      reference: 'a bare undici pool on the same receiver',
      unit: '/s',
      ours: seen.through,
      theirs: seen.bare,
      goal: { atLeast: 0.35, beyond: 0.5 },
      limit:
        'A delivery is written twice and its attempt once, and every message is signed, on the core that the sender shares.',
    },
  ];
};
