import { expect, test } from 'vitest';
import { Lane, Turns } from '#src/webhooks/lane.ts';
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

function filled(endpointId: string): Lane {
  const lane = new Lane(endpointId);
  lane.fill(due(endpointId, 200), 200);
  return lane;
}

/** Begins as many as the lane has places for. */
function beginAll(lane: Lane): string[] {
  const begun: string[] = [];
  while (lane.isReady) begun.push(lane.begin()?.id ?? '');
  return begun;
}

function finish(lane: Lane, ids: readonly string[], durationMs: number, arrived = true): void {
  for (const id of ids) {
    lane.answer(id, durationMs, arrived);
    lane.end(id);
  }
}

test('an endpoint of which nothing is known gets three places, one more with every quick answer, and never more than ten', () => {
  const lane = filled('whe_1');
  const places: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const begun = beginAll(lane);
    places.push(begun.length);
    finish(lane, begun, 20);
  }
  expect(places).toEqual([3, 6, 10, 10]);
});

test('an endpoint that was slow gets one place, until it is quick again', () => {
  const lane = filled('whe_1');
  finish(lane, beginAll(lane), 15_000);
  expect(lane.isDoubtful).toBe(true);
  const [one = '', ...more] = beginAll(lane);
  expect(more).toEqual([]);
  finish(lane, [one], 20);
  expect(beginAll(lane)).toHaveLength(2);
});

test('an endpoint that fails three times in a row gets one message at a time, and none between two looks, until one arrives', () => {
  const lane = filled('whe_1');
  const fail = (): number => {
    const begun = beginAll(lane);
    finish(lane, begun, 20, false);
    return begun.length;
  };
  expect(fail()).toBe(3);
  expect(beginAll(lane)).toEqual([]);
  for (let look = 0; look < 5; look += 1) {
    lane.wake();
    expect(fail()).toBe(1);
    expect(beginAll(lane)).toEqual([]);
  }
  lane.wake();
  finish(lane, beginAll(lane), 20);
  expect(beginAll(lane)).toHaveLength(2);
});

test('an endpoint whose answers are not written down stops at twenty of them', () => {
  const lane = filled('whe_1');
  for (let round = 0; round < 20; round += 1) for (const id of beginAll(lane)) lane.answer(id, 20, true);
  expect(lane.unnoted.size).toBeGreaterThanOrEqual(20);
  expect(lane.unnoted.size).toBeLessThan(30);
  expect(lane.isReady).toBe(false);
});

test('what is under way, not written down, or ended since the question is not begun again', () => {
  const lane = filled('whe_1');
  const [underWay, unnoted, ended] = beginAll(lane);
  lane.answer(unnoted ?? '', 20, true);
  lane.answer(ended ?? '', 20, true);
  lane.end(ended ?? '');
  lane.fill(due('whe_1', 5), 5);
  expect(beginAll(lane)).not.toContain(underWay);
  expect([underWay, unnoted, ended]).toEqual(['whd_0', 'whd_1', 'whd_2']);
  expect(lane.waiting.map(({ id }) => id)).toEqual([]);
});

test('what was read under another version of its endpoint is forgotten, and asked for again', () => {
  const lane = filled('whe_1');
  lane.mayHaveMore = false;
  lane.check(1);
  expect(lane.isReady).toBe(true);
  lane.check(2);
  expect([lane.isReady, lane.isHungry]).toEqual([false, true]);
});

test('lanes take turns, and those that are known to be quick alternate with those that are not', () => {
  const turns = new Turns();
  const [quick, quicker, first, second] = ['q1', 'q2', 'd1', 'd2'].map(filled) as [Lane, Lane, Lane, Lane];
  for (const lane of [quick, quicker]) {
    finish(lane, beginAll(lane), 20);
  }
  for (const lane of [quick, quicker, first, second]) turns.add(lane);
  const order = Array.from({ length: 8 }, () => {
    const lane = turns.next(true);
    if (lane !== undefined) turns.add(lane);
    return lane?.endpointId;
  });
  expect(order).toEqual(['q1', 'd1', 'q2', 'd2', 'q1', 'd1', 'q2', 'd2']);
  expect(Array.from({ length: 4 }, () => turns.next(false)?.endpointId)).toEqual(['q1', 'q2', undefined, undefined]);
});
