import { enqueue } from '#src/jobs/queue.ts';
import { createTestEvent, demand } from './elections.ts';
import type { TestAccount, TestService } from './test-service.ts';

const BATCH = 100;

export interface ListedVoter {
  readonly id: string;
  readonly email: string;
}

/** An election that is not open, with so many voters, and what asks for a mail to each of them. */
export async function createRoll(service: TestService, account: TestAccount, count: number) {
  const event = await createTestEvent(service, account, { type: 'election' });
  const voters: ListedVoter[] = [];
  while (voters.length < count) {
    const from = voters.length;
    const rows = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => ({
      name: `Voter ${from + index}`,
      email: `voter-${from + index}@club.example`,
    }));
    const path = `/voting-events/${event.id}/voters/batch`;
    voters.push(...demand(await service.call('POST', path, { voters: rows }, { key: account.write }), 201));
  }
  const find = async (id: string) =>
    demand(await service.call('GET', `/voting-events/${event.id}/voters/${id}`, undefined, { key: account.read }), 200);
  return {
    event,
    voters,
    /** The organizer asks for keys. */
    async mail(some: readonly ListedVoter[]): Promise<void> {
      for (const { id } of some) {
        const path = `/voting-events/${event.id}/voters/${id}/voter-key`;
        demand(await service.call('POST', path, undefined, { key: account.write }), 202);
      }
    },
    keyStatus: async (id: string): Promise<string> => (await find(id)).keyStatus,
    /** Asks for the deletion of a voter that is marked as deleted already: work for the queue. */
    async enqueueDeletion(): Promise<void> {
      await enqueue(service.deps.db, { name: 'remove_deleted_voters' }, { eventId: event.id });
    },
  };
}
