import { expect, test } from 'vitest';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, type PositionPlan, votePoll } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const RANKED: readonly PositionPlan[] = [{ votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea'] }];
const OPEN = { hidden: false, live: true, published: false };
const PUBLIC_WHEN_FINAL = { hidden: false, live: true, published: true };

test.each(['hidden', 'live', 'published'] as const)(
  'results that are `%s` are read by observers once they are final, and before that by whom they are public to',
  async (visibility) => {
    const event = await account.event({ results: { visibility } }, RANKED);
    const [position] = event.positions;
    await votePoll(service, account, event, [
      { positionId: position?.id, candidateId: position?.candidates[0], rank: 1 },
    ]);
    const observer = await createObserverKey(service, account, event.id);
    const read = async (key: string): Promise<boolean[]> => {
      const base = `/public/voting-events/${event.id}/results`;
      const answers = await Promise.all(
        [base, `${base}/rounds?positionId=${position?.id}`].map((path) =>
          service.call('GET', path, undefined, { key }),
        ),
      );
      for (const { status, body } of answers)
        if (status !== 200) expect(body.error.details.reason).toBe('results_not_available');
      return answers.map(({ status }) => status === 200);
    };
    const both = (is: boolean): boolean[] => [is, is];
    for (const key of [account.vote, observer]) expect(await read(key)).toEqual(both(OPEN[visibility]));
    demand(await account.patch(`/voting-events/${event.id}`, { status: 'closed' }), 200);
    for (const key of [account.vote, observer]) expect(await read(key)).toEqual(both(OPEN[visibility]));
    await finishEvent(service, event.id);
    service.deps.events.forget(event.id);
    expect(await read(account.vote)).toEqual(both(PUBLIC_WHEN_FINAL[visibility]));
    expect(await read(observer)).toEqual(both(true));
  },
);
