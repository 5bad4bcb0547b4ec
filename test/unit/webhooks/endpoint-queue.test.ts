import { expect, test } from 'vitest';
import { EndpointQueue, RoundRobin } from '#src/webhooks/endpoint-queue.ts';
import type { DueDelivery } from '#src/webhooks/sending-repository.ts';

const due = (endpointId: string, count: number, endpointVersion = 1): DueDelivery[] =>
  Array.from({ length: count }, (_, number) => ({
    id: `whd_${number}`,
    endpointId,
    messageId: `msg_${number}`,
    body: '{}',
    tries: 0,
    url: 'https://hooks.example.com/',
    secret: '',
    earlierSecrets: [],
    endpointVersion,
  }));

function filled(endpointId: string): EndpointQueue {
  const queue = new EndpointQueue(endpointId);
  queue.fill(due(endpointId, 200), 200);
  return queue;
}

/** Begins as many as the queue has places for. */
function beginAll(queue: EndpointQueue): string[] {
  const begun: string[] = [];
  while (queue.isReady) begun.push(queue.begin()?.id ?? '');
  return begun;
}

function finish(queue: EndpointQueue, ids: readonly string[], durationMs: number, arrived = true): void {
  for (const id of ids) {
    queue.answer(id, durationMs, arrived);
    queue.end(id);
  }
}

test('an endpoint of which nothing is known gets three places, one more with every quick answer, and never more than ten', () => {
  const queue = filled('whe_1');
  const places: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const begun = beginAll(queue);
    places.push(begun.length);
    finish(queue, begun, 20);
  }
  expect(places).toEqual([3, 6, 10, 10]);
});

test('an endpoint that was slow gets one place, until it is quick again', () => {
  const queue = filled('whe_1');
  finish(queue, beginAll(queue), 15_000);
  expect(queue.isUnproven).toBe(true);
  const [one = '', ...more] = beginAll(queue);
  expect(more).toEqual([]);
  finish(queue, [one], 20);
  expect(beginAll(queue)).toHaveLength(2);
});

test('an endpoint that fails three times in a row gets one message at a time, and none between two looks, until one arrives', () => {
  const queue = filled('whe_1');
  const fail = (): number => {
    const begun = beginAll(queue);
    finish(queue, begun, 20, false);
    return begun.length;
  };
  expect(fail()).toBe(3);
  expect(beginAll(queue)).toEqual([]);
  for (let look = 0; look < 5; look += 1) {
    queue.wake();
    expect(fail()).toBe(1);
    expect(beginAll(queue)).toEqual([]);
  }
  queue.wake();
  finish(queue, beginAll(queue), 20);
  expect(beginAll(queue)).toHaveLength(2);
});

test('an endpoint whose answers are not written down stops at twenty of them', () => {
  const queue = filled('whe_1');
  for (let round = 0; round < 20; round += 1) for (const id of beginAll(queue)) queue.answer(id, 20, true);
  expect(queue.unnoted.size).toBeGreaterThanOrEqual(20);
  expect(queue.unnoted.size).toBeLessThan(30);
  expect(queue.isReady).toBe(false);
});

test('what is under way, not written down, or ended since the question is not begun again', () => {
  const queue = filled('whe_1');
  const [underWay, unnoted, ended] = beginAll(queue);
  queue.answer(unnoted ?? '', 20, true);
  queue.answer(ended ?? '', 20, true);
  queue.end(ended ?? '');
  queue.fill(due('whe_1', 5), 5);
  expect(beginAll(queue)).not.toContain(underWay);
  expect([underWay, unnoted, ended]).toEqual(['whd_0', 'whd_1', 'whd_2']);
  expect(queue.waiting.map(({ id }) => id)).toEqual([]);
});

test('what was read under another version of its endpoint is forgotten, and asked for again', () => {
  const queue = filled('whe_1');
  queue.mayHaveMore = false;
  queue.check(1);
  expect(queue.isReady).toBe(true);
  queue.check(2);
  expect([queue.isReady, queue.needsRefill]).toEqual([false, true]);
});

test('queues take turns, and those that are known to be quick alternate with those that are not', () => {
  const roundRobin = new RoundRobin();
  const [quick, quicker, first, second] = ['q1', 'q2', 'd1', 'd2'].map(filled) as [
    EndpointQueue,
    EndpointQueue,
    EndpointQueue,
    EndpointQueue,
  ];
  for (const queue of [quick, quicker]) finish(queue, beginAll(queue), 20);
  for (const queue of [quick, quicker, first, second]) roundRobin.add(queue);
  const order = Array.from({ length: 8 }, () => {
    const queue = roundRobin.next(true);
    if (queue !== undefined) roundRobin.add(queue);
    return queue?.endpointId;
  });
  expect(order).toEqual(['q1', 'd1', 'q2', 'd2', 'q1', 'd1', 'q2', 'd2']);
  expect(Array.from({ length: 4 }, () => roundRobin.next(false)?.endpointId)).toEqual([
    'q1',
    'q2',
    undefined,
    undefined,
  ]);
});
