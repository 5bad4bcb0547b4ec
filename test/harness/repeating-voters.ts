import { setTimeout as delay } from 'node:timers/promises';
import { type TestEvent, visitor } from './elections.ts';

/** A process that was stopped takes connections and answers none. */
const PATIENCE_MS = 2_000;
const CLOSED_PAUSE_MS = 200;

/**
 * Clients that cast and confirm all the time, one for each candidate, and repeat a request with its Idempotency-Key as the API
 * says: after a closed connection, and after an answer with `Retry-After` when that is over. What failed goes to the next of
 * the processes.
 */
export function voteAllTheTime(ports: readonly number[], key: string, event: TestEvent) {
  const [position] = event.positions;
  const confirmed = new Map<string, number>();
  let [going, turn, mostTries] = [true, 0, 0];

  async function tryOnce(target: string, idempotencyKey: string, body: unknown): Promise<unknown> {
    const port = ports[turn % ports.length];
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/public/voting-events/${event.id}/ballot/${target}`, {
        method: 'POST',
        headers: {
          ...{ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const json = await answer.json();
      if (answer.status < 300) return json;
      const again = answer.headers.get('retry-after');
      if (again === null) throw new Error(`${target}: ${answer.status} ${JSON.stringify(json)}`, { cause: 'refused' });
      turn += 1;
      await delay(Number(again) * 1_000);
    } catch (fault) {
      if (fault instanceof Error && fault.cause === 'refused') throw fault;
      turn += 1;
      await delay(CLOSED_PAUSE_MS);
    }
    return undefined;
  }

  async function send<T>(target: string, body: unknown): Promise<T> {
    const idempotencyKey = visitor();
    for (let tries = 1; ; tries += 1) {
      mostTries = Math.max(mostTries, tries);
      const answer = await tryOnce(target, idempotencyKey, body);
      if (answer !== undefined) return (answer as { data: T }).data;
    }
  }

  async function vote(candidateId: string): Promise<void> {
    while (going) {
      const votes = [{ positionId: position?.id, candidateId }];
      const { confirmationCode } = await send<{ confirmationCode: string }>('cast', { visitorId: visitor(), votes });
      await send('confirm', { confirmationCode });
      confirmed.set(candidateId, (confirmed.get(candidateId) ?? 0) + 1);
    }
  }

  const voting = Promise.all((position?.candidates ?? []).map(vote));
  return {
    /** How many votes are confirmed so far. */
    count: () => [...confirmed.values()].reduce((sum, count) => sum + count, 0),
    /** Ends when every request under way has its answer: votes by candidate, and the most tries of one request. */
    async stop() {
      going = false;
      await voting;
      return { confirmed: confirmed as ReadonlyMap<string, number>, mostTries };
    },
  };
}
