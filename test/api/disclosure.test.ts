import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { foldAllRollFigures, readStats } from '#src/results/read-stats.ts';
import { readVoterFigures } from '#src/results/repository.ts';
import { readTurnoutByGroup } from '#src/voters/check-roll.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { demand, valuesOf } from '#test/harness/answers.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { finishEvent, sealBallots, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { standAs } from '#test/harness/genuine-rows.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { createKeyedElection, type KeyedElection } from '#test/harness/keyed-elections.ts';
import { measured } from '#test/harness/processor-time.ts';
import { rowsRead } from '#test/harness/rows-read.ts';
import { SERVICE_LIMITS, startTestService, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// Without the job that makes the steps of all events once a minute: here the tests make them.
const { service, account } = await useAccount({ worker: false });

type Voter = KeyedElection['voters'][0];

const read = async (path: string, key = account.read) =>
  demand(await service.call('GET', path, undefined, { key }), 200);

/** An open election with public live counts. @param weights of its voters, one each */
const createElection = (weights: readonly number[], settings: object = {}): Promise<KeyedElection> =>
  createKeyedElection(service, account, weights, true, { results: { visibility: 'live' }, ...settings });
const ones = (count: number): number[] => Array(count).fill(1);

const vote = (event: TestEvent, { email, voterKey }: Pick<Voter, 'email' | 'voterKey'>) =>
  account.ballot(event, { email, voterKey, votes: votesFor(event) });

/** Everything that an API key can read of who voted, and how many. */
async function look(event: TestEvent) {
  const base = `/voting-events/${event.id}`;
  const voters: { hasVoted: boolean; keyStatus: string }[] = await read(`${base}/voters?limit=200`);
  for (const wanted of ['none', 'sent', 'used']) {
    const listed: { keyStatus: string }[] = await read(`${base}/voters?keyStatus=${wanted}&limit=200`);
    const shown = voters.filter(({ keyStatus }) => keyStatus === wanted);
    expect(valuesOf(listed, 'keyStatus'), wanted).toEqual(valuesOf(shown, 'keyStatus'));
  }
  const [organizers, publics, stats, own] = [
    await read(`${base}/results`),
    await read(`/public${base}/results`, account.vote),
    await read(`${base}/stats`),
    await read(base),
  ];
  return {
    marked: voters.filter(({ hasVoted }) => hasVoted).length,
    used: voters.filter(({ keyStatus }) => keyStatus === 'used').length,
    filtered: (await read(`${base}/voters?voted=true&limit=200`)).length,
    notVoted: (await read(`${base}/voters?voted=false&limit=200`)).length,
    stats: [stats.voters.voted, stats.voters.votedWeight],
    organizers: organizers.stats.ballots,
    publics: publics.stats.ballots,
    disclosure: [own.disclosure, stats.disclosure, organizers.stats.disclosure, publics.stats.disclosure],
  };
}

const all = (waiting: boolean) => Array.from({ length: 4 }, () => ({ everyBallots: 5, waiting }));

describe('who voted in a secret event', () => {
  test('is shown nowhere while fewer than five wait, then of all that wait at once', async () => {
    const election = await createElection(ones(12));
    for (const voter of election.voters.slice(0, 4)) await vote(election, voter);
    await service.deps.counting.disclosure.step(election.id);
    expect(await look(election)).toEqual({
      // Twelve share one weight: it says no more than the number of ballots does.
      ...{ marked: 0, used: 0, filtered: 0, notVoted: 12, stats: [0, 4] },
      ...{ organizers: 4, publics: 0, disclosure: all(true) },
    });
    for (const voter of election.voters.slice(4, 7)) await vote(election, voter);
    await service.deps.counting.disclosure.step(election.id);
    expect(await look(election)).toEqual({
      ...{ marked: 7, used: 7, filtered: 7, notVoted: 5, stats: [7, 7] },
      ...{ organizers: 7, publics: 7, disclosure: all(false) },
    });
  });

  test.each([
    ['while they wait', { moving: false, last: 13 }],
    // The step is made before ballots move, too: with the tenth ballot, so that three wait at the end.
    ['while they move into the box', { moving: true, last: 10 }],
  ])('counts for the public when five ballots wait, then all that wait, %s', async (_when, { moving, last }) => {
    const election = await createElection(ones(13));
    const { id } = election;
    const seen: number[] = [];
    for (const [index, voter] of election.voters.entries()) {
      await vote(election, voter);
      if (moving) await sealBallots(service, id, 3);
      // Eight come between the last two looks: where no step was made meanwhile, all are shown, not a multiple of five.
      if (index > 5 && index < 12) continue;
      seen.push((await read(`/public/voting-events/${id}/results`, account.vote)).stats.ballots);
    }
    expect(seen).toEqual([0, 0, 0, 0, 5, 5, last]);
    expect((await read(`/voting-events/${id}/results`)).stats.ballots).toBe(13);
  });

  // The figures of the voters were read while the count made the step.
  test('is whole in the first statistics after a burst of confirms', async () => {
    const election = await createElection(ones(10));
    for (const voter of election.voters.slice(0, 7)) await vote(election, voter);
    const { voters, turnout, disclosure } = await read(`/voting-events/${election.id}/stats`);
    expect([voters.voted, turnout.heads, disclosure.waiting]).toEqual([7, 0.7, false]);
  });

  test('and what was counted is shown whole with the final result', async () => {
    const election = await createElection([1, 1, 1, 1, 1, 2]);
    await vote(election, election.voters[5] as Voter);
    await finishEvent(service, election.id);
    expect(await look(election)).toMatchObject({ marked: 1, used: 1, filtered: 1, stats: [1, 2], organizers: 1 });
  });

  test('is shown five at a time of a weight that five voters share, while the public count moves', async () => {
    const election = await createElection([...ones(6), ...Array<number>(5).fill(2.5)]);
    const [light, heavy] = [election.voters.slice(0, 6), election.voters.slice(6)];
    const marked = async (): Promise<number[]> => {
      await service.deps.counting.disclosure.step(election.id);
      const voted: { weight: number }[] = await read(`/voting-events/${election.id}/voters?voted=true&limit=200`);
      const { marked, publics, organizers } = await look(election);
      expect(marked).toBe(voted.length);
      return [voted.filter(({ weight }) => weight === 1).length, voted.length, publics, organizers];
    };
    for (const voter of [...light.slice(0, 4), ...heavy.slice(0, 1)]) await vote(election, voter);
    expect(await marked()).toEqual([0, 0, 5, 5]);
    // Five of the light ones wait now; the public count moves by five ballots at least, and they are shown with it.
    await vote(election, light[4] as Voter);
    expect(await marked()).toEqual([0, 0, 5, 6]);
    for (const voter of heavy.slice(1, 4)) await vote(election, voter);
    expect(await marked()).toEqual([0, 0, 5, 9]);
    await vote(election, light[5] as Voter);
    expect(await marked()).toEqual([6, 6, 10, 10]);
    await vote(election, heavy[4] as Voter);
    expect(await marked()).toEqual([6, 6, 10, 11]);
    await finishEvent(service, election.id);
    expect(await marked()).toEqual([6, 11, 11, 11]);
  });

  test('is shown five at a time of a weight that five share, whoever has a weight of their own; of such weights together', async () => {
    const election = await createElection([...ones(12), ...Array<number>(5).fill(2.5), 7, 8, 9, 10, 11]);
    const { voters } = election;
    const [light, heavy, rare] = [voters.slice(0, 12), voters.slice(12, 17), voters.slice(17)];
    const marked = async (): Promise<number[]> => {
      await service.deps.counting.disclosure.step(election.id);
      const voted: { weight: number }[] = await read(`/voting-events/${election.id}/voters?voted=true&limit=200`);
      return [1, 2.5].map((weight) => voted.filter((voter) => voter.weight === weight).length).concat(voted.length);
    };
    for (const voter of [...light.slice(0, 4), ...heavy.slice(0, 1)]) await vote(election, voter);
    expect(await marked()).toEqual([0, 0, 0]);
    for (const voter of [...light.slice(4, 6), ...rare.slice(0, 4)]) await vote(election, voter);
    expect(await marked()).toEqual([6, 0, 6]);
    for (const voter of [...light.slice(6, 10), ...rare.slice(4)]) await vote(election, voter);
    expect(await marked()).toEqual([6, 0, 11]);
  });

  test('is shown five at a time of a group that has a position of its own', async () => {
    const election = await createElection(ones(12));
    const at = `/voting-events/${election.id}`;
    const { id: groupId } = await account.make(`${at}/groups`, { name: 'North' });
    const own = { title: 'North chair', votingMethod: 'plurality', groupId };
    const { id: positionId } = await account.make(`${at}/positions`, own);
    for (const name of ['Ada', 'Bea']) await account.make(`${at}/candidates`, { name, positionIds: [positionId] });
    const [north, south] = [election.voters.slice(0, 6), election.voters.slice(6)];
    for (const { id } of north) await account.change(`${at}/voters/${id}`, { groupId });
    const marked = async (): Promise<number[]> => {
      await service.deps.counting.disclosure.step(election.id);
      const { marked, publics } = await look(election);
      return [marked, publics];
    };
    for (const voter of [...south.slice(0, 4), ...north.slice(0, 1)]) await vote(election, voter);
    expect(await marked()).toEqual([0, 5]);
    for (const voter of [...south.slice(4), ...north.slice(1, 4)]) await vote(election, voter);
    expect(await marked()).toEqual([6, 10]);
    for (const voter of north.slice(4)) await vote(election, voter);
    expect(await marked()).toEqual([6, 10]);
  });

  test('moves the organizer’s results with the step too, where a weight has fewer than five holders', async () => {
    const rare = await createElection([1, 1, 1, 1, 1, 1, 7, 7]);
    await vote(rare, rare.voters[6] as Voter);
    expect(await look(rare)).toMatchObject({ organizers: 0, publics: 0 });
    for (const voter of rare.voters.slice(0, 4)) await vote(rare, voter);
    expect(await look(rare)).toMatchObject({ organizers: 5, publics: 5 });
    const common = await createElection([1, 1, 1, 1, 1, 7, 7, 7, 7, 7]);
    await vote(common, common.voters[6] as Voter);
    expect(await look(common)).toMatchObject({ organizers: 1, publics: 0 });
  });

  test('leaves a trace of whoever asks by a refused change', async () => {
    const election = await createElection([1, 1, 1, 1, 1, 1]);
    const { id } = election;
    const [voted, other] = election.voters as [Voter, Voter];
    await vote(election, voted);
    const ask = (method: string, path: string, body?: object) =>
      account.of(election).send(method, `/voters${path}`, body);
    const group = await account.make(`/voting-events/${id}/groups`, { name: 'South' });
    const tries = [
      await ask('PATCH', `/${voted.id}`, { weight: 2 }),
      await ask('PATCH', `/${voted.id}`, { groupId: group.id }),
      await ask('PATCH', `/${voted.id}`, { status: 'rejected' }),
      await ask('DELETE', `/${voted.id}`),
      await ask('POST', '/bulk', { action: 'reject', voterIds: [other.id, voted.id] }),
      await ask('POST', '/bulk', { action: 'delete', voterIds: [other.id, voted.id] }),
    ];
    for (const { status, body } of tries)
      expect([status, body.error.details.reason]).toEqual([409, 'event_has_ballots']);
    type Entry = { action: string; resource: string; key: object; after: object };
    const trail: Entry[] = await account.of(election).show('/audit');
    const shown = trail.filter(({ action }) => action.endsWith('change_refused'));
    expect(new Set(shown.map(({ key }) => typeof key))).toEqual(new Set(['object']));
    const reason = 'event_has_ballots';
    const both = [other.id, voted.id];
    expect(shown.map(({ resource, after }) => [resource, after])).toEqual([
      ...[['weight'], ['groupId'], ['status'], ['delete']].map((asked) => [voted.id, { asked, reason }]),
      ...[['reject'], ['delete']].map((asked) => [id, { asked, reason, voterIds: both }]),
    ]);
  });

  test('answers a change that can never be made alike for whoever voted', async () => {
    const election = await createElection(ones(6));
    const [voted, other, third] = election.voters as [Voter, Voter, Voter];
    await vote(election, voted);
    const changes = [
      { weight: 2, email: third.email },
      { status: 'rejected', email: third.email },
      { weight: 1_000_000_000_000 },
    ];
    for (const change of changes) {
      const answers = await Promise.all(
        [voted, other].map(({ id }) => account.of(election).patch(`/voters/${id}`, change)),
      );
      const [first, second] = answers.map(({ status, body }) => [status, { ...body.error, requestId: undefined }]);
      expect(first).toEqual(second);
      expect(first?.[0]).not.toBe(200);
    }
    expect((await account.of(election).show('/audit')).map(({ action }: { action: string }) => action)).not.toContain(
      'voter.change_refused',
    );
  });

  test('moves what stats count by position as the results of the same reader do, and counts ballots exactly', async () => {
    const common = await createElection([1, 1, 1, 1, 1, 1, 1]);
    const rare = await createElection([1, 1, 1, 1, 1, 1, 7]);
    const counted = async ({ id }: TestEvent, key = account.read) => {
      const { ballots, votes, byPosition } = await read(`/voting-events/${id}/stats`, key);
      return [ballots.confirmed, votes.total, byPosition[0].ballots, byPosition[0].abstentions];
    };
    const ofCommon = await createObserverKey(service, account, common.id);
    const ofRare = await createObserverKey(service, account, rare.id);
    for (const [place, shown] of [0, 0, 0, 0, 5].entries()) {
      await vote(common, common.voters[place] as Voter);
      await vote(rare, rare.voters[place] as Voter);
      const exact = place + 1;
      expect(await counted(common, ofCommon)).toEqual([exact, shown, shown, 0]);
      expect(await counted(rare, ofRare)).toEqual([exact, shown, shown, 0]);
      expect(await counted(common)).toEqual([exact, exact, exact, 0]);
      expect(await counted(rare)).toEqual([exact, shown, shown, 0]);
    }
  });

  test.each([
    ['rejected before', 'rejected', false],
    ['waiting for approval', 'pending', false],
    ['rejected after the vote', 'rejected', true],
  ] as const)('counts as holders of a weight those who may vote alone, not those %s', async (_who, status, later) => {
    const election = await createElection([1, 1, 1, 1, 1, 1, 7, 7, 7, 7, 7]);
    const { id } = election;
    const others = election.voters.slice(7).map((voter) => voter.id);
    const turn = () => standAs(service, id, status, sql`v.id = ANY (${sql.param(others)}::text[])`);
    if (!later) await turn();
    await vote(election, election.voters[6] as Voter);
    if (later) await turn();
    expect(await look(election)).toMatchObject({ organizers: 0, publics: 0 });
    await sealBallots(service, id);
    const votes: { weight: number | null }[] = await read(`/voting-events/${id}/votes`);
    expect(votes.map(({ weight }) => weight)).toEqual([null]);
  });

  test('keeps an approval by a first key back, and its webhook, until the vote is shown', async () => {
    const election = await createElection(ones(6), { voter: { selfRegistration: true, approval: 'automatic' } });
    const { id } = election;
    await standAs(service, id, 'pending');
    const hook = { url: 'https://hooks.example.com/none', eventTypes: ['voter.updated'] };
    const endpoint = await account.make('/webhook-endpoints', hook);
    const statuses = async (): Promise<string[]> =>
      (await read(`/voting-events/${id}/voters`)).map(({ status }: { status: string }) => status);
    const messages = 'SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1';
    const countMessages = async () => (await service.query(messages, [endpoint.id])).length;
    const figures = async () => {
      const { voters } = await read(`/voting-events/${id}/stats`);
      const { stats } = await read(`/voting-events/${id}/results`);
      return [voters.pending, voters.approved, stats.electorate, voters.weight];
    };
    for (const voter of election.voters.slice(0, 4)) await vote(election, voter);
    await service.deps.counting.disclosure.step(id);
    expect([new Set(await statuses()), await countMessages()]).toEqual([new Set(['pending']), 0]);
    // No smaller than what the ballots show anyway: four of them are no more than all.
    expect(await figures()).toEqual([6, 0, 4, 6]);
    expect((await read(`/voting-events/${id}/results`)).stats).toMatchObject({ ballots: 4, turnout: 1 });
    expect((await read(`/voting-events/${id}/voters?status=approved`)).length).toBe(0);
    await vote(election, election.voters[4] as Voter);
    await service.deps.counting.disclosure.step(id);
    expect((await statuses()).toSorted()).toEqual([...Array(5).fill('approved'), 'pending']);
    expect(await figures()).toEqual([1, 5, 5, 6]);
    const { databaseUrl, secretKey, deps } = service;
    const { ballotKeysDir = '' } = deps.config;
    await using _worker = await startTestService({ databaseUrl, secretKey, ballotKeysDir });
    await untilTrue(async () => (await countMessages()) === 5);
  });

  test('keeps approvals by first keys out of the roll in the log, which has no fewer heads than ballots', async () => {
    const registered = { voter: { selfRegistration: true, approval: 'automatic' } };
    const election = await createElection([1, 1, 1, 1, 1, 1, 1], registered);
    const { id } = election;
    const [known] = election.voters;
    await standAs(service, id, 'pending', sql`v.id <> ${known?.id}`);
    const log = new LogReader(service, id, account.vote);
    const rolls = async () =>
      (await log.leaves()).filter(({ t }) => t === 'roll').map(({ heads, weight }) => ({ heads, weight }));
    await sealBallots(service, id, 5);
    expect((await log.leaves())[0]?.['roll']).toEqual({ heads: 1, weight: '1' });
    // Three use their first key. A change by hand asks for a leaf: it must not count them.
    for (const voter of election.voters.slice(1, 4)) await vote(election, voter);
    await account.change(`/voting-events/${id}/voters/${known?.id}`, { email: 'another@club.example' });
    await sealBallots(service, id, 5);
    expect(await rolls()).toEqual([{ heads: 1, weight: '1' }]);
    // Sealed all the same, as after 24 hours: the ballots are seen, and the roll holds them.
    await sealBallots(service, id, 1);
    expect(await rolls()).toEqual([
      { heads: 1, weight: '1' },
      { heads: 3, weight: '1' },
    ]);
    await finishEvent(service, id);
    expect((await rolls()).at(-1)).toEqual({ heads: 4, weight: '4' });
  });

  test('is never a smaller group when confirms and steps race', async () => {
    const election = await createElection(ones(40));
    const seen = new Set<number>();
    let voting = true;
    const watching = (async () => {
      while (voting) {
        await service.deps.counting.disclosure.step(election.id);
        seen.add((await read(`/voting-events/${election.id}/voters?voted=true&limit=200`)).length);
      }
    })();
    for (let from = 0; from < 40; from += 8)
      await Promise.all(election.voters.slice(from, from + 8).map((voter) => vote(election, voter)));
    voting = false;
    await watching;
    const sizes = [...seen].toSorted((one, other) => one - other);
    const steps = sizes.slice(1).map((size, place) => size - (sizes[place] ?? 0));
    expect(steps.filter((step) => step < 5)).toEqual([]);
    expect(steps.length).toBeGreaterThan(0);
  });
});

// A job would show who voted a moment after the confirms: here the test does.
/** The figures counted plainly, voter by voter. */
async function countPlainly(eventId: string) {
  const { rows } = await service.deps.db.execute<Record<string, string>>(sql`
    WITH roll AS (
      SELECT v.status, v.weight_micro, v.email IS NULL AND v.key_status = 'none' AND v.source <> 'poll' AND v.erased_at IS NULL AS unreached, (v.source = 'poll' OR p.participant IS NOT NULL) AS voted
      FROM voters v LEFT JOIN participation p ON p.voting_event_id = v.voting_event_id AND p.participant = v.id
      WHERE v.voting_event_id = ${eventId} AND v.deleted_at IS NULL)
    SELECT count(*) AS total, count(*) FILTER (WHERE status = 'pending') AS pending,
      count(*) FILTER (WHERE status = 'approved') AS approved, count(*) FILTER (WHERE status = 'rejected') AS rejected,
      count(*) FILTER (WHERE unreached AND status = 'approved') AS unreachable,
      count(*) FILTER (WHERE voted) AS voted, coalesce(sum(weight_micro), 0) / 1000000.0 AS weight,
      coalesce(sum(weight_micro) FILTER (WHERE voted), 0) / 1000000.0 AS "votedWeight" FROM roll`);
  const { rows: groups } = await service.deps.db.execute<Record<string, string>>(sql`
    SELECT g.id AS "groupId", count(v.id) AS voters, count(p.participant) AS voted FROM groups g
    LEFT JOIN voters v ON v.voting_event_id = g.voting_event_id AND v.group_id = g.id AND v.deleted_at IS NULL
    LEFT JOIN participation p ON p.voting_event_id = v.voting_event_id AND p.participant = v.id
    WHERE g.voting_event_id = ${eventId} AND g.deleted_at IS NULL GROUP BY g.id ORDER BY g.id`);
  const [row] = rows;
  if (row === undefined) throw new Error('aggregates without a row');
  return {
    voters: Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)])),
    byGroup: groups.map((group) => [group['groupId'], Number(group['voters']), Number(group['voted'])]),
  };
}

async function figuresOf({ id }: TestEvent) {
  const stats = await account.show(`/voting-events/${id}/stats`);
  return {
    voters: stats.voters,
    byGroup: stats.byGroup.map((group: { groupId: string; voters: number; voted: number }) => [
      ...[group.groupId, group.voters, group.voted],
    ]),
  };
}

const voteAs = async (event: TestEvent, id: string, email: string) =>
  vote(event, { email, voterKey: await giveVoterKey(service, event.id, id) });

/** Rows that the figures of a roll are the sum of, each with the transaction that wrote it. */
const figureRows = async (eventId: string): Promise<string[]> =>
  valuesOf(
    await service.query(
      'SELECT xmin || group_id AS row FROM roll_figures WHERE voting_event_id = $1 ORDER BY group_id',
      [eventId],
    ),
    'row',
  );

describe('the figures of a roll', () => {
  test('are what a plain count gives, after every kind of change of an election’s roll', async () => {
    const event = await account.event({ type: 'election', voter: { selfRegistration: true } });
    const path = `/voting-events/${event.id}`;
    const agree = async (): Promise<void> => expect(await figuresOf(event)).toEqual(await countPlainly(event.id));
    const groups: string[] = [];
    for (const name of ['North', 'South']) groups.push((await account.make(`${path}/groups`, { name })).id);
    await agree();
    const voters = Array.from({ length: 24 }, (_, index) => ({
      ...{ name: `Voter ${index}`, email: `voter-${index}@club.example`, weight: 1 + (index % 3) / 2 },
      ...(index % 3 === 2 ? {} : { groupId: groups[index % 3] }),
    }));
    const made = await account.make(`${path}/voters/batch`, { voters });
    await agree();
    const idOf = (index: number): string => made[index].id;
    const change = async (index: number, body: object) => await account.change(`${path}/voters/${idOf(index)}`, body);
    await change(0, { weight: 7.25 });
    await change(1, { groupId: groups[0] });
    await change(2, { status: 'rejected' });
    await change(3, { groupId: null });
    await change(4, { name: 'Of no figure' });
    await change(6, { groupId: groups[1] });
    await agree();
    demand(await account.delete(`${path}/voters/${idOf(5)}`), 202);
    const registered = { name: 'Zoe', email: 'zoe@club.example' };
    const zoe = demand(await account.page(event, 'register/voter', registered), 201);
    await agree();
    // Members of both groups and of none vote, of one weight; Zoe is approved by her first use of a key, in the same act.
    for (const index of [3, 6, 9, 12]) await voteAs(event, idOf(index), `voter-${index}@club.example`);
    await voteAs(event, zoe.id, registered.email);
    // Five voted: who asks shows them together (completions 5.6).
    expect((await figuresOf(event)).voters).toMatchObject({ voted: 5 });
    await agree();
    const before = (await figuresOf(event)).voters;
    expect(before).toMatchObject({ total: 24, voted: 5, rejected: 1, pending: 0 });
    const rows = (await figureRows(event.id)).length;
    await service.query('SELECT fold_roll_figures($1)', [event.id]);
    await agree();
    expect((await figureRows(event.id)).length).toBeLessThan(rows);
    // The roll and who took part are written once more in another order, when the result is final.
    await finishEvent(service, event.id);
    await agree();
    expect((await figuresOf(event)).voters).toEqual(before);
    demand(await account.delete(`${path}/voters/${idOf(6)}`), 202);
    await agree();
    expect(await readTurnoutByGroup(service.deps.db, event.id)).toEqual([
      ...[{ groupId: groups[0], voters: 7, voted: 2 }],
      ...[{ groupId: groups[1], voters: 8, voted: 1 }],
    ]);
  });

  test('are what a plain count gives in a poll, whose participants appear as they vote', async () => {
    const event = await account.event();
    const [position] = event.positions;
    for (let index = 0; index < 3; index += 1)
      await account.votePoll(event, [{ positionId: position?.id, candidateId: position?.candidates[index % 2] }]);
    expect(await figuresOf(event)).toEqual(await countPlainly(event.id));
    expect((await figuresOf(event)).voters).toMatchObject({ total: 3, voted: 3 });
  });

  test('show approvals by a first key once the result is final, however many and whatever plan is kept', async () => {
    await using large = await startTestService({ worker: false });
    const own = await large.account();
    const [small, event] = [await own.event({ type: 'election' }), await own.event({ type: 'election' })];
    for (const { id } of [small, event]) await finishEvent(large, id);
    const client = await large.connect();
    const step = async ({ id }: { readonly id: string }): Promise<void> => {
      const { ms } = await measured(client, 'SELECT * FROM disclose_voters($1, 10000, 5, NULL, true, false)', [id]);
      expect(ms).toBeLessThan(SERVICE_LIMITS.databaseStatementMs);
    };
    // From the sixth call on, PostgreSQL keeps the plans of a function: here those of a time when there were no voters.
    for (let call = 0; call < 7; call += 1) await step(small);
    await large.behindTheGuards([
      `INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, approved_by_key, tag, created_at, updated_at)
       SELECT $1, 'vtr_' || lpad(n::text, 8, '0'), 'Voter', 1000000, 'approved', 'sent', 'registration', true, '', 1, 1
       FROM generate_series(1, 20005) AS n`,
      [event.id],
    ]);
    const left = async (): Promise<number> =>
      (await large.query('SELECT FROM voters WHERE voting_event_id = $1 AND approved_by_key', [event.id])).length;
    await step(event);
    expect(await left()).toBe(5);
    await step(event);
    expect(await left()).toBe(0);
    client.release();
  });

  test('are disclosed whatever the statistics of the planner are of: here of a time when another event had all voters', async () => {
    await using large = await startTestService({ worker: false });
    const own = await large.account();
    const fill = (id: string, count: number) =>
      large.behindTheGuards(
        ['ALTER TABLE voters SET (autovacuum_enabled = off)'],
        [
          `INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, tag, created_at, updated_at)
           SELECT $1, 'vtr_' || lpad(n::text, 8, '0'), 'Voter', 1000000, 'approved', 'sent', 'organizer', '', 1, 1
           FROM generate_series(1, ${count}) AS n`,
          [id],
        ],
      );
    const [other, event] = [await own.event({ type: 'election' }), await own.event({ type: 'election' })];
    await fill(other.id, 40_000);
    await large.query('ANALYZE');
    await fill(event.id, 12_000);
    const put =
      'INSERT INTO undisclosed_voters (voting_event_id, voter_id) SELECT voting_event_id, id FROM voters WHERE voting_event_id = $1 LIMIT 4000';
    await large.query(put, [event.id]);
    await large.query('SELECT FROM disclose_voters($1, 10000, 0, NULL, true, false)', [event.id]);
    expect(await large.query('SELECT FROM undisclosed_voters WHERE voting_event_id = $1', [event.id])).toEqual([]);
  });

  test('are whole when the log is closed, where that takes more than one step', async () => {
    await using stepped = await startTestService({ worker: false });
    const { prosrc } = (await stepped.query("SELECT pg_get_functiondef('disclose_voters'::regproc) AS prosrc"))[0];
    await stepped.query(prosrc.replace(/page CONSTANT integer := \d+/, 'page CONSTANT integer := 3'));
    const own = await stepped.account();
    const event = await own.event({ type: 'election' }, undefined, false);
    const { id: groupId } = await own.of(event).make('/groups', { name: 'South' });
    const emails = Array.from({ length: 7 }, (_, at) => `v${at}@club.example`);
    const voters = await own
      .of(event)
      .make('/voters/batch', { voters: emails.map((email) => ({ name: 'V', email, groupId })) });
    await own.of(event).change('', { status: 'open' });
    for (const [at, { id }] of voters.entries()) {
      const voterKey = await giveVoterKey(stepped, event.id, id);
      await own.ballot(event, { email: emails[at], voterKey, votes: votesFor(event) });
    }
    await stepped.query(
      'INSERT INTO undisclosed_voters SELECT voting_event_id, id FROM voters WHERE voting_event_id = $1 ON CONFLICT DO NOTHING',
      [event.id],
    );
    await finishEvent(stepped, event.id);
    const { final, disputed } = await own.of(event).show('/results');
    expect([final, disputed]).toEqual([true, false]);
  });

  test('wait where a change holds the event: whoever reads it then is answered at once, with what was shown before', async () => {
    const event = await createElection(ones(7), { results: { visibility: 'live' } });
    for (const voter of event.voters.slice(0, 6)) await vote(event, voter);
    const client = await service.deps.db.$client.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [event.id]);
    const views = ['/results', '/stats', '/voters?voted=true'];
    const base = `/voting-events/${event.id}`;
    for (const view of views) await read(base + view);
    await read(`/public${base}/results`, account.vote);
    expect((await read(`${base}/stats`)).voters.voted).toBe(0);
    await client.query('COMMIT');
    client.release();
    expect((await read(`${base}/stats`)).voters.voted).toBe(6);
  });

  test('are disclosed in steps of 20,000 once the result is final: no statement grows with the roll', async () => {
    const event = await account.event({ type: 'election' });
    await finishEvent(service, event.id);
    const fill = () =>
      service.query(
        "INSERT INTO undisclosed_voters (voting_event_id, voter_id) SELECT $1, 'vtr_' || n FROM generate_series(1, 20005) AS n ON CONFLICT DO NOTHING",
        [event.id],
      );
    const left = async (): Promise<number> =>
      (await service.query('SELECT FROM undisclosed_voters WHERE voting_event_id = $1', [event.id])).length;
    const client = await service.deps.db.$client.connect();
    const step = () => client.query('SELECT * FROM disclose_voters($1, 10000, 5, NULL, true, false)', [event.id]);
    // From the sixth call on, PostgreSQL keeps the plans of a function, which know no value.
    const calls: number[] = [];
    for (let call = 0; call < 7; call += 1) {
      if (call > 0) await fill();
      await step();
      calls.push(await left());
    }
    client.release();
    expect(calls).toEqual(Array.from({ length: 7 }, (_, call) => (call === 0 ? 0 : 5)));
    await service.deps.counting.disclosure.stepAll();
    expect(await left()).toBe(0);
  });

  test('are disclosed in pages of 10,000 while the election is open, by a job: neither sealing nor a request waits for all', async () => {
    const event = await createElection([1, 1, 1, 1, 1, 2], { results: { visibility: 'live' } });
    const row = "'vtr_' || lpad(n::text, 8, '0')";
    const fill = (text: string): [string, unknown[]] => [`${text} FROM generate_series(1, 20010) AS n`, [event.id]];
    await service.behindTheGuards(
      fill(`INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, tag, created_at, updated_at)
        SELECT $1, ${row}, 'Voter', 1000000 * (1 + n % 2), 'approved', 'sent', 'organizer', '', 1, 1`),
      fill(`INSERT INTO undisclosed_voters (voting_event_id, voter_id) SELECT $1, ${row}`),
    );
    for (const voter of event.voters.slice(0, 5)) await vote(event, voter);
    const left = async (): Promise<number> =>
      (await service.query('SELECT FROM undisclosed_voters WHERE voting_event_id = $1', [event.id])).length;
    await account.of(event).show('/stats');
    expect(await left()).toBe(20_015);
    let steps = 0;
    const restore = interceptStatements((text, send) => {
      if (text.includes('disclose_voters')) steps += 1;
      return send();
    });
    await sealBallots(service, event.id);
    restore();
    expect([await left(), steps]).toEqual([0, 3]);
    const [{ queued }] = await service.query(
      'SELECT count(*)::int AS queued FROM ballot_queue WHERE voting_event_id = $1',
      [event.id],
    );
    expect(queued).toBe(0);
  });

  test('are asked for their weights some hundreds at a time: nothing is planned for each weight', async () => {
    const event = await account.event({ type: 'election' });
    await service.behindTheGuards([
      `INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, tag, created_at, updated_at)
       SELECT $1, 'vtr_' || lpad(n::text, 8, '0'), 'Voter', 1000000 + n % 1100, 'approved', 'sent', 'organizer', '', 1, 1
       FROM generate_series(1, 5500) AS n`,
      [event.id],
    ]);
    const client = await service.deps.db.$client.connect();
    await client.query('BEGIN');
    await client.query("SET LOCAL track_functions = 'pl'");
    const { rows } = await client.query('SELECT has_rare_weight($1) AS rare', [event.id]);
    const calls = await client.query(
      "SELECT calls::int FROM pg_stat_xact_user_functions WHERE funcname = 'shared_weights'",
    );
    await client.query('ROLLBACK');
    client.release();
    expect([rows, calls.rows]).toEqual([[{ rare: false }], [{ calls: 3 }]]);
  });

  test('are left as they are where nothing can be put together, however many groups an event has', async () => {
    const event = await account.event({ type: 'election' });
    await service.deps.db.execute(sql`
      INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
      SELECT ${event.id}, 'grp_' || n, 'approved', 'organizer', 1, 1000000, 0, 0 FROM generate_series(1, 300) AS n`);
    const before = await figureRows(event.id);
    await foldAllRollFigures(service.deps.db);
    await account.of(event).show('/stats');
    await account.of(event).make('/voters', { name: 'V', email: 'one@club.example' });
    expect((await figureRows(event.id)).filter((row) => before.includes(row))).toEqual(before);
  });

  test('are read once more at most, where voters of the next round of a rehearsal wait to be shown', async () => {
    const event = await account.event({ type: 'election' }, undefined, false);
    for (const status of ['rehearsal', 'closed']) await account.of(event).change('', { status });
    const { deps } = service;
    const closed = await findEventById(deps.db, event.id);
    const definition = closed && (await deps.definitions.get(closed));
    if (definition === undefined) throw new Error('no definition');
    await account.of(event).change('', { status: 'rehearsal' });
    await service.query('INSERT INTO undisclosed_voters (voting_event_id, voter_id) VALUES ($1, $2)', [
      event.id,
      'vtr_x',
    ]);
    await readStats(deps, deps.counting, definition, 'organizer', deps.clock.now());
    await service.query('DELETE FROM undisclosed_voters WHERE voting_event_id = $1', [event.id]);
  });

  test('are read without a look at the roll, and the many changes of a busy event are put together', async () => {
    await using alone = await startTestService({ worker: false });
    const event = await (await alone.account()).event({ type: 'election' });
    await alone.deps.db.execute(sql`
      INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
      SELECT ${event.id}, '', 'approved', 'organizer', 1, 1000000, 0, 0 FROM generate_series(1, 300)`);
    await foldAllRollFigures(alone.deps.db);
    expect(await alone.query('SELECT FROM roll_figures WHERE voting_event_id = $1', [event.id])).toHaveLength(1);
    await alone.deps.db.transaction(async (tx) => {
      await tx.execute(sql`
        INSERT INTO voters (voting_event_id, id, name, email, email_key, status, source, weight_micro, key_status, created_at, updated_at)
        SELECT ${event.id}, 'vtr_' || n, 'V', n || '@club.example', n || '@club.example', 'rejected', 'organizer', 1000000, 'none', 0, 0
        FROM generate_series(1, 300) AS n`);
      // With statistics of a time before, the planner takes any index for as good as any other.
      await tx.execute(sql`ANALYZE voters`);
      const before = await rowsRead(tx, 'voters', 'participation');
      const { voters } = await readVoterFigures(tx, event.id);
      expect(voters.total).toBe(600);
      expect(await readTurnoutByGroup(tx, event.id)).toEqual([]);
      expect(await rowsRead(tx, 'voters', 'participation')).toBe(before);
    });
  });
});
