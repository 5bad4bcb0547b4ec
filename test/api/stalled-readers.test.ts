import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { fillEvent } from '#test/harness/largest-event.ts';
import { useAccount } from '#test/harness/test-service.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const { service, account } = await useAccount({ worker: false });
const READERS = 30;

/** An open poll of 1,000 candidates, changed by some SQL beforehand. @returns the path of its ballot */
async function largePoll(settings: object, ...changes: readonly string[]): Promise<string> {
  const { id } = await account.event({ type: 'poll', ...settings }, [], false);
  await fillEvent(service.deps.db.$client, id, { positions: 1, candidates: 1_000 });
  for (const change of changes) await service.query(change, [id]);
  await account.change(`/voting-events/${id}`, { status: 'open' });
  return `/public/voting-events/${id}/ballot`;
}

/** Opens a connection that asks for a ballot and reads no further than the first bytes of the answer. */
async function stall(target: string): Promise<() => void> {
  const socket = connect({ port: service.port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.write(
    `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.vote}\r\nAccept-Encoding: identity\r\n\r\n`,
  );
  await new Promise<void>((resolve) => {
    socket.once('data', () => {
      socket.pause();
      resolve();
    });
    socket.once('close', () => resolve());
  });
  return () => void socket.destroy();
}

function heldBytes(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

/** By how much memory grows while clients read no further, in sizes of the answer. */
async function copiesHeld(target: string, encoding: string): Promise<number> {
  const headers = { 'Accept-Encoding': encoding };
  const { byteLength } = await (await service.fetch(target, { key: account.vote, headers })).arrayBuffer();
  const before = heldBytes();
  const stalled = await Promise.all(Array.from({ length: READERS }, () => stall(target)));
  await delay(2_000);
  const grown = heldBytes() - before;
  for (const end of stalled) end();
  return grown / byteLength;
}

// Completions 1.6: in overload the process lives on. An address may hold a thousand connections.
test('clients that stop reading a cached ballot hold a few copies of it in memory, not one each', async () => {
  const target = await largePoll(
    {},
    `UPDATE candidates SET description = repeat('🗳', 5000) WHERE voting_event_id = $1`,
  );
  expect(await copiesHeld(target, 'gzip')).toBeLessThan(8);
});

test('clients that stop reading a shuffled ballot of long names and addresses hold a few copies of it in memory', async () => {
  const target = await largePoll(
    { ballot: { candidateOrder: 'shuffled' } },
    `UPDATE candidates SET description = repeat('🗳', 490), name = repeat('🗳', 199) || 'n',
       avatar_url = 'https://a.example/' || repeat('a', 2030) WHERE voting_event_id = $1`,
    `INSERT INTO sponsors (voting_event_id, id, name, logo_url, website_url, sort_order, created_at, updated_at)
     SELECT $1, 'spn_' || n, repeat('🗳', 199) || 's', 'https://a.example/' || repeat('a', 2030),
       'https://a.example/' || repeat('a', 2030), n, now_ms(), now_ms() FROM generate_series(1, 1000) AS n`,
  );
  expect(await copiesHeld(target, 'identity')).toBeLessThan(8);
});
