import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { sealDeps } from '#src/work.ts';
import { valuesOf } from '#test/harness/answers.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { finishEvent, sealBallots, type TestEvent, tendLog } from '#test/harness/elections.ts';
import { changeItem } from '#test/harness/sealed-box.ts';
import { runVerifier } from '#test/harness/started-service.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const { service, account } = await useAccount();
const folder = useFolder('voting-verify-test-');

const METHODS = [
  ...['plurality', 'approval', 'score', 'cumulative', 'quadratic', 'ranked_choice'].map((votingMethod) => ({
    votingMethod,
    candidates: ['Ada', 'Bea', 'Cy'],
    settings: votingMethod === 'plurality' ? { tieBreak: 'lot' } : {},
  })),
  { votingMethod: 'referendum', candidates: ['Yes', 'No', 'Abstain'] },
  { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea', 'Cy', 'Di'], settings: { seats: 2 } },
];

function votesOf(event: TestEvent, choice: number) {
  return event.positions.flatMap(({ id: positionId, candidates }, index) => {
    const valued = ['score', 'cumulative', 'quadratic'].includes(METHODS[index]?.votingMethod ?? '');
    const ranked = METHODS[index]?.votingMethod === 'ranked_choice';
    const own = (at: number, rank: number) => ({
      positionId,
      candidateId: candidates[at % candidates.length],
      ...(valued ? { value: 1 + ((choice + at) % 4) } : {}),
      ...(ranked ? { rank } : {}),
    });
    return ranked ? [own(choice, 1), own(choice + 1 + (choice % 2), 2)] : [own(choice + index, 1)];
  });
}

async function pollWith(ballots: number, finished: boolean): Promise<{ event: TestEvent; key: string }> {
  const event = await account.event({ results: { visibility: 'live' } }, METHODS);
  for (let index = 0; index < ballots; index += 1) await account.votePoll(event, votesOf(event, index));
  await sealBallots(service, event.id);
  if (finished) await finishEvent(service, event.id);
  return { event, key: await createObserverKey(service, account, event.id) };
}

const verify = (event: TestEvent, key: string, ...more: string[]) => runVerifier(service.port, event.id, key, more);

test('a ballot with fewer choices is right where a candidate had withdrawn when it was cast, and came back', async () => {
  const settings = { minSelections: 3, maxSelections: 3 };
  const event = await account.event({}, [{ votingMethod: 'approval', candidates: ['Ada', 'Bea', 'Cy'], settings }]);
  const [position] = event.positions;
  const choose = (from: number) =>
    (position?.candidates ?? []).slice(from).map((candidateId) => ({ positionId: position?.id, candidateId }));
  const set = async (status: string): Promise<void> => {
    await account.change(`/voting-events/${event.id}/candidates/${position?.candidates[0]}`, { status });
    await sealBallots(service, event.id);
  };
  await account.votePoll(event, choose(0));
  await set('withdrawn');
  await account.votePoll(event, choose(1));
  await set('approved');
  await account.votePoll(event, choose(0));
  await finishEvent(service, event.id);
  expect(await verify(event, await createObserverKey(service, account, event.id))).toMatchObject({
    code: 0,
    report: { verified: 'yes' },
  });
});

describe('the verifier, run against the service', () => {
  test('verifies a finished event with every method, from key to recount; the operator’s command runs the same', async () => {
    const { event, key } = await pollWith(9, true);
    const first = await verify(event, key, '--save', path.join(folder, 'first.txt'));
    expect(first).toMatchObject({ code: 0, report: { verified: 'yes', size: 12 } });
    expect(
      first.report.checks.map(({ name, status }: { name: string; status: string }) => `${name} ${status}`),
    ).toEqual([
      ...['key verified', 'signature verified', 'leaves verified', 'root verified', 'consistency not_asked'],
      ...['confirmed verified', 'your ballot not_asked', 'promise kept not_asked', 'witnesses not_asked'],
      ...['not disputed verified', 'configurations verified'],
      ...['close verified', 'openings verified', 'weight verified', 'recount verified'],
    ]);
    const since = ['--since', path.join(folder, 'first.txt')];
    const again = await runVerifier(service.port, event.id, key, since, 'src/cli.ts');
    expect(again).toMatchObject({ code: 0, report: { verified: 'yes' } });
    expect(again.report.checks.some(({ name }: { name: string }) => name === 'consistency')).toBe(true);
  });

  test('says what it left out while the event is open, and keeps an eye on it by the checkpoint it saved', async () => {
    const { event, key } = await pollWith(4, false);
    const saved = path.join(folder, 'open.txt');
    const early = await verify(event, key, '--save', saved);
    expect(early).toMatchObject({ code: 3, report: { verified: 'partial' } });
    expect(early.report.checks.at(-1)).toMatchObject({ name: 'recount', status: 'left_out' });
    for (let index = 0; index < 3; index += 1) await account.votePoll(event, votesOf(event, index));
    await finishEvent(service, event.id);
    expect(await verify(event, key, '--since', saved)).toMatchObject({ code: 0, report: { verified: 'yes' } });
  });

  test('finds a ballot that was changed in the database, and one whose leaf was changed with it', async () => {
    const { event, key } = await pollWith(5, true);
    const next = 'SELECT entries FROM sealed_ballots($1) WHERE leaf_index = 2';
    const [row] = await service.query<{ entries: Buffer }>(next, [event.id]);
    await service.behindTheGuards([changeItem('entries'), [event.id, 1, row?.entries]]);
    // A process that counts for the first time: the one before goes on from what it counted before the change.
    await using fresh = await service.another();
    const changed = await runVerifier(fresh.port, event.id, key);
    const failed = changed.report.checks.filter(({ status }: { status: string }) => status === 'failed');
    expect([changed.code, valuesOf(failed, 'name')]).toEqual([1, ['not disputed', 'close', 'openings']]);
    expect(await checkLog(service.deps, event.id)).toBe('the ballot at 1 is not the one in the log');
    await service.behindTheGuards([
      'UPDATE log_leaves a SET data = b.data FROM log_leaves b WHERE a.voting_event_id = $1 AND a.leaf_index = 1 AND b.voting_event_id = $1 AND b.leaf_index = 2',
      [event.id],
    ]);
    expect((await verify(event, key)).code).toBe(1);
    expect(await checkLog(service.deps, event.id)).toMatch('has another root');
  });

  test('ends with 3 where the service cannot be read, and with 2 for wrong usage', async () => {
    const { event, key } = await pollWith(0, false);
    expect(await verify(event, 'vok_wrong')).toMatchObject({ code: 3, report: { verified: 'partial' } });
    const unknown = await verify({ ...event, id: 'evt_unknown' }, key);
    expect(unknown).toMatchObject({ code: 3, report: { verified: 'partial' } });
    expect((await verify(event, key, '--wrong')).code).toBe(2);
  });
});

describe('a stored log', () => {
  test('refuses every change and removal, of leaves, tiles, checkpoints, ballots and its head', async () => {
    const { event } = await pollWith(3, true);
    const tables = ['log_leaves', 'log_checkpoints', 'ballot_blocks'];
    const refused = [
      ...tables.flatMap((table) => [`DELETE FROM ${table}`, `TRUNCATE ${table}`]),
      ...["UPDATE log_leaves SET data = ''", 'UPDATE log_checkpoints SET size = size + 1'],
      ...["UPDATE ballot_blocks SET weights = '{2}'", 'UPDATE ballot_blocks SET salts = $1'],
      ...["UPDATE ballot_blocks SET entries = entries || '\\x00'", 'UPDATE ballot_logs SET size = size - 1'],
      ...["UPDATE ballot_logs SET frontier = ''", 'DELETE FROM ballot_logs'],
    ];
    for (const statement of refused) {
      const answer = service.deps.db.$client.query(statement, statement.includes('$1') ? [Buffer.alloc(32)] : []);
      await expect(answer, statement).rejects.toMatchObject({ code: '23001' });
    }
    expect(await checkLog(service.deps, event.id)).toBeUndefined();
  });

  test('goes with its event when the organizer deletes it, and only then', async () => {
    const { event } = await pollWith(3, false);
    expect((await account.of(event).delete('?force=true')).status).toBe(204);
    // Its rows go in the background, in pieces.
    const leaves = 'SELECT 1 FROM log_leaves WHERE voting_event_id = $1';
    await untilTrue(async () => (await service.query(leaves, [event.id])).length === 0);
  });

  test('is checked by a job, and finds what an observer would', async () => {
    const { event } = await pollWith(3, false);
    expect(await checkLog(service.deps, event.id)).toBeUndefined();
    await service.behindTheGuards(['DELETE FROM ballot_blocks WHERE voting_event_id = $1', [event.id]]);
    expect(await checkLog(service.deps, event.id)).toBe('the ballot at 1 is missing in the box');
  });

  test('that was set back to an older backup is noticed: nothing is signed over it, no ballot is lost', async () => {
    const { event, key } = await pollWith(3, false);
    const log = new LogReader(service, event.id, key);
    const saved = path.join(folder, 'before.txt');
    writeFileSync(saved, String((await log.get('checkpoint')).body));
    const tables = ['ballot_logs', 'log_leaves', 'log_checkpoints', 'ballot_blocks'];
    const backup = tables.map(
      (table) => `CREATE TABLE backup_${table} AS SELECT * FROM ${table} WHERE voting_event_id = '${event.id}'`,
    );
    for (const statement of backup) await service.deps.db.$client.query(statement);
    for (let index = 0; index < 3; index += 1) await account.votePoll(event, votesOf(event, index));
    await sealBallots(service, event.id);
    const later = path.join(folder, 'later.txt');
    writeFileSync(later, String((await log.get('checkpoint')).body));
    await service.behindTheGuards(
      ...tables.flatMap((table): [string, unknown[]][] => [
        [`DELETE FROM ${table} WHERE voting_event_id = $1`, [event.id]],
        [`INSERT INTO ${table} SELECT * FROM backup_${table}`, []],
      ]),
    );
    await account.votePoll(event, votesOf(event, 1));
    await expect(tendLog(sealDeps(service.deps), event.id, 1)).rejects.toThrow(LogSetBack);
    expect(await checkLog(service.deps, event.id)).toMatch('an older state was restored');
    // An earlier reader would find nothing: the service says itself that it is in doubt.
    const disputed = await verify(event, key, '--since', saved);
    const failed = disputed.report.checks.filter(({ status }: { status: string }) => status === 'failed');
    expect([disputed.code, failed]).toMatchObject([1, [{ name: 'not disputed' }]]);
    const noticed = await verify(event, key, '--since', later);
    expect([noticed.code, noticed.report.checks.at(-1)]).toMatchObject([1, { name: 'consistency', status: 'failed' }]);
    const results = await account.show(`/voting-events/${event.id}/results`);
    expect(results.stats.ballots).toBe(4);
  });
});
