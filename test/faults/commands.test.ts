import { chmodSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { retryFailedJobs } from '#src/jobs/inspect.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { type CommandEnd, runCommand } from '#test/harness/command-line.ts';
import { demand, finishEvent, sealBallots, votesFor } from '#test/harness/elections.ts';
import { createFakeClock, hasFaketime } from '#test/harness/faketime.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { changeItem } from '#test/harness/sealed-box.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const { service, account } = await useAccount({ worker: false });

const run = (...words: string[]): Promise<CommandEnd> => runCommand(service, words);
const folder = useFolder('voting-commands-');
chmodSync(folder, 0o755);
async function makeKey(more: readonly string[] = [], environment = {}): Promise<{ id: string; key: string }> {
  const words = ['keys', 'create', '--account', account.id, '--name', 'k', '--scopes', 'read', '--json', ...more];
  return JSON.parse((await runCommand(service, words, environment)).stdout);
}
const statusOf = async ({ key }: { key: string }) => (await service.call('GET', '/me', undefined, { key })).status;
const query = (statement: string, values: unknown[]) => service.deps.db.$client.query(statement, values);

async function pollWithVotes(count: number) {
  const event = await account.event({}, [
    { votingMethod: 'plurality', candidates: ['Ada', '日本 太郎'] },
    { votingMethod: 'score', candidates: ['Red', 'Blue'] },
  ]);
  const [first, second] = event.positions;
  for (let index = 0; index < count; index += 1) {
    const votes = [
      { positionId: first?.id, candidateId: first?.candidates[index % 2] },
      { positionId: second?.id, candidateId: second?.candidates[0], value: 1 + (index % 4) },
    ];
    await account.votePoll(event, votes);
  }
  return event;
}

/** An election in which three of four voters have confirmed; one has the weight 2.5. */
async function electionWithVotes() {
  const event = await account.event({ type: 'election' });
  const rows = [1, 2.5, 1, 1].map((weight, index) => ({ name: `Voter ${index}`, voterId: `V${index}`, weight }));
  const voters = await account.make(`/voting-events/${event.id}/voters/batch`, { voters: rows });
  for (const { id, voterId } of voters.slice(0, 3)) {
    const voterKey = await giveVoterKey(service, event.id, id);
    const ballot = { voterKey, voterId, votes: votesFor(event) };
    const { confirmationCode } = demand(await account.page(event, 'ballot/cast', ballot), 201);
    demand(await account.page(event, 'ballot/confirm', { confirmationCode }), 200);
  }
  return event;
}

describe('the operator’s commands', () => {
  test('show an example, and end with 2 and the way to help for wrong usage', async () => {
    const [jobs, missing, wrong] = await Promise.all([
      run('jobs', 'retry', '--help'),
      run('keys', 'create', '--account', 'acc_x'),
      run('accounts', 'create', '--name', 'x', '--plan', 'gold'),
    ]);
    expect(jobs).toMatchObject({ code: 0, stderr: '' });
    expect(jobs.stdout).toContain('  $ npm run --silent cli -- jobs retry --all-failed');
    for (const end of [missing, wrong])
      expect(end).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--help') });
    expect(wrong.stderr).toContain('must be one of free, pro, enterprise');
  });

  test('revoke the key that is named, and refuse two keys, or none', async () => {
    const [one, two] = [await makeKey(), await makeKey()];
    const ends = await Promise.all([run('keys', 'revoke', one.id, '--key', two.id), run('keys', 'revoke')]);
    for (const end of ends) expect(end).toMatchObject({ code: 2, stderr: expect.stringContaining('name one key') });
    expect((await run('keys', 'revoke', one.id)).code).toBe(0);
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 200]);
  });

  test.skipIf(!hasFaketime)('count days by the database’s clock, whatever the machine’s shows', async () => {
    const { environment, step } = createFakeClock(path.join(folder, 'clock'));
    step('-2d');
    const made = await makeKey(['--expires-in-days', '1'], environment);
    const [row] = await service.query('SELECT expires_at - now_ms() AS left FROM api_keys WHERE id = $1', [made.id]);
    expect([await statusOf(made), Math.round(Number(row.left) / 86_400_000)]).toEqual([200, 1]);
  });

  test('say what was wrong in one line, without a stack, a password or a key', async () => {
    const away = 'postgres://voting:hunter2@127.0.0.1:9/voting';
    const [unreachable, unset] = await Promise.all([
      runCommand(service, ['accounts', 'list'], { DATABASE_URL: away }),
      runCommand(service, ['accounts', 'list'], { SECRET_KEY: 'short' }),
    ]);
    expect(unreachable).toMatchObject({ code: 1, stdout: '' });
    expect(unreachable.stderr).toMatch(/^Refused: the database could not be used: nothing listens .*DATABASE_URL.*\n$/);
    expect(unreachable.stderr).not.toContain('hunter2');
    expect(unset).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^SECRET_KEY must be .*\n$/) });
    expect(unset.stderr).not.toContain('short');
  });

  test('print one JSON value for programs, a table and what to do next for people, and a key this once', async () => {
    const made = await run('keys', 'create', '--account', account.id, '--name', 'server', '--scopes', 'read,write');
    const key = /vsk_\w+/.exec(made.stdout)?.[0] ?? '';
    expect(made.stderr).toContain('shown this once');
    expect(made.stderr).not.toContain(key);
    const [json, people] = await Promise.all([run('keys', 'list', '--json'), run('keys', 'list')]);
    expect(json.stderr).toBe('');
    expect(JSON.parse(json.stdout).length).toBeGreaterThanOrEqual(4);
    expect(json.stdout + people.stdout).not.toContain(key);
    expect(people.stdout).toMatch(/^id +name +hint +scopes .*\n─+ /);
  });

  test('make a key that reads the log of one event, and ask for that event', async () => {
    const event = await pollWithVotes(1);
    const words = ['keys', 'create', '--account', account.id, '--name', 'voters', '--scopes', 'log'];
    const nowhere = await run(...words);
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('event') });
    const made = await run(...words, '--event', event.code, '--json');
    expect(made, made.stderr).toMatchObject({ code: 0, stderr: '' });
    const { key, scopes } = JSON.parse(made.stdout);
    expect([key, scopes]).toEqual([expect.stringMatching(/^vlk_\w{38}$/), ['log']]);
    const path = `/public/voting-events/${event.id}/log/checkpoint`;
    expect((await service.call('GET', path, undefined, { key })).status).toBe(200);
  });

  test('recount the box, and end with 0 where roll, log and bound result agree', async () => {
    const event = await pollWithVotes(7);
    await sealBallots(service, event.id, 3);
    const where = ['recount', '--event', event.code];
    const open = await run(...where, '--json');
    expect(open).toMatchObject({ code: 0, stderr: '' });
    const told = JSON.parse(open.stdout);
    const served = await account.show(`/voting-events/${event.id}/results`);
    expect(told.positions).toEqual(served.positions);
    expect(told.checks.map(({ check, status }: Record<string, string>) => `${check} ${status}`)).toEqual([
      ...['roll left_out', 'electorate left_out', 'log agrees', 'close left_out'],
    ]);
  });

  test('recount an election against its roll, and find a voter who was struck off it or ticked off without a ballot', async () => {
    const event = await electionWithVotes();
    await finishEvent(service, event.id);
    const closed = await run('recount', '--event', event.code);
    expect(closed).toMatchObject({ code: 0, stderr: '' });
    expect(closed.stdout).toMatch(/Ada +3 +4.5 +yes/);
    for (const check of ['roll', 'electorate', 'log', 'close'])
      expect(closed.stdout).toMatch(new RegExp(`${check} +agrees`));
    await query("INSERT INTO participation (voting_event_id, participant) VALUES ($1, 'nobody')", [event.id]);
    await query("INSERT INTO roll_figures VALUES ($1, DEFAULT, '', 'approved', 'organizer', 0, 1000000, 0, 0)", [
      event.id,
    ]);
    const changed = await run('recount', '--event', event.code);
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(/roll +differs +4 voters took part, 3 ballots were counted/);
    expect(changed.stdout).toMatch(/electorate +differs +weight 6.5 as kept, 5.5 on the roll/);
    expect(changed.stderr).toContain('keep a copy of the database');
  });

  test('recount with 1 and say what differs, when the box was changed by hand', async () => {
    const event = await pollWithVotes(6);
    await finishEvent(service, event.id);
    // Who owns the tables can switch their guards off.
    await runStatements(service.databaseUrl, ['ALTER TABLE ballot_blocks DISABLE TRIGGER USER']);
    const { rows } = await query(
      'SELECT leaf_index::int AS leaf, entries FROM sealed_ballots($1) ORDER BY leaf_index',
      [event.id],
    );
    const other = rows.find(({ entries }) => !entries.equals(rows[0]?.entries));
    await query(changeItem('entries'), [event.id, rows[0]?.leaf, other?.entries]);
    const changed = await run('recount', '--event', event.code, '--json');
    expect(changed.code).toBe(1);
    const { agrees, checks } = JSON.parse(changed.stdout);
    expect(agrees).toBe(false);
    expect(checks.filter(({ status }: Record<string, string>) => status === 'differs')).toEqual([
      { check: 'log', status: 'differs', detail: expect.stringMatching(/the ballot at \d+ is not the one in the log/) },
      { check: 'close', status: 'differs', detail: expect.any(String) },
    ]);
  });

  test('list jobs with their state, and let failed ones run again', async () => {
    const task = { name: 'test_job', maxAttempts: 3 };
    for (const key of ['one', 'two', 'three']) await enqueue(service.deps.db, task, { id: key }, { key });
    await query("UPDATE jobs SET attempts = 3, last_error = 'test_job failed: Error' WHERE key IN ('one', 'two')", []);
    const listed = await run('jobs', 'list', '--task', 'test_job', '--state', 'failed', '--json');
    const failed: { id: string }[] = JSON.parse(listed.stdout);
    expect(failed).toEqual(
      [1, 2].map(() => expect.objectContaining({ state: 'failed', attempts: 3, lastError: 'test_job failed: Error' })),
    );
    const [one] = failed;
    const retried = await run('jobs', 'retry', one?.id ?? '', '--json');
    expect(JSON.parse(retried.stdout)).toMatchObject({ id: one?.id, state: 'waiting', attempts: 0 });
    const rest = await run('jobs', 'retry', '--all-failed', '--json');
    expect(JSON.parse(rest.stdout)).toEqual({ retried: 1 });
    // As many as failed in days: one statement over all of them met its time limit.
    await query(
      `INSERT INTO jobs (name, payload, last, run_at, attempts, max_attempts, created_at)
       SELECT 'test_job', '{}', true, now_ms(), 3, 3, now_ms() FROM generate_series(1, 20001)`,
      [],
    );
    let steps = 0;
    const restore = interceptStatements((text, send) => {
      if (text.includes('run_jobs_again')) steps += 1;
      return send();
    });
    const all = await retryFailedJobs(service.deps.db);
    restore();
    expect([all, steps]).toEqual([20_001, 4]);
    const gone = await run('jobs', 'retry', '999999999');
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Refused: this job is done/) });
  });
});
