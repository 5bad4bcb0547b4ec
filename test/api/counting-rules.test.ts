import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, PLURALITY, type TestEvent, votePoll } from '#test/harness/elections.ts';
import { type TestAnswer, useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const resultsOf = async (event: TestEvent): Promise<TestAnswer['body']> =>
  demand(await account.get(`/voting-events/${event.id}/results`), 200);

async function vote(
  event: TestEvent,
  choices: readonly (readonly [position: number, candidate: number, extra?: object])[],
) {
  const votes = choices.map(([position, candidate, extra = {}]) => ({
    positionId: event.positions[position]?.id,
    candidateId: event.positions[position]?.candidates[candidate],
    ...extra,
  }));
  await votePoll(service, account, event, votes);
}

const close = async (event: TestEvent): Promise<void> => {
  demand(await account.patch(`/voting-events/${event.id}`, { status: 'closed' }), 200);
};

describe('the lot', () => {
  test('is secret while ballots can still be confirmed, then reproduced from the documented bytes', async () => {
    const event = await account.event({ type: 'poll', ballot: { opening: 'observer' } }, [
      { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cid'], settings: { tieBreak: 'lot' } },
    ]);
    const draft = await resultsOf(event);
    expect(draft.lot).toMatchObject({ seed: null, root: null });
    for (const candidate of [0, 1, 2]) await vote(event, [[0, candidate]]);
    await close(event);
    const early = await resultsOf(event);
    expect(early.final).toBe(false);
    expect(early.lot).toMatchObject({ seed: null, root: null });
    expect(early.positions[0]).toMatchObject({ winners: [], tie: { policy: 'lot', seed: null } });
    expect(early.positions[0].candidates.map(({ tied, winner }: Record<string, boolean>) => [tied, winner])).toEqual([
      [true, false],
      [true, false],
      [true, false],
    ]);

    await finishEvent(service, event.id);
    const final = await resultsOf(event);
    expect(final.final).toBe(true);
    // From here on as docs/counting.md says it, and with nothing of the service.
    const { seed, root, seedHash } = final.lot;
    expect(createHash('sha256').update(Buffer.from(seed, 'hex')).digest('hex')).toBe(seedHash);
    const lotNumber = (id: string): string =>
      createHash('sha256')
        .update(Buffer.concat([Buffer.from(seed, 'hex'), Buffer.from(root, 'hex'), Buffer.from(id, 'utf8')]))
        .digest('hex');
    const ids: string[] = final.positions[0].candidates.map(({ id }: { id: string }) => id);
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
  expect(position.candidates.map(({ votesWon }: { votesWon: number }) => votesWon)).toEqual([-1, -5]);
  expect(position.winners).toEqual([event.positions[0]?.candidates[0]]);
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
    const shown = demand(await account.get(path), 200);
    expect(shown.rules.threshold.base).toBe('yes_no');
  });

  test.each(['threshold', 'turnoutQuorum'])('refuses a %s of 0', async (name) => {
    const event = await account.event({ type: 'poll' }, [], false);
    const rules = { [name]: { numerator: 0, denominator: 2 } };
    const body = { title: 'Move', votingMethod: 'referendum', rules };
    const refused = await account.post(`/voting-events/${event.id}/positions`, body);
    expect([refused.status, refused.body.error.details.field]).toEqual([422, `rules.${name}.numerator`]);
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
    const shown = demand(await account.get(path), 200);
    expect(shown.majorityRequired).toEqual(majorityRequired);
  });

  test.each([
    ['ranked_choice', { numerator: 1, denominator: 2 }, 'majorityRequired'],
    ['plurality', { numerator: 2, denominator: 2 }, 'majorityRequired'],
    ['approval', { numerator: 0, denominator: 2 }, 'majorityRequired.numerator'],
  ])('is refused where it cannot be: %s, %o', async (votingMethod, majorityRequired, field) => {
    const event = await account.event({ type: 'poll' }, [], false);
    const body = { title: 'Chair', votingMethod, majorityRequired };
    const refused = await account.post(`/voting-events/${event.id}/positions`, body);
    expect([refused.status, refused.body.error.details.field]).toEqual([422, field]);
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
    const gone = [
      event.positions[0]?.candidates[0],
      event.positions[1]?.candidates[0],
      event.positions[1]?.candidates[2],
    ];
    // Below every rule of the API: a count must not depend on how a status came about.
    await service.query('UPDATE candidates SET status = $1 WHERE id = ANY($2)', [status, gone]);
    await service.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [event.id]);
    const [plurality, ranked] = (await resultsOf(event)).positions;
    expect(plurality.winners).toEqual([]);
    expect(plurality.candidates[0]).toMatchObject({ votesWon: 1, winner: false });
    expect(ranked.winners).toEqual([event.positions[1]?.candidates[1]]);
    // Who is not on the ballot and has no vote either is not told.
    const shown = ranked.candidates.map(({ id }: { id: string }) => id).includes(gone[2]);
    expect(shown).toBe(status === 'withdrawn');
  },
);

test('turnout of the groups is told once the result is final, of groups with at least five voters', async () => {
  const event = await account.event({ type: 'election' }, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
  const groupOf = async (name: string): Promise<string> =>
    demand(await account.post(`/voting-events/${event.id}/groups`, { name }), 201).id;
  const [large, small] = [await groupOf('Large'), await groupOf('Small')];
  const voters = Array.from({ length: 9 }, (_, index) => ({
    name: `Voter ${index}`,
    email: `voter-${index}@group.example`,
    groupId: index < 5 ? large : small,
  }));
  demand(await account.post(`/voting-events/${event.id}/voters/batch`, { voters }), 201);
  expect((await resultsOf(event)).byGroup).toBeNull();
  await close(event);
  await finishEvent(service, event.id);
  expect((await resultsOf(event)).byGroup).toEqual([{ groupId: large, voters: 5, voted: 0 }]);
});
