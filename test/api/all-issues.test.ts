import { describe, expect, test } from 'vitest';
import { refusalOf, valuesOf } from '#test/harness/answers.ts';
import { type TestEvent, visitor } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';

const NAMES = ['Ada', 'Bea', 'Cy', 'Di'];

const { service, account } = await useAccount();
const poll = await account.event(
  { voter: { requireVoterId: true, saveVoterInfo: true } },
  [
    { votingMethod: 'ranked_choice', candidates: NAMES },
    { votingMethod: 'quadratic', candidates: NAMES },
    { votingMethod: 'quadratic', candidates: NAMES, settings: { title: 'More credits' } },
  ],
  true,
);
const election = await account.event(
  {
    type: 'election',
    voter: { requireVoterId: true, selfRegistration: true },
    candidate: { selfRegistration: true },
  },
  [
    { votingMethod: 'score', candidates: NAMES },
    { votingMethod: 'referendum', candidates: ['Yes', 'No'] },
  ],
);
const row = { name: 'Vera', voterId: 'v-1' };
const voter = (await account.make(`/voting-events/${election.id}/voters`, row)).id;

/** The fields that a refused body is refused for, in order of their names. */
async function issuesOf(method: string, target: string, body: unknown, key = account.write): Promise<string> {
  const answer = await service.call(method, target, body, { key });
  expect(refusalOf(answer)).toEqual([422, 'validation_error']);
  const { field, issues } = answer.body.error.details;
  expect(field).toBe(issues[0].field);
  return valuesOf(issues, 'field').toSorted().join(' ');
}

const candidate = (event: TestEvent, position: number, place: number): string =>
  event.positions[position]?.candidates[place] ?? '';
const position = (event: TestEvent, place: number): string => event.positions[place]?.id ?? '';
const cast = (event: TestEvent, body: unknown): Promise<string> =>
  issuesOf('POST', `/public/voting-events/${event.id}/ballot/cast`, body, account.vote);
const organizer = (method: string, path: string, body: unknown): Promise<string> =>
  issuesOf(method, `/voting-events/${path}`, body);

test('a list or an object where a text is due is refused for that alone', async () => {
  for (const id of [[], {}, [''], { length: 0 }]) {
    const sent = { name: 'Eve', positionIds: [id] };
    expect(await organizer('POST', `${election.id}/candidates`, sent), JSON.stringify(id)).toBe('positionIds[0]');
  }
});

describe('a body that is wrong in its form and in its values is refused for both at once', () => {
  test('of a cast in a poll: what is missing, entries of a wrong form, and entries against the rules', async () => {
    const [ranked, quadratic] = [position(poll, 0), position(poll, 1)];
    const votes = [
      { positionId: ranked, candidateId: candidate(poll, 0, 0), rank: '1' },
      { positionId: ranked, candidateId: candidate(poll, 1, 0), rank: 2 },
      { positionId: 'pos_nowhere', candidateId: 'cnd_nobody', rank: 3 },
      { positionId: ranked, candidateId: candidate(poll, 0, 1), rank: 9 },
      { positionId: quadratic, candidateId: candidate(poll, 1, 1), value: 2.5, rank: 1 },
      { candidateId: 'cnd_nobody' },
      'none',
    ];
    expect(await cast(poll, { visitorId: visitor(), countryCode: 'Germany', votes, extra: 1 })).toBe(
      'countryCode email extra voterId votes[0].rank votes[1].candidateId votes[2].candidateId votes[2].positionId votes[3].rank votes[4].rank votes[4].value votes[5].candidateId votes[5].positionId votes[6]',
    );
  });

  test('of a cast in a poll of the right form: what is missing beside entries against the rules', async () => {
    const votes = [{ positionId: position(poll, 0), candidateId: candidate(poll, 0, 0), rank: 9 }];
    expect(await cast(poll, { visitorId: visitor(), votes })).toBe('email voterId votes[0].rank');
  });

  test('of a cast in an election: what is missing beside entries against the rules', async () => {
    const votes = [{ positionId: position(election, 0), candidateId: candidate(election, 0, 0), value: 77 }];
    expect(await cast(election, { voterKey: 'ABCD', votes })).toBe('voterId votes[0].value');
    expect(await cast(election, { voterKey: 1, name: '', votes })).toBe('name voterId voterKey votes[0].value');
  });

  test('of a cast that costs too much for several positions: each is named', async () => {
    const votes = [1, 2].map((place) => ({
      positionId: position(poll, place),
      candidateId: candidate(poll, place, 0),
      value: 11,
    }));
    const sent = { visitorId: visitor(), voterId: 'member 1', email: 'one@club.example', votes };
    const { body } = await account.page(poll, 'ballot/cast', sent);
    expect(body.error.details).toEqual({
      field: 'votes',
      issues: [1, 2].map((place) => ({
        field: 'votes',
        message: `costs 121 credits of 100 for position ${position(poll, place)}`,
      })),
      reason: 'insufficient_credits',
      positionId: position(poll, 1),
      required: 121,
      available: 100,
    });
  });

  test('of points: a value that is refused by itself buys no points back', async () => {
    const event = await account.event({}, [{ votingMethod: 'cumulative', candidates: NAMES }]);
    const votes = [-5, 12].map((value, place) => ({
      ...{ positionId: position(event, 0), candidateId: candidate(event, 0, place) },
      value,
    }));
    expect(await cast(event, { visitorId: visitor(), votes })).toBe('votes[0].value votes[1].value');
  });

  test('of a voter, a batch of voters and a change of one', async () => {
    const wrong = { email: 'no address', groupId: 'grp_none', weight: 0 };
    expect(await organizer('POST', `${election.id}/voters`, { name: '', ...wrong })).toBe(
      'email groupId name voterId weight',
    );
    const voters = [{ name: 'A', ...wrong }, 7, { name: 'B', groupId: 'grp_none' }, { name: 'C', voterId: 7 }];
    expect(await organizer('POST', `${election.id}/voters/batch`, { voters })).toBe(
      'voters[0].email voters[0].groupId voters[0].voterId voters[0].weight voters[1] voters[2].groupId voters[2].voterId voters[3].voterId',
    );
    const change = { voterId: null, groupId: 'grp_none', status: 'pending' };
    expect(await organizer('PATCH', `${election.id}/voters/${voter}`, change)).toBe('groupId status voterId');
    expect(await organizer('PATCH', `${election.id}/voters/${voter}`, { ...change, weight: -1 })).toBe(
      'groupId status voterId weight',
    );
  });

  test('of changes of many', async () => {
    const ids = [voter, 'vtr_none', 7, 'vtr_none'];
    expect(await organizer('POST', `${election.id}/voters/bulk`, { action: 'praise', voterIds: ids })).toBe(
      'action voterIds[1] voterIds[2] voterIds[3]',
    );
    const candidateIds = [candidate(election, 0, 0), 'cnd_none'];
    expect(await organizer('POST', `${election.id}/candidates/bulk`, { action: 'praise', candidateIds })).toBe(
      'action candidateIds[1]',
    );
  });

  test('of a registration of a voter and of a candidate', async () => {
    const register = (kind: string, body: unknown) =>
      issuesOf('POST', `/public/voting-events/${election.id}/register/${kind}`, body, account.vote);
    const sent = { email: 'vera@club.example', groupId: 'grp_none' };
    expect(await register('voter', { name: 'Vera', ...sent })).toBe('groupId voterId');
    expect(await register('voter', { name: 1, ...sent })).toBe('groupId name voterId');
    const links = { positionIds: ['pos_none', position(election, 0)], groupId: 'grp_none' };
    expect(await register('candidate', { name: 'Cleo', ...links })).toBe('groupId positionIds[0]');
    expect(await register('candidate', { avatarUrl: 'ftp://x', ...links })).toBe(
      'avatarUrl groupId name positionIds[0]',
    );
  });

  test('of an event and a change of one', async () => {
    const payments = { payToVote: { amountMinor: 500, currency: 'eur' }, repeatVotes: true };
    const times = { startsAt: 2_000_000_000_000, endsAt: 1_900_000_000_000 };
    const wrong = { type: 'election', ...times, payments, voter: { selfRegistration: true } };
    const values = 'endsAt payments.payToVote payments.payToVote payments.repeatVotes';
    expect(await issuesOf('POST', '/voting-events', { title: 'An event', ...wrong })).toBe(values);
    expect(await issuesOf('POST', '/voting-events', { ...wrong, code: '!' })).toBe(`code ${values} title`);
    const change = { status: 'draft', results: { publishedAt: 5 }, voter: { pollIdentity: 'email' }, ...times };
    const changed = await organizer('PATCH', election.id, change);
    expect(changed).toBe('endsAt results.publishedAt status voter.pollIdentity');
    const both = await organizer('PATCH', election.id, { ...change, title: '' });
    expect(both).toBe('endsAt results.publishedAt status title voter.pollIdentity');
  });

  test('of a position and a change of one', async () => {
    const wrong = { groupId: 'grp_none', scoreMin: 0, seats: 2, maxSelections: 3, rules: null };
    const values = 'groupId maxSelections rules scoreMin seats';
    const all = { title: 'Shall we?', votingMethod: 'referendum', ...wrong };
    expect(await organizer('POST', `${election.id}/positions`, all)).toBe(values);
    const more = await organizer('POST', `${election.id}/positions`, { ...all, tieBreak: 'none' });
    expect(more).toBe(`${values} tieBreak`);
    const path = `${election.id}/positions/${position(election, 0)}`;
    const bounds = { scoreMin: 9, scoreMax: 3, minSelections: 4, maxSelections: 2, rules: {}, groupId: 'grp_none' };
    const bad = 'groupId minSelections rules scoreMax';
    expect(await organizer('PATCH', path, bounds)).toBe(bad);
    expect(await organizer('PATCH', path, { ...bounds, seats: 0 })).toBe(`${bad} seats`);
  });

  test('of the rules of a referendum: a share beyond 1 beside a wrong part of it', async () => {
    const rules = { threshold: { numerator: 3, denominator: 2, base: 'all' }, turnoutQuorum: { numerator: 0 } };
    const body = { title: 'Shall we?', votingMethod: 'referendum', rules };
    expect(await organizer('POST', `${election.id}/positions`, body)).toBe(
      'rules.threshold rules.threshold.base rules.turnoutQuorum.denominator rules.turnoutQuorum.numerator',
    );
  });

  test('of a candidate and a change of one', async () => {
    const wrong = { positionIds: ['pos_none', position(election, 0)], groupId: 'grp_none', referendumRole: 'yes' };
    const values = 'groupId positionIds[0] referendumRole';
    expect(await organizer('POST', `${election.id}/candidates`, { name: 'Cleo', ...wrong })).toBe(values);
    const path = `${election.id}/candidates/${candidate(election, 0, 0)}`;
    expect(await organizer('PATCH', path, wrong)).toBe(values);
    expect(await organizer('PATCH', path, { ...wrong, name: '' })).toBe(values.replace(' ', ' name '));
    const lists = { name: 'Cleo', positionIds: ['pos_none', 5, 'pos_none'] };
    expect(await organizer('POST', `${election.id}/candidates`, lists)).toBe(
      'positionIds[0] positionIds[1] positionIds[2]',
    );
  });

  test('of a webhook endpoint: unknown, repeated and misshapen types', async () => {
    const eventTypes = ['voter.created', 'nothing.happened', 5, 'voter.created'];
    expect(await issuesOf('POST', '/webhook-endpoints', { url: 'nowhere', eventTypes })).toBe(
      'eventTypes[1] eventTypes[2] eventTypes[3] url',
    );
  });

  test('fifty at most, in a body of any size', async () => {
    const votes = Array.from({ length: 300 }, () => ({ positionId: 'pos_none', candidateId: 'cnd_none', rank: 'x' }));
    expect((await cast(poll, { visitorId: visitor(), votes })).split(' ')).toHaveLength(50);
  });
});

describe('a text that is valid JSON and cannot be kept', () => {
  const send = async (path: string, text: string): Promise<string> => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await service.fetch(path, { method: 'POST', key: account.write, headers, body: text });
    expect(answer.status).toBe(422);
    const { error } = (await answer.json()) as { error: { details: { field: string; issues: { field: string }[] } } };
    expect(error.details.field).toBe(error.details.issues[0]?.field);
    return valuesOf(error.details.issues, 'field').join(' ');
  };

  test('is refused for every name that is given twice, NUL character, half of a pair and number at once', async () => {
    const text =
      '{"title":"a\\u0000b","title":"c","description":"\\ud800","startsAt":1e400,"endsAt":9007199254740993,"type":"poll"}';
    expect(await send('/voting-events', text)).toBe('title title description startsAt endsAt');
  });

  test('is refused for what is wrong with its other fields, too', async () => {
    expect(await send('/voting-events', '{"title":"a\\u0000b","type":"party","foo":1}')).toBe('title type foo');
  });
});

describe('a query', () => {
  test('is refused for every unknown, repeated and malformed parameter at once', async () => {
    const { status, body } = await account.get('/voting-events?limit=none&status=odd&status=open&foo=1&bar=2&foo=3');
    expect(status).toBe(400);
    const fields = valuesOf(body.error.details.issues, 'field');
    expect([...new Set(fields)].toSorted().join(' ')).toBe('bar foo limit status');
  });
});

/** Casts a ballot of four entries in which the second names no candidate of the position. */
function castEntries(event: TestEvent, mark: (place: number) => object): Promise<string> {
  const [position] = event.positions;
  const [a, b, c] = position?.candidates ?? [];
  const votes = [a, 'cnd_of_nobody', b, c].map((candidateId, place) => ({
    ...{ positionId: position?.id, candidateId, ...mark(place) },
  }));
  return cast(event, { visitorId: visitor(), votes });
}

describe('a ballot with several faults is told all of them at once', () => {
  test('a rank that a wrong entry has taken, and one that is taken twice', async () => {
    const event = await account.event({}, [{ candidates: NAMES, votingMethod: 'ranked_choice' }]);
    expect(await castEntries(event, (place) => ({ rank: place < 2 ? 1 : 2 }))).toBe(
      'votes[1].candidateId votes[1].rank votes[3].rank',
    );
  });

  test('more choices than are allowed, wrong ones among them', async () => {
    const event = await account.event({}, [
      { candidates: NAMES, votingMethod: 'approval', settings: { maxSelections: 2 } },
    ]);
    expect(await castEntries(event, () => ({}))).toBe('votes[1].candidateId votes[2].candidateId votes[3].candidateId');
  });

  test('points beyond the budget, those of a wrong entry among them', async () => {
    const event = await account.event({}, [
      { candidates: NAMES, votingMethod: 'cumulative', settings: { cumulativePointBudget: 10 } },
    ]);
    expect(await castEntries(event, () => ({ value: 3 }))).toBe('votes[1].candidateId votes[3].value');
  });
});
