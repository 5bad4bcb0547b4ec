import { describe, expect, test } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { demand, fieldOf, issuesOf, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, sealBallots, type TestEvent, visitor } from '#test/harness/elections.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();

const NAMES = ['Ada', 'Bea', 'Cy'];
const EVERY_METHOD = [
  ...['plurality', 'approval'].map((votingMethod) => ({ votingMethod, candidates: NAMES })),
  { votingMethod: 'referendum', candidates: ['Yes', 'No'] },
  ...['score', 'cumulative', 'quadratic', 'ranked_choice'].map((votingMethod) => ({ votingMethod, candidates: NAMES })),
];

function at<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new Error(`there is no value ${index}`);
  return value;
}

const vote = (event: TestEvent, position: number, candidate: number, extra: object = {}) => ({
  positionId: at(event.positions, position).id,
  candidateId: at(at(event.positions, position).candidates, candidate),
  ...extra,
});

const cast = (event: TestEvent, votes: readonly unknown[], identity: object = { visitorId: visitor() }) =>
  account.page(event, 'ballot/cast', { ...identity, votes });
/** The code of a ballot that must be taken. */
const castCode = async (...ballot: Parameters<typeof cast>): Promise<string> =>
  demand(await cast(...ballot), 201).confirmationCode;
const confirm = (event: TestEvent, confirmationCode: string) =>
  account.page(event, 'ballot/confirm', { confirmationCode });

describe('a poll', () => {
  test('asks for no more choices than candidates stand, once one of them withdrew from an open event', async () => {
    const exactly = { settings: { minSelections: 3, maxSelections: 3 }, candidates: ['Ada', 'Bea', 'Cy'] };
    const event = await account.event({}, [{ votingMethod: 'approval', ...exactly }]);
    const choose = (...of: number[]) => of.map((candidate) => vote(event, 0, candidate));
    demand(await confirm(event, await castCode(event, choose(0, 1, 2))), 200);
    expect((await cast(event, choose(1, 2))).status).toBe(422);
    const withdraw = (candidate: number) =>
      account.of(event).change(`/candidates/${choose(candidate)[0]?.candidateId}`, { status: 'withdrawn' });
    await withdraw(0);
    expect(demand(await account.page(event, 'ballot'), 200).positions[0]).toMatchObject({ minSelections: 2 });
    expect(issuesOf(await cast(event, choose(1)))).toEqual(['votes[0].positionId']);
    demand(await confirm(event, await castCode(event, choose(1, 2))), 200);
    await withdraw(1);
    demand(await confirm(event, await castCode(event, choose(2))), 200);
  });

  test('takes ballots of all seven methods and counts each by its own rule', async () => {
    const event = await account.event({ results: { visibility: 'live' } }, EVERY_METHOD);
    const ballot = [
      vote(event, 0, 0),
      vote(event, 1, 0),
      vote(event, 1, 1),
      vote(event, 2, 0),
      vote(event, 3, 0, { value: 5 }),
      vote(event, 3, 1, { value: 2 }),
      vote(event, 4, 2, { value: 10 }),
      vote(event, 5, 1, { value: 3 }),
      vote(event, 6, 2, { rank: 1 }),
      vote(event, 6, 0, { rank: 2 }),
    ];
    const confirmed = await account.votePoll(event, ballot);
    expect(confirmed).toMatchObject({ confirmedCount: 10, totalVotes: 10 });
    expect(confirmed.votes).toContainEqual({ positionName: 'By plurality', candidateName: 'Ada' });
    await account.votePoll(event, [vote(event, 0, 1)]);
    const results = demand(await account.page({ id: event.code.toLowerCase() }, 'results'), 200);
    const won = valuesOf(results.positions, 'candidates').map((candidates) =>
      valuesOf(candidates, 'votesWon').join(' '),
    );
    expect(won).toEqual(['1 1 0', '1 1 0', '1 0', '5 2 0', '0 0 10', '0 3 0', '0 0 1']);
    expect(results.positions[6].rounds).toHaveLength(1);
    expect(results.positions[1]).toMatchObject({ ballots: 1, abstentions: 1 });
    expect(results).toMatchObject({ final: false, stats: { ballots: 2 } });
  });

  test.each([
    ['email', 'saveVoterInfo', 'email', 'Same@Mail.example', 'same@mail.example'],
    ['voter_id', 'requireVoterId', 'voterId', 'K-1', ' K-1 '],
  ])(
    'by %s tells two visitors with the same one apart from nobody',
    async (identity, setting, field, first, second) => {
      const event = await account.event({ voter: { [setting]: true } });
      const context = await service.call('GET', `/public/voting-events/${event.id}`, undefined, { key: account.vote });
      expect(demand(context, 200).voter.pollIdentity).toBe(identity);
      const votes = [vote(event, 0, 0)];
      expect(fieldOf(await cast(event, votes))).toEqual([422, field]);
      const code = await castCode(event, votes, { visitorId: visitor(), [field]: first });
      const rival = await castCode(event, votes, { visitorId: visitor(), [field]: second });
      demand(await confirm(event, code), 200);
      expect(refusalOf(await confirm(event, rival))).toEqual([409, 'already_voted']);
    },
  );

  test('takes the lowest and the highest mark of a scale, and none beyond', async () => {
    const settings = { scoreMin: -2, scoreMax: 3 };
    const event = await account.event({}, [{ votingMethod: 'score', candidates: NAMES, settings }]);
    const mark = async (value: number) => fieldOf(await cast(event, [vote(event, 0, 0, { value })]));
    for (const value of [-2, 0, 3]) expect(await mark(value)).toEqual([201, undefined]);
    for (const value of [-3, 4]) expect(await mark(value)).toEqual([422, 'votes[0].value']);
  });

  test('confirms the same code twice with the same answer, before and after the ballot moved into the box', async () => {
    const event = await account.event({}, EVERY_METHOD.slice(0, 1));
    const code = await castCode(event, [vote(event, 0, 0)]);
    const [first, second] = [await confirm(event, code), await confirm(event, code)];
    await sealBallots(service, event.id, 1);
    const third = await confirm(event, code.toLowerCase());
    expect(first.status).toBe(200);
    expect(second.body).toEqual(first.body);
    expect(third.body).toEqual(first.body);
    expect((await confirm(event, '%')).status).toBe(404);
  });

  test('lists its votes page by page, each once, box and queue, with the visible voter ID; and its figures', async () => {
    const event = await account.event({}, EVERY_METHOD.slice(0, 2));
    const visitors = Array.from({ length: 5 }, () => visitor());
    for (const [index, visitorId] of visitors.entries()) {
      await account.votePoll(event, [vote(event, 0, index % 3), vote(event, 1, 0), vote(event, 1, 1)], visitorId);
      if (index === 2) await sealBallots(service, event.id, 1);
    }
    const seen = (await account.of(event).pages('/votes?limit=4')).flat();
    expect(seen).toHaveLength(15);
    expect(new Set(valuesOf(seen, 'id')).size).toBe(15);
    expect(new Set(valuesOf(seen, 'voterId'))).toEqual(new Set(visitors));
    const first = at(at(event.positions, 0).candidates, 0);
    expect(await account.of(event).show(`/votes?candidateId=${first}`)).toHaveLength(2);
    expect(await account.of(event).show('/stats')).toMatchObject({
      ...{ voters: { total: 5, voted: 5 }, turnout: { heads: 1 } },
      ...{ ballots: { cast: 5, confirmed: 5 }, votes: { total: 15 } },
    });
    const free = await service.account('free');
    const own = await free.event({}, [], false);
    const gated = await free.of(own).get('/votes');
    expect([gated.status, gated.body.error.details]).toEqual([403, { reason: 'plan_feature', feature: 'data_export' }]);
  });

  test('names every entry that breaks a rule, all at once', async () => {
    const event = await account.event({}, EVERY_METHOD);
    const votes = [
      vote(event, 0, 0, { rank: 1 }),
      vote(event, 0, 1),
      vote(event, 3, 0, { value: 6 }),
      vote(event, 4, 0, { value: 0 }),
      vote(event, 6, 0, { rank: 1 }),
      vote(event, 6, 1, { rank: 1, value: 1 }),
      { positionId: 'pos_nope', candidateId: 'cnd_nope' },
    ];
    const answer = await cast(event, votes);
    expect(answer.status).toBe(422);
    expect(issuesOf(answer).sort()).toEqual([
      ...['votes[0].rank', 'votes[1].candidateId', 'votes[2].value', 'votes[3].value'],
      ...['votes[5].rank', 'votes[5].value', 'votes[6].candidateId', 'votes[6].positionId'],
    ]);
  });
});

describe('an election', () => {
  const keyFor = (event: TestEvent, email: string): Promise<string> =>
    mailedVoterKey(service, async () =>
      expect(demand(await account.page(event, 'voter-key/request', { email }), 200).sent).toBe(true),
    );

  test('runs from the roll to the results, with a key that came by mail', async () => {
    const event = await account.event(
      { type: 'election', results: { visibility: 'published' } },
      EVERY_METHOD.slice(0, 2),
    );
    const vera = { name: 'Vera', email: 'vera@mail.example', weight: 2.5 };
    const otto = { name: 'Otto', email: 'otto@mail.example' };
    await account.of(event).make('/voters/batch', { voters: [vera, otto] });
    const voterKey = await keyFor(event, 'VERA@mail.example');
    const typed = voterKey.toLowerCase().replaceAll('-', '');
    const check = await account.page(event, 'voter/check', { voterKey: typed, email: 'vera@mail.example' });
    expect(check.body.data).toEqual({ eligible: true });
    const identity = { voterKey: typed, email: 'vera@mail.example' };
    demand(await confirm(event, await castCode(event, [vote(event, 0, 1)], identity)), 200);
    expect(refusalOf(await account.page(event, 'results'))).toEqual([403, 'results_not_available']);
    // Two voters with weights of their own: nothing of a vote is shown before the result is final.
    const live = await account.of(event).show('/results');
    expect(live.stats).toMatchObject({ ballots: 0, disclosure: { everyBallots: 5, waiting: true } });
    expect((await account.of(event).change('', { status: 'closed' })).status).toBe('closed');
    // A mistaken close can be undone for 15 minutes: until then nothing is published.
    expect((await account.page(event, 'results')).status).toBe(403);
    await finishEvent(service, event.id);
    expect((await account.page(event, 'results')).status).toBe(200);
    const results = await account.of(event).show('/results');
    expect(results.stats).toMatchObject({ ballots: 1, electorate: 3.5, turnout: 0.714285 });
    const candidates = [{}, { votesWon: 1, weightWon: '2.5', winner: true }, {}];
    expect(results.positions[0]).toMatchObject({ candidates });
    const voters = await account.of(event).show('/voters?voted=true');
    expect(voters).toMatchObject([{ name: 'Vera', hasVoted: true, keyStatus: 'used' }]);
    const late = await cast(event, [vote(event, 0, 1)], { voterKey: typed, email: otto.email });
    expect(refusalOf(late)).toEqual([403, 'event_closed']);
  });

  test('refuses wrong keys by 403 ten times and then by 429, for a voter and for nobody alike, and always takes a right one', async () => {
    const event = await account.event({ type: 'election' }, EVERY_METHOD.slice(0, 1));
    await account.post(`/voting-events/${event.id}/voters`, { name: 'Vera', email: 'vera@mail.example' });
    const voterKey = await keyFor(event, 'vera@mail.example');
    for (const email of ['vera@mail.example', 'nobody@mail.example']) {
      const attempt = (key: string) => cast(event, [vote(event, 0, 0)], { voterKey: key, email });
      for (let count = 0; count < 10; count += 1) {
        expect(refusalOf(await attempt('0000-0000-0000-0000'))).toEqual([403, 'voter_key_invalid']);
      }
      const limited = await attempt('0000-0000-0000-0000');
      expect(limited.status).toBe(429);
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
      const right = await attempt(voterKey);
      expect(right.status).toBe(email === 'vera@mail.example' ? 201 : 429);
    }
    const check = (key: string) => account.page(event, 'voter/check', { voterKey: key, email: 'vera@mail.example' });
    for (const wrong of ['0000-0000-0000-0000', 'X'.repeat(65), `Your key: ${voterKey}. Tell it to nobody.`, '   '])
      expect((await check(wrong)).body.data).toEqual({ eligible: false, reason: 'voter_key_invalid' });
    expect((await check(voterKey)).body.data).toEqual({ eligible: true });
  });

  test('answers a request for a key the same for a voter and for nobody', async () => {
    const event = await account.event({ type: 'election' }, EVERY_METHOD.slice(0, 1));
    await account.post(`/voting-events/${event.id}/voters`, { name: 'Vera', email: 'jane@example.com' });
    const known = await account.page(event, 'voter-key/request', { email: 'jane@example.com' });
    const unknown = await account.page(event, 'voter-key/request', { email: 'john@example.com' });
    expect(known.body).toEqual({ data: { sent: true, maskedEmail: 'j***@e***.com' } });
    expect(unknown.body).toEqual(known.body);
  });

  test('opens a position to its group alone', async () => {
    const event = await account.event({ type: 'election' }, EVERY_METHOD.slice(0, 2), false);
    const own = account.of(event);
    const { id: groupId } = await own.make('/groups', { name: 'North' });
    await own.change(`/positions/${at(event.positions, 1).id}`, { groupId });
    await own.change('', { status: 'open' });
    await own.make('/voters', { name: 'In', email: 'in@mail.example', groupId });
    await own.make('/voters', { name: 'Out', email: 'out@mail.example' });
    const castAs = async (email: string) =>
      cast(event, [vote(event, 1, 0)], { voterKey: await keyFor(event, email), email });
    expect((await castAs('in@mail.example')).status).toBe(201);
    const refused = await castAs('out@mail.example');
    expect(refused.body.error.details).toMatchObject({ field: 'votes[0].positionId', reason: 'not_in_group' });
  });
});

describe('results', () => {
  test('take a ballot confirmed within fifteen minutes of the close, and none after', async () => {
    const event = await account.event({}, EVERY_METHOD.slice(0, 1));
    const votes = [vote(event, 0, 0)];
    const [early, late] = [await castCode(event, votes), await castCode(event, votes)];
    await account.patch(`/voting-events/${event.id}`, { status: 'closed' });
    expect((await confirm(event, early)).status).toBe(200);
    await moveEnd(service.deps, event.id, 'closed_at = closed_at - 16 * 60 * 1000');
    const aged = 'UPDATE pending_ballots SET cast_at = cast_at - 16 * 60 * 1000 WHERE voting_event_id = $1';
    await service.query(aged, [event.id]);
    const refusal = async () => refusalOf(await confirm(event, late));
    expect(await refusal()).toEqual([403, 'event_closed']);
    // The same once what was not confirmed is dropped.
    await dropAllExpiredBallots(service.deps);
    expect(await refusal()).toEqual([403, 'event_closed']);
    expect((await confirm(event, early)).status).toBe(200);
    expect((await account.of(event).show('/results')).stats.ballots).toBe(1);
  });
});
