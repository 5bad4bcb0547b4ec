import { describe, expect, test } from 'vitest';
import { sealBallots, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { patiently, type TestService } from '#test/harness/test-service.ts';
import { useTwoProcesses } from './two-processes.ts';

const { first: service, second: other, account, either, page } = await useTwoProcesses();

async function cast(on: TestService, event: TestEvent, identity: object, candidate = 0): Promise<string> {
  const answer = await page(on, event, 'ballot/cast', { ...identity, votes: votesFor(event, candidate) });
  return answer.body.data.confirmationCode;
}

const confirm = (on: TestService, event: TestEvent, confirmationCode: string) =>
  page(on, event, 'ballot/confirm', { confirmationCode });

async function countBallots(event: TestEvent): Promise<number> {
  const answer = await other.call('GET', `/voting-events/${event.id}/results`, undefined, { key: account.read });
  return answer.body.data.stats.ballots;
}

describe('with two processes on one database', () => {
  test('one e-mail has one counted ballot, however many of its visitors confirm at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const event = await account.event({ voter: { saveVoterInfo: true } });
      const codes = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          cast(either(index), event, { visitorId: visitor(), email: `Same${round}@mail.example` }),
        ),
      );
      const answers = await Promise.all(
        codes.map((code, index) => patiently(() => confirm(either(index), event, code))),
      );
      expect(answers.map((answer) => answer.status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 409)]);
      expect(await countBallots(event)).toBe(1);
    }
  });

  test('one code that is confirmed many times at once counts once, with one answer', async () => {
    const event = await account.event();
    const code = await cast(service, event, { visitorId: visitor() });
    const answers = await Promise.all(Array.from({ length: 24 }, (_, index) => confirm(either(index), event, code)));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    expect(await countBallots(event)).toBe(1);
  });

  test('no ballot is stored under a definition that changed while it was cast', async () => {
    const event = await account.event();
    const position = event.positions[0];
    const casts = Array.from({ length: 12 }, (_, index) =>
      page(either(index), event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event) }),
    );
    const change = account.delete(`/voting-events/${event.id}/candidates/${position?.candidates[0]}`);
    const [deleted, ...answers] = await Promise.all([change, ...casts]);
    const stored = answers.filter((answer) => answer.status === 201).length;
    // Either the change came first and every later ballot was refused, or a ballot came first and the change was.
    if (deleted.status === 202) expect(stored).toBe(0);
    else
      expect([deleted.status, deleted.body.error.details.reason, stored > 0]).toEqual([409, 'event_has_ballots', true]);
  });

  test('results after every confirm hold that ballot, while ballots move into the box', async () => {
    const event = await account.event();
    for (let index = 0; index < 20; index += 1) {
      const code = await cast(either(index), event, { visitorId: visitor() });
      expect((await confirm(either(index), event, code)).status).toBe(200);
      const moving = sealBallots(service, event.id, 3);
      expect(await countBallots(event)).toBe(index + 1);
      await moving;
    }
  });
});
