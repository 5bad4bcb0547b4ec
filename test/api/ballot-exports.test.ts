import { describe, expect, test } from 'vitest';
import { demand, finishEvent, type TestEvent, votePoll } from '#test/harness/elections.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { patiently, useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const RANKED = { votingMethod: 'ranked_choice', candidates: ['Ada "the first"', 'Bea', 'Cid'], settings: { seats: 2 } };
const get = (event: TestEvent, path: string, key: string | undefined = account.read) =>
  service.call('GET', `/voting-events/${event.id}/results/${path}`, undefined, key === undefined ? {} : { key });

/** What an export redirects to. */
async function download(event: TestEvent, path: string) {
  const answer = await get(event, path);
  expect(answer.status).toBe(302);
  const { pathname } = new URL(answer.headers.get('location') ?? '');
  const file = await patiently(() => service.call('GET', pathname));
  return { ...file, disposition: file.headers.get('content-disposition') ?? '' };
}

const rank = (event: TestEvent, places: readonly (readonly [number, number])[]) =>
  places.map(([candidate, place]) => ({
    positionId: event.positions[0]?.id,
    candidateId: event.positions[0]?.candidates[candidate],
    rank: place,
  }));

async function vote(event: TestEvent, email: string, votes: readonly unknown[]): Promise<void> {
  const voterKey = await mailedVoterKey(service, () => account.page(event, 'voter-key/request', { email }));
  const { confirmationCode } = demand(await account.page(event, 'ballot/cast', { voterKey, email, votes }), 201);
  demand(await account.page(event, 'ballot/confirm', { confirmationCode }), 200);
}

describe('the ballots of a ranked position as BLT', () => {
  test('hold seats, withdrawn candidates, each ballot with its ranks closed up, abstentions and names', async () => {
    const event = await account.event({ title: 'Board' }, [
      { ...RANKED, settings: { seats: 2, minSelections: 0 } },
      { votingMethod: 'plurality', candidates: ['X', 'Y'] },
    ]);
    const other = { positionId: event.positions[1]?.id, candidateId: event.positions[1]?.candidates[0] };
    await votePoll(
      service,
      account,
      event,
      rank(event, [
        [1, 3],
        [0, 1],
      ]),
    );
    await votePoll(service, account, event, rank(event, [[2, 1]]));
    await votePoll(service, account, event, [other]);
    const path = `blt?positionId=${event.positions[0]?.id}`;
    const early = await get(event, path);
    expect([early.status, early.body.error.details.reason]).toEqual([403, 'openings_not_available']);
    const withdrawn = `/voting-events/${event.id}/candidates/${event.positions[0]?.candidates[2]}`;
    demand(await account.patch(withdrawn, { status: 'withdrawn' }), 200);
    await finishEvent(service, event.id);
    const { status, body, disposition } = await download(event, path);
    expect([status, disposition.includes('ballots.blt')]).toEqual([200, true]);
    const lines = body.split('\n');
    expect(lines.slice(0, 2)).toEqual(['3 2', '-3']);
    expect(lines.slice(2, 5).sort()).toEqual(['1 0', '1 1 2 0', '1 3 0']);
    expect(lines.slice(5)).toEqual(['0', '"Ada \'the first\'"', '"Bea"', '"Cid"', '"Board: By ranked_choice"', '']);
  });

  test('hold weights in whole numbers, and are refused where a weight would show whose a ballot is', async () => {
    const make = async (weights: readonly number[]): Promise<TestEvent> => {
      const event = await account.event({ type: 'election' }, [RANKED]);
      const voters = weights.map((weight, index) => ({
        name: `V${index}`,
        email: `v${index}@${event.code}.example`,
        weight,
      }));
      demand(await account.post(`/voting-events/${event.id}/voters/batch`, { voters }), 201);
      for (const index of [0, weights.length - 1])
        await vote(event, `v${index}@${event.code}.example`, rank(event, [[index === 0 ? 0 : 1, 1]]));
      await finishEvent(service, event.id);
      return event;
    };
    const common = await make([1.5, 1.5, 1.5, 1.5, 1.5, 1, 1, 1, 1, 1]);
    const path = (event: TestEvent): string => `blt?positionId=${event.positions[0]?.id}`;
    const { body } = await download(common, path(common));
    expect(body.split('\n').slice(1, 3).sort()).toEqual(['2 2 0', '3 1 0']);
    const rare = await make([1.5, 1, 1, 1, 1, 1]);
    const refused = await get(rare, path(rare));
    expect([refused.status, refused.body.error.details.reason]).toEqual([409, 'weights_kept_back']);
    const alike = await make([2, 2]);
    expect((await download(alike, path(alike))).body.split('\n').slice(1, 3).sort()).toEqual(['1 1 0', '1 2 0']);
  });

  test('are refused to other keys, plans, positions and questions', async () => {
    const event = await account.event({}, [RANKED, { votingMethod: 'approval', candidates: ['X'] }]);
    const free = await service.account('free');
    const own = await free.event({}, [RANKED]);
    const codes = async (path: string, key?: string, of = event) => {
      const answer = await get(of, path, key);
      return [answer.status, answer.body.error.details?.reason ?? answer.body.error.code];
    };
    const good = `blt?positionId=${event.positions[0]?.id}`;
    expect(await codes('blt')).toEqual([400, 'bad_request']);
    expect(await codes(`${good}&x=1`)).toEqual([400, 'bad_request']);
    expect(await codes(`blt?positionId=${event.positions[1]?.id}`)).toEqual([400, 'bad_request']);
    expect(await codes('blt?positionId=pos_unknown')).toEqual([404, 'not_found']);
    expect(await codes(good, account.vote)).toEqual([403, 'insufficient_scope']);
    expect(await codes(good, free.read)).toEqual([404, 'not_found']);
    expect(await codes(`blt?positionId=${own.positions[0]?.id}`, free.read, own)).toEqual([403, 'plan_feature']);
  });
});

describe('the results as a table of candidates', () => {
  test('have one candidate a row, the most votes first', async () => {
    const event = await account.event({ title: 'Lunch' }, [
      { votingMethod: 'plurality', candidates: ['Soup', '=Curry'] },
      { votingMethod: 'approval', candidates: ['Tea'] },
    ]);
    const [meal] = event.positions;
    const choose = (index: number) => [{ positionId: meal?.id, candidateId: meal?.candidates[index] }];
    for (const index of [1, 1, 0]) await votePoll(service, account, event, choose(index));
    const { body, disposition } = await download(event, 'csv?layout=table');
    expect(disposition).toContain('results-table.csv');
    const [head, ...rows] = parseCsv(body);
    expect(head?.map((name) => name.replace('\ufeff', ''))).toEqual([
      ...['positionId', 'position', 'votingMethod', 'seats', 'ballots', 'abstentions', 'totalVotes'],
      ...['candidateId', 'candidate', 'votes', 'weight', 'winner', 'tied', 'final'],
    ]);
    expect(rows.map((row) => [...row.slice(1, 7), ...row.slice(8)])).toEqual([
      ['By plurality', 'plurality', '1', '3', '0', '3', "'=Curry", '2', '2', 'true', 'false', 'false'],
      ['By plurality', 'plurality', '1', '3', '0', '3', 'Soup', '1', '1', 'false', 'false', 'false'],
      ['By approval', 'approval', '1', '0', '3', '0', 'Tea', '0', '0', expect.any(String), expect.any(String), 'false'],
    ]);
    expect((await download(event, 'csv')).body).toContain('record,positionId');
    expect((await download(event, 'csv?layout=figures')).body).toContain('record,positionId');
    const refused = await get(event, 'csv?layout=wide');
    expect([refused.status, refused.body.error.code]).toEqual([400, 'bad_request']);
  });
});
