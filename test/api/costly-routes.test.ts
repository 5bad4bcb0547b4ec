import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { CostlyReads } from '#src/http/costly-reads.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();
const event = await account.event({}, [{ votingMethod: 'approval', candidates: ['Ada'] }]);
const body = { url: 'https://hooks.example.com/a', eventTypes: ['voter.created'] };
const endpointId = (await account.post('/webhook-endpoints', body)).body.data.id;

/** What a read counts as, and which tables it asks for over which connections. */
async function watch(target: string) {
  const runs = vi.spyOn(CostlyReads.prototype, 'run');
  const { db, reads } = service.deps;
  const asked = [vi.spyOn(db.$client, 'query'), vi.spyOn(reads.$client, 'query')];
  const { status } = await account.get(target);
  const [onMain = '', onReads = ''] = asked.map(({ mock }) =>
    inspect(
      mock.calls.map(([query]) => query),
      { depth: 3, maxArrayLength: null, maxStringLength: null },
    ),
  );
  const accounts = runs.mock.calls.map(([of]) => of);
  for (const spy of [runs, ...asked]) spy.mockRestore();
  return { status, accounts, onMain, onReads };
}

describe('a read that costs much', () => {
  const eventPath = () => `/voting-events/${event.id}`;
  const endpointPath = () => `/webhook-endpoints/${endpointId}`;
  const COSTLY: readonly [string, () => string, string][] = [
    ['a search of voters', () => `${eventPath()}/voters?search=ada`, 'voters'],
    ['who has voted', () => `${eventPath()}/voters?voted=true`, 'voters'],
    ['the roll as a table', () => `${eventPath()}/voters/csv`, 'voters'],
    ['the votes', () => `${eventPath()}/votes`, 'ballot_blocks'],
    ['the audit trail', () => `${eventPath()}/audit`, 'audit_entries'],
    ['the audit trail as a table', () => `${eventPath()}/audit/csv`, 'audit_entries'],
    ['the payments', () => `${eventPath()}/payments?search=pay`, 'payment_attempts'],
    ['the payments as a table', () => `${eventPath()}/payments/csv`, 'payment_attempts'],
    ['the deliveries', () => `${endpointPath()}/deliveries?search=msg`, 'webhook_deliveries'],
    ['the deliveries as a table', () => `${endpointPath()}/deliveries/csv`, 'webhook_deliveries'],
  ];

  test.each(COSTLY)('%s counts for the account, and leaves the connections of casts alone', async (_, path, table) => {
    const { status, accounts, onMain, onReads } = await watch(path());
    expect([status, accounts]).toEqual([200, [account.id]]);
    const named = new RegExp(`\\b${table}\\b`);
    expect([named.test(onReads), named.test(onMain)]).toEqual([true, false]);
  });

  test('statistics count for the account', async () => {
    expect(await watch(`${eventPath()}/stats`)).toMatchObject({ status: 200, accounts: [account.id] });
  });

  test.each(['csv', 'json', 'cvr'])(
    'a file of the results counts for the account that asked for it: %s',
    async (kind) => {
      const { headers } = await account.get(`${eventPath()}/results/${kind}`);
      const { pathname } = new URL(headers.get('location') ?? '');
      expect(await watch(pathname)).toMatchObject({ status: 200, accounts: [account.id] });
    },
  );

  test('is none of the short ones', async () => {
    for (const path of ['', '/positions', '/candidates', '/voters', '/results'])
      expect(await watch(`${eventPath()}${path}`)).toMatchObject({ status: 200, accounts: [] });
  });
});
