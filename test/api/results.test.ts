import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { fieldOf, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { finishEvent, PLURALITY, people, type TestEvent } from '#test/harness/elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { runVerifier } from '#test/harness/started-service.ts';
import { type TestAnswer, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const { service, account } = await useAccount();

const resultsOf = async (event: TestEvent): Promise<TestAnswer['body']> =>
  await account.show(`/voting-events/${event.id}/results`);

async function vote(
  event: TestEvent,
  choices: readonly (readonly [position: number, candidate: number, extra?: object])[],
) {
  const votes = choices.map(([position, candidate, extra = {}]) => ({
    positionId: event.positions[position]?.id,
    candidateId: event.positions[position]?.candidates[candidate],
    ...extra,
  }));
  await account.votePoll(event, votes);
}

const close = async (event: TestEvent): Promise<void> => {
  await account.change(`/voting-events/${event.id}`, { status: 'closed' });
};

describe('the electorate of a position', () => {
  // A referendum of one group was measured against the whole roll.
  test('is the approved weight of those it is open to: results, quorum, table, close leaf and verifier agree', async () => {
    const half = { numerator: 1, denominator: 2, inclusive: true };
    const rules = { threshold: { ...half, base: 'electorate' }, turnoutQuorum: half, approvalQuorum: null };
    const plan = { votingMethod: 'referendum', candidates: ['Yes', 'No'], settings: { rules } };
    const event = await account.event({ type: 'election', ballot: { opening: 'observer' } }, [plan, plan], false);
    const base = `/voting-events/${event.id}`;
    const { id: groupId } = await account.make(`${base}/groups`, { name: 'North' });
    await account.change(`${base}/positions/${event.positions[0]?.id}`, { groupId });
    const voters: string[] = [];
    for (const [index, weight] of [2, 1, 1, 5, 3].entries()) {
      const row = { name: `V${index}`, email: `v${index}@${event.code.toLowerCase()}.example`, weight };
      voters.push((await account.make(`${base}/voters`, index < 2 ? { ...row, groupId } : row)).id);
    }
    const late = { name: 'R', email: `r@${event.code.toLowerCase()}.example`, groupId, weight: 7 };
    const { id: rejected } = await account.make(`${base}/voters`, late);
    await account.change(`${base}/voters/${rejected}`, { status: 'rejected' });
    await account.change(base, { status: 'open' });
    const ballot = (index: number, positions: readonly number[]) => ({
      email: `v${index}@${event.code.toLowerCase()}.example`,
      votes: positions.map((at) => ({
        positionId: event.positions[at]?.id,
        candidateId: event.positions[at]?.candidates[0],
      })),
    });
    for (const [index, positions] of [
      [0, [0, 1]],
      [2, [1]],
    ] as const) {
      const voterKey = await giveVoterKey(service, event.id, voters[index] ?? '');
      await account.ballot(event, { ...ballot(index, positions), voterKey });
    }
    await finishEvent(service, event.id);
    const { final, disputed, positions, stats } = await resultsOf(event);
    expect([final, disputed, stats.electorate]).toEqual([true, false, 12]);
    const [north, all] = valuesOf(positions, 'referendum');
    expect(north).toMatchObject({ electorate: '3', outcome: 'passed' });
    expect(north.rules).toMatchObject([{ actual: '2/3' }, { name: 'turnout_quorum', actual: '2/3', met: true }]);
    expect(all).toMatchObject({ electorate: '12', outcome: 'no_quorum' });
    expect(all.rules).toMatchObject([{ actual: '3/12' }, { name: 'turnout_quorum', actual: '3/12', met: false }]);
    const checked = await runVerifier(service.port, event.id, await createObserverKey(service, account, event.id));
    // Right, or right as far as it goes: nothing of it is wrong.
    expect([
      [0, 'yes'],
      [3, 'partial'],
    ]).toContainEqual([checked.code, checked.report.verified]);
  });
});

describe('the lot', () => {
  test('is secret while ballots can still be confirmed, then reproduced from the documented bytes', async () => {
    const event = await account.event({ type: 'poll', ballot: { opening: 'observer' } }, [
      { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cid'], settings: { tieBreak: 'lot' } },
    ]);
    for (const candidate of [0, 1, 2]) await vote(event, [[0, candidate]]);
    // The seed is drawn when the log opens, a moment after the event.
    await untilTrue(async () => (await resultsOf(event)).lot.seedHash !== null);
    const open = await resultsOf(event);
    await close(event);
    // Ballots are still confirmed: who knew the seed could choose by the last of them.
    const closed = await resultsOf(event);
    expect(closed.lot).toEqual(open.lot);
    const undecided = { tied: true, winner: false };
    for (const early of [open, closed]) {
      expect([early.final, early.lot]).toMatchObject([false, { seed: null, root: null }]);
      expect(early.positions[0]).toMatchObject({ winners: [], tie: { policy: 'lot', seed: null } });
      expect(early.positions[0].candidates).toMatchObject([undecided, undecided, undecided]);
    }

    await finishEvent(service, event.id);
    const final = await resultsOf(event);
    expect([final.final, final.lot.seedHash]).toEqual([true, open.lot.seedHash]);
    // From here on as docs/counting.md says it, and with nothing of the service.
    const { seed, root, seedHash } = final.lot;
    expect(createHash('sha256').update(Buffer.from(seed, 'hex')).digest('hex')).toBe(seedHash);
    const lotNumber = (id: string): string =>
      createHash('sha256')
        .update(Buffer.concat([Buffer.from(seed, 'hex'), Buffer.from(root, 'hex'), Buffer.from(id, 'utf8')]))
        .digest('hex');
    const ids: string[] = valuesOf(final.positions[0].candidates, 'id');
    const [first] = ids.toSorted((a, b) => (lotNumber(a) < lotNumber(b) ? -1 : 1));
    expect(final.positions[0]).toMatchObject({ winners: [first], tie: { policy: 'lot', seed } });
    // The root is that of all leaves before the close leaf.
    const log = new LogReader(service, event.id, await createObserverKey(service, account, event.id));
    const leaves = await log.leaves();
    expect(leaves[0]?.['seed']).toBe(seedHash);
    expect(leaves.at(-1)?.['t']).toBe('close');
    const rows = await service.query(
      "SELECT encode(root_hash, 'hex') AS root FROM log_checkpoints WHERE voting_event_id = $1 AND size = $2",
      [event.id, leaves.length - 1],
    );
    expect(rows[0]?.root).toBe(root);
  });

  test('is drawn when the event opens, not when it is created', async () => {
    const event = await account.event({ type: 'poll' }, PLURALITY, false);
    expect((await resultsOf(event)).lot).toEqual({ seedHash: null, seed: null, root: null });
  });
});

test('the sum of all votes leaves score positions out, which may be negative', async () => {
  const event = await account.event({ type: 'poll' }, [
    { votingMethod: 'score', candidates: ['Ada', 'Bea'], settings: { scoreMin: -5, scoreMax: 5 } },
    { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
  ]);
  await vote(event, [
    [0, 0, { value: -5 }],
    [1, 0],
  ]);
  const results = await resultsOf(event);
  expect(results.positions[0].totalVotes).toBe(-5);
  expect(results.stats.totalVotes).toBe(1);
});

test('a score left out on a scale without 0 counts the lowest mark', async () => {
  const event = await account.event({ type: 'poll' }, [
    { votingMethod: 'score', candidates: ['Best', 'Unknown'], settings: { scoreMin: -5, scoreMax: -1 } },
  ]);
  await vote(event, [[0, 0, { value: -1 }]]);
  const [position] = (await resultsOf(event)).positions;
  expect(valuesOf(position.candidates, 'votesWon')).toEqual([-1, -5]);
  expect(position.winners).toEqual([event.positions[0]?.candidates[0]]);
});

test('nobody who was never on the ballot adds to the votes of a scale without 0', async () => {
  const event = await account.event({ type: 'poll' }, [
    { votingMethod: 'score', candidates: ['Best', 'Unknown'], settings: { scoreMin: 1, scoreMax: 5 } },
  ]);
  const positionIds = [event.positions[0]?.id];
  await account.of(event).make('/candidates', { name: 'Rejected', positionIds, status: 'rejected' });
  await vote(event, [[0, 0, { value: 5 }]]);
  const [{ candidates, totalVotes }] = (await resultsOf(event)).positions;
  expect([valuesOf(candidates, 'votesWon'), totalVotes]).toEqual([[5, 1], 6]);
});

describe('a referendum', () => {
  test.each([
    ['yes_no', 'passed', '2/3'],
    ['answers', 'rejected', '2/4'],
  ] as const)('takes the share of yes of its base: %s', async (base, outcome, actual) => {
    const threshold = { numerator: 1, denominator: 2, inclusive: false, base };
    const event = await account.event({ type: 'poll' }, [
      {
        votingMethod: 'referendum',
        candidates: ['Yes', 'No', 'Abstain'],
        settings: { rules: { threshold, turnoutQuorum: null, approvalQuorum: null } },
      },
    ]);
    for (const candidate of [0, 0, 1, 2]) await vote(event, [[0, candidate]]);
    const { referendum } = (await resultsOf(event)).positions[0];
    expect(referendum).toMatchObject({ outcome, rules: [{ name: 'threshold', actual }] });
  });

  test('of the electorate is never passed without one, and a base is yes_no unless it is said', async () => {
    const settings = { rules: { threshold: { numerator: 1, denominator: 2, base: 'electorate' } } };
    const event = await account.event({ type: 'poll' }, [
      { votingMethod: 'referendum', candidates: ['Yes', 'No'], settings },
      { votingMethod: 'referendum', candidates: ['Yes', 'No'] },
    ]);
    await vote(event, [
      [0, 0],
      [1, 0],
    ]);
    const [first, second] = (await resultsOf(event)).positions;
    expect([first.referendum.outcome, second.referendum.outcome]).toEqual(['rejected', 'passed']);
    const path = `/voting-events/${event.id}/positions/${event.positions[1]?.id}`;
    const shown = await account.show(path);
    expect(shown.rules.threshold.base).toBe('yes_no');
  });

  test.each(['threshold', 'turnoutQuorum'])('refuses a %s of 0', async (name) => {
    const event = await account.event({ type: 'poll' }, [], false);
    const rules = { [name]: { numerator: 0, denominator: 2 } };
    const body = { title: 'Move', votingMethod: 'referendum', rules };
    const refused = await account.post(`/voting-events/${event.id}/positions`, body);
    expect(fieldOf(refused)).toEqual([422, `rules.${name}.numerator`]);
  });
});

describe('a required majority', () => {
  test('leaves the seat vacant below it, and names who goes into the runoff', async () => {
    const majorityRequired = { numerator: 1, denominator: 2 };
    const event = await account.event({ type: 'poll' }, [
      { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cid'], settings: { majorityRequired } },
    ]);
    for (const candidate of [0, 0, 1, 2, 2]) await vote(event, [[0, candidate]]);
    const [position] = (await resultsOf(event)).positions;
    const [ada, , cid] = event.positions[0]?.candidates ?? [];
    expect(position).toMatchObject({ winners: [], vacantSeats: 1, runoff: [ada, cid] });
    const path = `/voting-events/${event.id}/positions/${event.positions[0]?.id}`;
    const shown = await account.show(path);
    expect(shown.majorityRequired).toEqual(majorityRequired);
  });

  test.each([
    ['ranked_choice', { numerator: 1, denominator: 2 }, 'majorityRequired'],
    ['plurality', { numerator: 2, denominator: 2 }, 'majorityRequired'],
    ['approval', { numerator: 0, denominator: 2 }, 'majorityRequired.numerator'],
  ])('is refused where it cannot be: %s, %o', async (votingMethod, majorityRequired, field) => {
    const event = await account.event({ type: 'poll' }, [], false);
    const body = { title: 'Chair', votingMethod, majorityRequired };
    expect(fieldOf(await account.post(`/voting-events/${event.id}/positions`, body))).toEqual([422, field]);
  });
});

test('more seats than candidates are told as vacant', async () => {
  const event = await account.event({ type: 'poll' }, [
    { votingMethod: 'plurality', candidates: ['Ada', 'Bea'], settings: { seats: 3 } },
  ]);
  for (const candidate of [0, 1]) await vote(event, [[0, candidate]]);
  expect((await resultsOf(event)).positions[0]).toMatchObject({ vacantSeats: 1 });
});

test.each(['rejected', 'pending', 'withdrawn'])(
  'a candidate with votes who became %s is counted, and cannot win',
  async (status) => {
    const event = await account.event({ type: 'poll' }, [
      { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
      { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea', 'Cid'] },
    ]);
    await vote(event, [
      [0, 0],
      [1, 0, { rank: 1 }],
      [1, 1, { rank: 2 }],
    ]);
    const [first, second] = event.positions.map(({ candidates }) => candidates);
    const gone = [first?.[0], second?.[0], second?.[2]];
    // Below every rule of the API: a count must not depend on how a status came about.
    await service.query('UPDATE candidates SET status = $1 WHERE id = ANY($2)', [status, gone]);
    await service.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [event.id]);
    const [plurality, ranked] = (await resultsOf(event)).positions;
    expect(plurality.winners).toEqual([]);
    expect(plurality.candidates[0]).toMatchObject({ votesWon: 1, winner: false });
    expect(ranked.winners).toEqual([event.positions[1]?.candidates[1]]);
    // Who is not on the ballot and has no vote either is not told.
    const shown = valuesOf(ranked.candidates, 'id').includes(gone[2]);
    expect(shown).toBe(status === 'withdrawn');
  },
);

test('turnout of the groups is told once the result is final, of groups with at least five voters', async () => {
  const event = await account.event({ type: 'election' }, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
  const groupOf = async (name: string): Promise<string> =>
    (await account.make(`/voting-events/${event.id}/groups`, { name })).id;
  const [large, small] = [await groupOf('Large'), await groupOf('Small')];
  const voters = people(9).map((voter, index) => ({ ...voter, groupId: index < 5 ? large : small }));
  await account.of(event).make('/voters/batch', { voters });
  expect((await resultsOf(event)).byGroup).toBeNull();
  await close(event);
  await finishEvent(service, event.id);
  expect((await resultsOf(event)).byGroup).toEqual([{ groupId: large, voters: 5, voted: 0 }]);
});

const OPEN = { hidden: false, live: true, published: false };
const PUBLIC_WHEN_FINAL = { hidden: false, live: true, published: true };

test.each(['hidden', 'live', 'published'] as const)(
  'results that are `%s` are read by observers once they are final, before that by whom they are public to, and always by the organizer',
  async (visibility) => {
    const event = await account.event({ results: { visibility } }, [
      { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea'] },
    ]);
    const [position] = event.positions;
    await account.votePoll(event, [{ positionId: position?.id, candidateId: position?.candidates[0], rank: 1 }]);
    const observer = await createObserverKey(service, account, event.id);
    const read = async (key: string): Promise<boolean[]> => {
      const paths = ['results', `results/rounds?positionId=${position?.id}`];
      const ask = (path: string) =>
        service.call('GET', `/public/voting-events/${event.id}/${path}`, undefined, { key });
      const answers = await Promise.all(paths.map(ask));
      for (const { status, body } of answers)
        if (status !== 200) expect(body.error.details.reason).toBe('results_not_available');
      return answers.map(({ status }) => status === 200);
    };
    const both = (is: boolean): boolean[] => [is, is];
    for (const isClosed of [false, true]) {
      if (isClosed) await close(event);
      for (const key of [account.vote, observer]) expect(await read(key)).toEqual(both(OPEN[visibility]));
      expect((await resultsOf(event)).final).toBe(false);
    }
    // Nothing can be confirmed any more, and the log has not closed yet: the result is not final.
    await moveEnd(service.deps, event.id, CLOSED);
    service.deps.events.forget(event.id);
    for (const key of [account.vote, observer]) expect(await read(key)).toEqual(both(PUBLIC_WHEN_FINAL[visibility]));
    await finishEvent(service, event.id);
    service.deps.events.forget(event.id);
    expect(await read(account.vote)).toEqual(both(PUBLIC_WHEN_FINAL[visibility]));
    expect(await read(observer)).toEqual(both(true));
    expect((await resultsOf(event)).final).toBe(true);
  },
);

test('a roll weighs no more than can be counted exactly, and the heaviest one is counted', async () => {
  const cumulativePointBudget = 1_000_000;
  const plan = { votingMethod: 'cumulative', candidates: ['Ada', 'Bea'], settings: { cumulativePointBudget } };
  const event = await account.event({ type: 'election' }, [plan]);
  const path = `/voting-events/${event.id}/voters`;
  const voters = people(9).map((voter) => ({ ...voter, weight: 1_000_000_000 }));
  const roll: { id: string; email: string }[] = await account.of(event).make('/voters/batch', { voters });
  const tooHeavy = { details: { limit: 'weight_per_event', max: 9_000_000_000 } };
  const late = await account.post(path, { name: 'Zoe', email: 'zoe@club.example', weight: 2 });
  expect([late.status, late.body.error]).toEqual([422, expect.objectContaining({ code: 'plan_limit', ...tooHeavy })]);
  await account.change(`${path}/${roll[0]?.id}`, { weight: 999_999_999 });
  await account.post(path, { name: 'Zoe', email: 'zoe@club.example' });
  expect(refusalOf(await account.patch(`${path}/${roll[0]?.id}`, { weight: 1_000_000_000 }))).toEqual([
    422,
    'plan_limit',
  ]);
  const [position] = event.positions;
  const votes = [{ positionId: position?.id, candidateId: position?.candidates[0], value: cumulativePointBudget }];
  for (const { id, email } of roll)
    await account.ballot(event, { email, voterKey: await giveVoterKey(service, event.id, id), votes });
  const [{ candidates }] = (await resultsOf(event)).positions;
  expect(candidates[0]).toMatchObject({ votesWon: 8_999_999_999_000_000 });
});

const RANKED = { votingMethod: 'ranked_choice', candidates: ['Ada "the first"', 'Bea', 'Cid'], settings: { seats: 2 } };
const get = (event: TestEvent, path: string, key: string | undefined = account.read) =>
  service.call('GET', `/voting-events/${event.id}/results/${path}`, undefined, key === undefined ? {} : { key });

/** What an export redirects to. */
async function download(event: TestEvent, path: string) {
  const file = await account.of(event).download(`/results/${path}`);
  return { ...file, disposition: file.headers.get('content-disposition') ?? '' };
}

const rank = (event: TestEvent, places: readonly (readonly [number, number])[]) =>
  places.map(([candidate, place]) => ({
    positionId: event.positions[0]?.id,
    candidateId: event.positions[0]?.candidates[candidate],
    rank: place,
  }));

describe('the ballots of a ranked position as BLT', () => {
  test('hold seats, withdrawn candidates, each ballot with its ranks closed up, abstentions and names', async () => {
    const event = await account.event({ title: 'Board' }, [
      { ...RANKED, settings: { seats: 2, minSelections: 0 } },
      { votingMethod: 'plurality', candidates: ['X', 'Y'] },
    ]);
    const other = { positionId: event.positions[1]?.id, candidateId: event.positions[1]?.candidates[0] };
    const [late, first] = [rank(event, [[1, 3]]), rank(event, [[0, 1]])];
    await account.votePoll(event, [...late, ...first]);
    await account.votePoll(event, rank(event, [[2, 1]]));
    await account.votePoll(event, [other]);
    const path = `blt?positionId=${event.positions[0]?.id}`;
    expect(refusalOf(await get(event, path))).toEqual([403, 'openings_not_available']);
    const withdrawn = `/voting-events/${event.id}/candidates/${event.positions[0]?.candidates[2]}`;
    await account.change(withdrawn, { status: 'withdrawn' });
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
      const voters = people(weights.length).map((voter, index) => ({ ...voter, weight: weights[index] }));
      const made = await account.of(event).make('/voters/batch', { voters });
      for (const [candidate, { id, email }] of [made[0], made.at(-1)].entries()) {
        const voterKey = await giveVoterKey(service, event.id, id);
        await account.ballot(event, { voterKey, email, votes: rank(event, [[candidate, 1]]) });
      }
      await finishEvent(service, event.id);
      return event;
    };
    const common = await make([1.5, 1.5, 1.5, 1.5, 1.5, 1, 1, 1, 1, 1]);
    const path = (event: TestEvent): string => `blt?positionId=${event.positions[0]?.id}`;
    const { body } = await download(common, path(common));
    expect(body.split('\n').slice(1, 3).sort()).toEqual(['2 2 0', '3 1 0']);
    const rare = await make([1.5, 1, 1, 1, 1, 1]);
    expect(refusalOf(await get(rare, path(rare)))).toEqual([409, 'weights_kept_back']);
    const alike = await make([2, 2]);
    expect((await download(alike, path(alike))).body.split('\n').slice(1, 3).sort()).toEqual(['1 1 0', '1 2 0']);
  });

  test('are refused to other plans, positions and questions', async () => {
    const event = await account.event({}, [RANKED, { votingMethod: 'approval', candidates: ['X'] }]);
    const free = await service.account('free');
    const own = await free.event({}, [RANKED]);
    const codes = async (path: string, key?: string, of = event) => refusalOf(await get(of, path, key));
    const good = `blt?positionId=${event.positions[0]?.id}`;
    expect(await codes('blt')).toEqual([400, 'bad_request']);
    expect(await codes(`${good}&x=1`)).toEqual([400, 'bad_request']);
    expect(await codes(`blt?positionId=${event.positions[1]?.id}`)).toEqual([400, 'bad_request']);
    expect(await codes('blt?positionId=pos_unknown')).toEqual([404, 'not_found']);
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
    for (const index of [1, 1, 0]) await account.votePoll(event, choose(index));
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
    expect(refusalOf(await get(event, 'csv?layout=wide'))).toEqual([400, 'bad_request']);
  });
});
