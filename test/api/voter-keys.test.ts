import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvent, demand, type PositionPlan } from '#test/harness/elections.ts';
import { createTestAccount, startTestService, type TestAccount, type TestService } from '#test/harness/test-service.ts';

const PLURALITY: readonly PositionPlan[] = [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }];

let service: TestService;
let account: TestAccount;
beforeAll(async () => {
  service = await startTestService();
  account = await createTestAccount(service);
});
afterAll(() => service.stop());

describe('the mask of an address', () => {
  const rows = Array.from({ length: 60 }, (_, index) => ({
    name: `Voter ${index}`,
    voterId: `M-${index}`,
    // Two domains and endings, and names that begin with one of three letters.
    email: `${'xyz'.charAt(index % 3)}${index}@${index % 2 === 0 ? 'quad.museum' : 'wide.aero'}`,
  }));

  async function createRoll(voters: readonly object[]) {
    const event = await createTestEvent(
      service,
      account,
      { type: 'election', voter: { requireVoterId: true } },
      PLURALITY,
    );
    if (voters.length > 0)
      demand(
        await service.call('POST', `/voting-events/${event.id}/voters/batch`, { voters }, { key: account.write }),
        201,
      );
    return event;
  }
  const maskOf = async (event: { id: string }, voterId: string): Promise<string> => {
    const path = `/public/voting-events/${event.id}/voter-key/request`;
    return demand(await service.call('POST', path, { voterId }, { key: account.vote }), 200).maskedEmail;
  };

  test('of an unknown voter ID is made of parts that the roll has, and stays the same', async () => {
    const event = await createRoll(rows);
    const masks = new Set<string>();
    for (let index = 0; index < 40; index += 1) {
      const mask = await maskOf(event, `nobody-${index}`);
      expect(mask).toMatch(/^[xyz]\*\*\*@[qw]\*\*\*\.(museum|aero)$/);
      expect(await maskOf(event, `nobody-${index}`)).toBe(mask);
      masks.add(mask);
    }
    expect(masks.size).toBeGreaterThan(5);
    expect(await maskOf(event, 'M-1')).toBe('y***@w***.aero');
  });

  test('of a voter without an address is invented as for an unknown one', async () => {
    const event = await createRoll([...rows, { name: 'Nemo', voterId: 'M-none' }]);
    expect(await maskOf(event, 'M-none')).toMatch(/^[xyz]\*\*\*@[qw]\*\*\*\.(museum|aero)$/);
  });

  test('of an empty roll says nothing', async () => {
    expect(await maskOf(await createRoll([]), 'nobody')).toBe('***@***');
  });
});
