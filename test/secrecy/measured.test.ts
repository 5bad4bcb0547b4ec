import { randomInt, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { demand, finishEvent, sealBallots, type TestEvent } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useOwnServer } from '#test/harness/use.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import { dumpDatabase } from './attacker.ts';
import { type MeasuredVoter, measureAll } from './measure.ts';
import { WrittenAhead } from './written-ahead.ts';

/** Elections of so many voters; those of the last two fit into one sealing each. */
const ROLLS = [300, 195, 9];
const LONG = 'ö'.repeat(199);
/** Every voting method that elections have. The first candidate of each has a name of one letter, the others names of 200. */
const PLAN = [
  { votingMethod: 'plurality', candidates: ['A', `${LONG}1`] },
  { votingMethod: 'approval', candidates: ['B', ...Array.from({ length: 9 }, (_, at) => `${LONG}${at}`)] },
  { votingMethod: 'score', candidates: ['C', `${LONG}1`, `${LONG}2`], settings: { scoreMin: -1, scoreMax: 1_000 } },
  { votingMethod: 'cumulative', candidates: ['D', `${LONG}1`], settings: { cumulativePointBudget: 1_000 } },
  { votingMethod: 'quadratic', candidates: ['E', `${LONG}1`], settings: { quadraticBaseCreditBudget: 10_000 } },
  { votingMethod: 'ranked_choice', candidates: ['F', ...Array.from({ length: 9 }, (_, at) => `${LONG}${at}`)] },
  { votingMethod: 'referendum', candidates: ['G', `${LONG}1`, `${LONG}2`] },
];

// Beside other tests their server writes gigabytes, all of which would be read.
const { service, account } = await useAccount({ worker: false, databaseUrl: await useOwnServer('measured') });
const writtenAhead = await WrittenAhead.begin(service.deps.db.$client);
const elections: TestEvent[] = [];
const voters: MeasuredVoter[] = [];
const codes: { readonly election: TestEvent; readonly confirmationCode: string }[] = [];

/** The smallest ballot that there is, or the largest one. */
function votesOf({ positions }: TestEvent, large: boolean): object[] {
  const [plurality] = positions;
  if (!large) return [{ positionId: plurality?.id, candidateId: plurality?.candidates[0] }];
  const entryOf = (method: string, index: number, count: number): object => {
    if (method === 'score') return { value: 1_000 };
    if (method === 'cumulative') return { value: index === 0 ? 1 : 999 };
    if (method === 'quadratic') return { value: 70 };
    return method === 'ranked_choice' ? { rank: count - index } : {};
  };
  return positions.flatMap(({ id, candidates }, at) => {
    const method = PLAN[at]?.votingMethod ?? '';
    const single = method === 'plurality' || method === 'referendum';
    const chosen = single ? candidates.slice(-1) : candidates;
    return chosen.map((candidateId, index) => ({
      positionId: id,
      candidateId,
      ...entryOf(method, index, chosen.length),
    }));
  });
}

/** As the SDK does it: each call has an Idempotency-Key of its own. */
const postAbout = (election: TestEvent, path: string, body: object, idempotencyKey: string) =>
  service.call('POST', `/public/voting-events/${election.id}/${path}`, body, {
    key: account.vote,
    headers: { 'Idempotency-Key': idempotencyKey },
  });

/** Checks, casts, confirms, asks for a proof and is refused. The call is made twice where a repeat gives the first answer. */
async function vote(election: TestEvent, email: string, voterKey: string, large: boolean): Promise<void> {
  const post = (path: string, body: object, idempotencyKey: string) => postAbout(election, path, body, idempotencyKey);
  const twice = async (path: string, body: object, status: number) => {
    const key = randomUUID();
    const first = await post(path, body, key);
    const again = await post(path, body, key);
    expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([status, first.body, 'true']);
    return status < 300 ? demand(first, status) : first.body.error.details.reason;
  };
  demand(await post('voter/check', { email, voterKey }, randomUUID()), 200);
  const { confirmationCode } = await twice('ballot/cast', { email, voterKey, votes: votesOf(election, large) }, 201);
  await twice('ballot/confirm', { confirmationCode }, 200);
  demand(await post('log/proof', { confirmationCode }, randomUUID()), 200);
  // Not for each voter: wrong keys are limited.
  const wrong = codes.length % 10 === 0;
  const refused = { email, voterKey: wrong ? 'ABCD-EFGH-JKMN-PQRT' : voterKey, votes: votesOf(election, large) };
  expect(await twice('ballot/cast', refused, wrong ? 403 : 409)).toBe(wrong ? 'voter_key_invalid' : 'already_voted');
  codes.push({ election, confirmationCode });
}

beforeAll(async () => {
  for (const roll of ROLLS) {
    const election = await account.event({ type: 'election' }, PLAN);
    elections.push(election);
    const rows = Array.from({ length: roll }, (_, at) => ({ name: `Voter ${at}`, email: `v${at}@mail.example` }));
    const path = `/voting-events/${election.id}/voters/batch`;
    for (let first = 0; first < roll; first += 100) {
      const batch = rows.slice(first, first + 100);
      const made = await account.make(path, { voters: batch });
      for (const { id, email } of made) {
        const large = randomInt(2) === 1;
        await vote(election, email, await giveVoterKey(service, election.id, id), large);
        voters.push({ id, large });
      }
      await writtenAhead.read();
    }
  }
});

async function expectChance(): Promise<void> {
  await writtenAhead.read();
  const dump = [...(await dumpDatabase(service.deps.db.$client)), ...writtenAhead.rows()];
  const report = measureAll(dump, voters, () => randomInt(2 ** 32) / 2 ** 32);
  console.info(
    `${report.measures} measures of ${report.voters} voters: at best ${report.right} right (${report.by}); by chance up to ${report.byChance}`,
  );
  expect(report.measures).toBeGreaterThan(250);
  // About one honest run in a hundred is a ballot or two above chance. A leak of one voter in ten is far above it.
  expect(report.right, report.by).toBeLessThanOrEqual(report.byChance + 0.03 * report.voters);
}

describe(`who measures every value of a copy of ${ROLLS.reduce((sum, roll) => sum + roll)} ballots, and can read none`, () => {
  test('tells the smallest ballot from the largest no better than by chance, while they wait', expectChance);

  test('does so no better once they are sealed, and when the result is final and their keys are gone', async () => {
    for (const { id } of elections) await sealBallots(service, id);
    await expectChance();
    for (const { election, confirmationCode } of codes)
      demand(await postAbout(election, 'log/proof', { confirmationCode }, randomUUID()), 200);
    // The length of a proof depends on the place of the leaf: stored in the order of the votes, it showed whose leaf it was.
    const { rows } = await service.deps.db.$client.query(
      'SELECT status, count(*)::int AS claims, count(DISTINCT length(body))::int AS lengths FROM idempotency_keys GROUP BY 1 ORDER BY 1',
    );
    expect(rows).toEqual([
      { status: 200, claims: 4 * voters.length, lengths: 0 },
      { status: 201, claims: voters.length, lengths: 0 },
      { status: 409, claims: voters.length, lengths: 1 },
    ]);
    for (const { id } of elections) await finishEvent(service, id);
    await expectChance();
  });

  test('tells all of them, by the same program, where a row beside the voter is as long as the ballot: by the row, and by its record', async () => {
    const { $client } = service.deps.db;
    await $client.query('CREATE TABLE naive_answers (voter text, answer text)');
    for (const { id, large } of voters)
      await $client.query("INSERT INTO naive_answers VALUES ($1, repeat('x', $2))", [id, large ? 900 : 80]);
    await writtenAhead.read();
    const dump = await dumpDatabase($client);
    // As if each had been written in the order of who took part.
    const participations = dump
      .filter(({ table }) => table === 'public.participation')
      .map((row) => ({ ...row, place: voters.findIndex(({ id }) => id === row.columns['participant']) }));
    for (const rows of [dump, writtenAhead.rows()]) {
      const naive = rows.filter(({ table }) => table.endsWith('naive_answers'));
      const report = measureAll([...participations, ...naive], voters, () => randomInt(2 ** 32) / 2 ** 32);
      expect(report.right).toBe(voters.length);
    }
  });
});
