import { beforeAll, describe, expect, test } from 'vitest';
import { Disclosure } from '#src/results/disclosure.ts';
import { demand, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, sealBallots } from '#test/harness/elections.ts';
import { fillEvent, votesOf } from '#test/harness/largest-event.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

let eventId: string;

/** Few enough to be quick, enough to be counted in the thread. */
const SIZE = { positions: 6, candidates: 999 };

const { service, account } = await useAccount();
beforeAll(async () => {
  const { $client } = service.deps.db;
  const event = await account.event({ type: 'poll' }, [], false);
  eventId = event.id;
  await fillEvent($client, eventId, SIZE);
  await account.change(`/voting-events/${eventId}`, { status: 'open' });
  for (let kind = 0; kind < 2; kind += 1) await account.votePoll(event, votesOf(kind, SIZE, 33));
  await sealBallots(service, eventId);
});

const read = (path: string) => account.get(`/voting-events/${eventId}${path}`);

describe('results of many candidates, counted in a thread of their own', () => {
  test('have every candidate and leave the rounds out, with which they would be fifty times as long', async () => {
    const results = demand(await read('/results'), 200);
    expect(results.stats).toMatchObject({ ballots: 2, totalVotes: 12 });
    expect(results.positions).toHaveLength(SIZE.positions);
    for (const position of results.positions) {
      expect(position.candidates).toHaveLength(SIZE.candidates);
      expect(position).toMatchObject({ rounds: null, roundsOmitted: true, pairwise: null });
    }
    expect(JSON.stringify(results).length).toBeLessThan(SIZE.positions * SIZE.candidates * 250);
  });

  test('give their rounds in pages, each once', async () => {
    const numbers: number[] = [];
    for (let from: number | null = 1; from !== null && numbers.length < 60; ) {
      const page = demand(await read(`/results/rounds?positionId=pos_l_1&fromRound=${from}`), 200);
      expect(valuesOf(page.rounds, 'tallies').flat().length).toBeLessThanOrEqual(2_000);
      numbers.push(...valuesOf(page.rounds, 'round'));
      from = page.nextRound;
    }
    expect(numbers).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    const last = demand(await read('/results/rounds?positionId=pos_l_1&fromRound=990'), 200);
    expect(last.nextRound).toBeNull();
    expect((await read('/results/rounds?positionId=pos_nobody')).status).toBe(404);
    expect((await read('/results/rounds?positionId=pos_l_1&fromRound=0')).status).toBe(400);
  });

  test('are those of the figures, the exports and the report', async () => {
    expect(demand(await read('/stats'), 200)).toMatchObject({ ballots: { confirmed: 2 } });
    for (const [kind, type] of [
      ['csv', 'text/csv'],
      ['json', 'application/json'],
      ['pdf', 'application/pdf'],
    ] as const) {
      const file = await account.of({ id: eventId }).download(`/results/${kind}`);
      expect(file.status).toBe(200);
      expect(file.headers.get('content-type')).toContain(type);
      expect(file.bytes.length).toBeGreaterThan(100_000);
    }
  });

  test('are asked for by many at once, and counted for all of them together', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => read('/results')));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  });

  test('become final while another event is closed at the same time', async () => {
    const other = await account.event({ type: 'poll' }, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
    await sealBallots(service, other.id);
    await Promise.all([finishEvent(service, eventId), finishEvent(service, other.id)]);
    const results = demand(await read('/results'), 200);
    expect(results.final).toBe(true);
    expect(results.lot.seed).not.toBeNull();
  });
});

test('those of an election become final too, measured against its roll with groups and weights', async () => {
  const event = await account.event({ type: 'election' }, [], false);
  const path = `/voting-events/${event.id}`;
  const { id: groupId } = demand(await account.post(`${path}/groups`, { name: 'South' }), 201);
  await fillEvent(service.deps.db.$client, event.id, SIZE);
  const rows = [1, 2.5].map((weight) => ({ name: 'V', email: `v${weight}@club.example`, weight, groupId }));
  const voters: { id: string; email: string }[] = await account.make(`${path}/voters/batch`, { voters: rows });
  await account.change(path, { status: 'open' });
  for (const { id, email } of voters) {
    const voterKey = await giveVoterKey(service, event.id, id);
    await account.ballot(event, { voterKey, email, votes: votesOf(0, SIZE, 33) });
  }
  await finishEvent(service, event.id);
  const results = demand(await account.get(`${path}/results`), 200);
  expect(results).toMatchObject({ final: true, disputed: false, stats: { ballots: 2, electorate: 3.5, turnout: 1 } });
});

describe('those of an open election', () => {
  const openElection = async (voters: number) => {
    const event = await account.event({ type: 'election', results: { visibility: 'live' } }, [], false);
    const path = `/voting-events/${event.id}`;
    await fillEvent(service.deps.db.$client, event.id, SIZE);
    const rows = Array.from({ length: voters }, (_, index) => ({ name: 'V', email: `o${index}@club.example` }));
    const made: { id: string; email: string }[] = await account.make(`${path}/voters/batch`, { voters: rows });
    await account.change(path, { status: 'open' });
    const vote = async (from: number, to: number): Promise<void> => {
      for (const { id, email } of made.slice(from, to)) {
        const voterKey = await giveVoterKey(service, event.id, id);
        await account.ballot(event, { voterKey, email, votes: votesOf(0, SIZE, 3) });
      }
    };
    const shown = async (what: string) =>
      demand(await service.call('GET', `/public${path}${what}`, undefined, { key: account.vote }), 200);
    return { id: event.id, voterIds: made.map(({ id }) => id), vote, shown };
  };

  test('show five ballots at once to whoever asks first, as those of small ones do', async () => {
    const { vote, shown } = await openElection(10);
    await vote(0, 4);
    expect((await shown('/results')).stats).toMatchObject({ ballots: 0, disclosure: { waiting: true } });
    await vote(4, 5);
    expect((await shown('/results')).stats).toMatchObject({ ballots: 5, disclosure: { waiting: false } });
    await vote(5, 10);
    const [first] = (await shown('/results/rounds?positionId=pos_l_1')).rounds;
    expect(Math.max(...valuesOf(first.tallies, 'votesWon'))).toBe(10);
  });

  test('are remembered where another process made the step: no single ballot is seen when SQL sets it back', async () => {
    const { id, voterIds, vote, shown } = await openElection(18);
    await vote(0, 5);
    expect((await shown('/results')).stats.ballots).toBe(5);
    const [before] = await service.query('SELECT sealed FROM public_snapshots WHERE voting_event_id = $1', [id]);
    await vote(5, 10);
    await new Disclosure({ ...service.deps }).step(id);
    expect((await shown('/results')).stats.ballots).toBe(10);
    await service.query('UPDATE public_snapshots SET sealed = $2 WHERE voting_event_id = $1', [id, before?.['sealed']]);
    await vote(10, 11);
    const waiting = 'INSERT INTO undisclosed_voters SELECT $1, v FROM unnest($2::text[]) AS v';
    await service.query(waiting, [id, voterIds.slice(12, 18)]);
    expect((await shown('/results')).stats.ballots).toBe(5);
  });
});

test('rounds of a small event come from the same path; other methods have none', async () => {
  const event = await account.event({ type: 'poll', results: { visibility: 'live' } }, [
    { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea', 'Cid'] },
    { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
  ]);
  for (const { id: positionId } of event.positions) {
    const rounds = demand(await account.page(event, `results/rounds?positionId=${positionId}`), 200);
    expect(rounds).toEqual({ positionId, rounds: [], nextRound: null });
  }
});
