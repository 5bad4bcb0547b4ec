import { expect, test } from 'vitest';
import { RecentMap } from '#src/platform/recent-map.ts';

const keysOf = <Value>(map: RecentMap<Value>): string[] => [...map].map(([key]) => key).sort();

test('a map keeps the newest half of what it may hold, and never more than the whole and one entry', () => {
  const map = new RecentMap<number>(10);
  for (let key = 0; key < 100; key += 1) {
    map.set(String(key), key);
    expect(map.size).toBeLessThanOrEqual(10);
    for (let newer = Math.max(0, key - 4); newer <= key; newer += 1) expect(map.get(String(newer))).toBe(newer);
  }
});

test('entries that weigh more push more out, however few they are', () => {
  const map = new RecentMap<number>(100, (weight) => weight);
  for (const [key, weight] of Object.entries({ a: 20, b: 20, c: 20, d: 20, e: 20, f: 20, g: 20 })) map.set(key, weight);
  expect(keysOf(map)).toEqual(['d', 'e', 'f', 'g']);
  for (const [key, weight] of Object.entries({ heavy: 1_000, h: 20, i: 20 })) map.set(key, weight);
  expect(keysOf(map)).toEqual(['g', 'h', 'heavy', 'i']);
});

test('an entry that weighs more than half of all, and is set again and again, pushes out no other that is asked for', () => {
  const map = new RecentMap<number>(100, (weight) => weight);
  for (let turn = 0; turn < 10; turn += 1) {
    for (const key of ['one', 'two']) {
      if (turn > 0) expect(map.get(key)).toBe(10);
      map.set(key, 10);
      map.set('heavy', 60);
    }
  }
});

test('an entry that is set again, or deleted, weighs once or nothing', () => {
  const map = new RecentMap<number>(100, (weight) => weight);
  map.set('kept', 10);
  for (let times = 0; times < 50; times += 1) map.set('again', 30);
  for (let times = 0; times < 50; times += 1) {
    map.set('gone', 30);
    map.delete('gone');
  }
  expect(keysOf(map)).toEqual(['again', 'kept']);
});
