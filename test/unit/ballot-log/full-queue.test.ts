import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Acknowledged } from '#src/ballot-log/acknowledged.ts';
import { createLogReceipts, SEAL_PAUSE_MS } from '#src/ballot-log/promise-leaf.ts';
import { FULL_QUEUE } from '#src/ballot-log/seal-ballots.ts';
import type { Deps } from '#src/deps.ts';
import { createLog } from '#src/platform/log.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { BallotPublisher } from '#src/webhooks/publish-ballots.ts';

type ReceiptDeps = Parameters<typeof createLogReceipts>[0];

let trips: number;
let confirm: (eventId: string, ballots: number) => void;

beforeEach(() => {
  vi.useFakeTimers();
  trips = 0;
  const execute = async (): Promise<void> => {
    trips += 1;
  };
  const acknowledged = new Acknowledged();
  const ballotPublisher = new BallotPublisher({ execute } as unknown as Deps['db']);
  const deps = {
    db: { execute },
    log: createLog('silent'),
    acknowledged,
    ballotPublisher,
    config: { webConcurrency: 1 },
  };
  const receipts = createLogReceipts(deps as unknown as ReceiptDeps);
  confirm = (eventId, ballots) => {
    for (let ballot = 0; ballot < ballots; ballot += 1) {
      const event = { id: eventId, rehearsalSince: null } as VotingEvent;
      receipts.confirmed(event, { ballotId: `bal_${ballot}`, leafTag: Buffer.alloc(32) });
    }
  };
});
afterEach(() => {
  vi.useRealTimers();
});

test('a queue that fills is announced at once, and one of another event too', () => {
  confirm('evt_one', FULL_QUEUE - 1);
  expect(trips).toBe(0);
  confirm('evt_one', 1);
  expect(trips).toBe(1);
  confirm('evt_other', FULL_QUEUE);
  expect(trips).toBe(2);
});

test('queues that fill one after another are announced once a pause, and none is forgotten', () => {
  confirm('evt_one', 10 * FULL_QUEUE);
  expect(trips).toBe(1);
  vi.advanceTimersByTime(SEAL_PAUSE_MS);
  expect(trips).toBe(2);
  vi.advanceTimersByTime(10 * SEAL_PAUSE_MS);
  expect(trips).toBe(2);
  confirm('evt_one', FULL_QUEUE);
  expect(trips).toBe(3);
});
