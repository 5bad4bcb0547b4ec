import { describe, expect, test, vi } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import { untilTrue, useService } from '#test/harness/test-service.ts';

const lines: Record<string, unknown>[] = [];
const service = await useService({
  worker: false,
  log: createLog('warn', { write: (line) => void lines.push(JSON.parse(line)) }),
});
const [slow, other] = [await service.account(), await service.account()];
const event = await slow.event();

/** Computes without a pause. */
function hold(ms: number): void {
  const used = (): number => process.threadCpuUsage().user / 1_000;
  for (const until = used() + ms; used() < until; );
}
const { sortable } = service.deps.ids;
vi.spyOn(service.deps.ids, 'sortable').mockImplementation((prefix) => {
  if (prefix === 'grp') hold(300);
  return sortable(prefix);
});
const route = '/voting-events/:idOrCode/groups';
/** By computing: on a busy machine any code may wait long for its turn. */
const computed = () => lines.filter(({ cpuMs }) => Number(cpuMs) >= 200);
const named = () => computed().filter((line) => line['route'] !== 'none');

describe('code that holds the event loop', () => {
  test('is named by the route and the account of its request, whoever else asks at the time', async () => {
    for (let number = 1; named().length < 3; number += 1) {
      const others = Array.from({ length: 30 }, () => other.get(`/voting-events/${event.id}`));
      await slow.post(`/voting-events/${event.id}/groups`, { name: `Group ${number}` });
      await Promise.all(others);
    }
    for (const line of named()) expect(line).toMatchObject({ route, account: slow.id });
    for (const { ms, cpuMs } of named()) expect([Number(ms) >= 300, Number(cpuMs) >= 300]).toEqual([true, true]);
    // The third time is an alarm.
    const alarms = computed().map(({ level, alarm }) => [level, alarm]);
    expect(alarms.slice(0, 3)).toEqual([
      [40, undefined],
      [40, undefined],
      [50, 'loop_held'],
    ]);
  });

  test('and belongs to no request is none of theirs', async () => {
    const before = named().length;
    const asked = Array.from({ length: 10 }, () => other.get(`/voting-events/${event.id}`));
    setImmediate(() => hold(300));
    await Promise.all(asked);
    await untilTrue(() => computed().at(-1)?.['route'] === 'none');
    expect(named().length).toBe(before);
  });
});
