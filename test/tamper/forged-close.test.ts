import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { checkLogs } from '#src/ballot-log/check-log.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { recurringJobs } from '#src/work.ts';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, refusalOf, sealBallots } from '#test/harness/elections.ts';
import {
  cast,
  createKeyedElection,
  type KeyedElection,
  keyFiles,
  setStatus,
  voteWith,
} from '#test/harness/keyed-elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { useKeyedService } from './keyed-service.ts';

// What is closed, counted and destroyed follows the signed log, never a column (completions 6.7).

const { lines, keys, service, account, seal, read, results, bySql, check, tend } = await useKeyedService();

/** As the owner of the tables does who takes their guards away. @param statement `$1` is the event */
async function write(event: { readonly id: string }, statement: string, ...more: unknown[]): Promise<number> {
  const client = await service.deps.db.$client.connect();
  try {
    await client.query("SET session_replication_role = 'replica'");
    return (await client.query(statement, [event.id, ...more])).rowCount ?? 0;
  } finally {
    await client.query("SET session_replication_role = 'origin'");
    client.release();
  }
}

const hasAlarm = (event: KeyedElection, alarm: string): boolean =>
  lines.some((line) => line['alarm'] === alarm && line['event'] === event.id);

/** Six voters, the last two in no group, have voted, and their ballots are sealed. */
async function openElection(settings: object = {}): Promise<KeyedElection> {
  const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1, 1, 1], true, {
    ballot: { opening: 'observer' },
    ...settings,
  });
  await voteWith(service, election, [0, 1, 2, 3, 4, 5]);
  await sealBallots(service, election.id, 5);
  return election;
}

const MARKS = `UPDATE ballot_logs SET closed_size = size, lot_root = decode(repeat('11', 32), 'hex'),
  close_salt = decode(repeat('22', 32), 'hex'), close_content = '{}' WHERE voting_event_id = $1`;
const MARKED_FINAL = 'UPDATE voting_events SET final_at = now_ms() WHERE id = $1';

test('a ballot that nobody has read yet is refused once SQL marks its event as final', async () => {
  const election = await createKeyedElection(service, account, [1]);
  await write(election, MARKED_FINAL);
  service.deps.events.forget(election.id);
  const ballot = `/public/voting-events/${election.id}/ballot`;
  expect(refusalOf(await service.call('GET', ballot, undefined, { key: account.vote }))).toEqual([
    500,
    'rows_disagree',
  ]);
});

describe('a log that SQL closed', () => {
  test.each([
    ['its columns', MARKS, true],
    ['the event’s column', MARKED_FINAL, false],
    [
      'a leaf in the place of its last one',
      `UPDATE log_leaves x SET data = convert_to('{"at":1,"c":"' || repeat('0', 64) || '","e":"' || $1 || '","t":"close","v":2}', 'UTF8')
       FROM ballot_logs l WHERE l.voting_event_id = $1 AND x.voting_event_id = $1 AND x.leaf_index = l.size - 1`,
      false,
    ],
    [
      'a leaf behind its last one',
      `INSERT INTO log_leaves SELECT $1, size, convert_to('{"at":1,"c":"' || repeat('0', 64) || '","e":"' || $1 || '","t":"close","v":2}', 'UTF8')
       FROM ballot_logs WHERE voting_event_id = $1`,
      false,
    ],
  ])('by %s is not closed, tells nothing, and is found', async (_, statement, stops) => {
    const election = await openElection();
    expect(await write(election, statement)).toBe(1);
    expect(await read(election)).toMatchObject({ status: 'open', finalAt: null });
    expect(await results(election)).toMatchObject({ final: false });
    const observer = await createObserverKey(service, account, election.id);
    const openings = `/public/voting-events/${election.id}/log/openings`;
    // Where its process has read the changed row, it says that the rows disagree.
    expect([403, 500]).toContain((await service.call('GET', openings, undefined, { key: observer })).status);
    const turn = tend(election);
    if (stops) await expect(turn).rejects.toThrow(LogSetBack);
    else await turn;
    expect(await check(election)).toBeDefined();
    // Its end comes: the organizer's, which the log says.
    await moveEnd(service.deps, election.id, CLOSED).catch(() => undefined);
    await tend(election).catch(() => undefined);
    await checkLogs(seal, 0);
    expect(await read(election)).toMatchObject({ finalAt: null, disputed: true });
    expect(await results(election)).toMatchObject({ final: false, disputed: true });
  });

  test('after its end, leaf, columns and all, is not final', async () => {
    const election = await openElection();
    await moveEnd(service.deps, election.id, CLOSED);
    const content = `'{"at":1,"c":"' || repeat('0', 64) || '","e":"' || $1 || '","t":"close","v":2}'`;
    await write(election, MARKS.replace('size, lot_root', 'size + 1, size = size + 1, lot_root'));
    await write(
      election,
      `INSERT INTO log_leaves SELECT $1, size - 1, convert_to(${content}, 'UTF8') FROM ballot_logs WHERE voting_event_id = $1`,
    );
    await write(election, MARKED_FINAL);
    await tend(election).catch(() => undefined);
    expect(await read(election)).toMatchObject({ finalAt: null });
    expect(await results(election)).toMatchObject({ final: false });
  });

  test('is closed once, whatever hides its close', async () => {
    const election = await openElection();
    await finishEvent(service, election.id);
    const sizes = () => bySql(election, 'SELECT size FROM ballot_logs WHERE voting_event_id = $1');
    const before = await sizes();
    await write(
      election,
      `UPDATE ballot_logs SET closed_size = NULL, lot_root = NULL, close_salt = NULL, close_content = NULL WHERE voting_event_id = $1`,
    );
    await tend(election).catch(() => undefined);
    expect(await sizes()).toEqual(before);
    expect(await check(election)).toBeDefined();
    expect(await results(election)).toMatchObject({ final: false, disputed: true });
  });
});

describe('a final result', () => {
  test.each([
    [
      'the electorate',
      "UPDATE roll_figures SET heads = heads + 5, weight_micro = weight_micro + 5000000 WHERE voting_event_id = $1 AND status = 'approved'",
    ],
    ['who of a group took part', 'UPDATE roll_figures SET voted = voted - 2 WHERE voting_event_id = $1 AND voted > 0'],
    ['the title', "UPDATE voting_events SET title = title || '!', paper_version = paper_version + 1 WHERE id = $1"],
    ['the rules', 'UPDATE positions SET seats = 2 WHERE voting_event_id = $1'],
    ['a name', "UPDATE candidates SET name = name || ' B.' WHERE voting_event_id = $1"],
    [
      'what opens it',
      'UPDATE ballot_logs SET close_content = replace(close_content, \'"ballots":6\', \'"ballots":5\') WHERE voting_event_id = $1',
    ],
  ])('of which SQL changed %s is shown as disputed, not as final', async (_, statement) => {
    const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1, 1, 1]);
    const path = `/voting-events/${election.id}`;
    const { id: groupId } = await account.make(`${path}/groups`, { name: 'North' });
    for (const { id } of election.voters) await account.change(`${path}/voters/${id}`, { groupId });
    await account.change(`${path}/positions/${election.positions[0]?.id}`, { tieBreak: 'lot' });
    await voteWith(service, election, [0, 1, 2, 3, 4, 5]);
    await finishEvent(service, election.id);
    expect(await results(election)).toMatchObject({
      final: true,
      disputed: false,
      byGroup: [{ groupId, voters: 7, voted: 6 }],
    });
    expect(await write(election, statement)).toBeGreaterThan(0);
    await write(election, 'UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1');
    service.deps.events.forgetAll();
    const observer = await createObserverKey(service, account, election.id);
    const shown = demand(await service.call('GET', `/public${path}/results`, undefined, { key: observer }), 200);
    expect(shown).toMatchObject({ final: false, disputed: true });
    expect(shown.byGroup).toBeNull();
  });
});

test('a final result is shown to nobody where SQL changed what was counted of the roll’s changes', async () => {
  const election = await openElection();
  await finishEvent(service, election.id);
  await write(election, 'UPDATE voting_events SET roll_changes = roll_changes + 1 WHERE id = $1');
  service.deps.events.forgetAll();
  const key = await createObserverKey(service, account, election.id);
  const path = `/public/voting-events/${election.id}/results`;
  expect(refusalOf(await service.call('GET', path, undefined, { key }))).toEqual([500, 'rows_disagree']);
});

describe('the seed of a lot', () => {
  test('that SQL took from another event, or from a rehearsal of its own, decides nothing', async () => {
    const other = await openElection();
    const settings = { startsAt: Date.now() + 3_600_000 };
    const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1, 1], false, settings);
    const path = `/voting-events/${election.id}`;
    await account.change(`${path}/positions/${election.positions[0]?.id}`, { tieBreak: 'lot' });
    await account.change(path, { status: 'rehearsal' });
    await sealBallots(service, election.id);
    const seedOf = async (of: KeyedElection): Promise<string> =>
      (await bySql(of, 'SELECT lot_seed AS seed FROM ballot_logs WHERE voting_event_id = $1'))[0]?.seed ?? '';
    const foreign = [await seedOf(election), await seedOf(other)];
    await account.change(path, { status: 'open' });
    await voteWith(service, election, [0, 1, 2, 3, 4, 5]);
    await sealBallots(service, election.id, 5);
    const own = await seedOf(election);
    const put = (seed: string | undefined) =>
      write(election, 'UPDATE ballot_logs SET lot_seed = $2 WHERE voting_event_id = $1', seed);
    for (const seed of foreign) {
      await put(seed);
      expect(await check(election)).toBe('the log says another seed of the lot');
    }
    await moveEnd(service.deps, election.id, CLOSED);
    await expect(tend(election)).rejects.toThrow(LogSetBack);
    expect(await results(election)).toMatchObject({ final: false, disputed: true });
    await put(own);
    await tend(election);
    expect(await results(election)).toMatchObject({ final: true, disputed: false });
    for (const seed of foreign) {
      await put(seed);
      expect(await results(election)).toMatchObject({ final: false, disputed: true });
    }
  });
});

describe('a ballot that waits', () => {
  const due = (election: KeyedElection, at: string) =>
    write(election, `UPDATE ballot_queue SET due_at = ${at} WHERE voting_event_id = $1`);
  const waiting = async (election: KeyedElection) =>
    (await bySql(election, 'SELECT id FROM ballot_queue WHERE voting_event_id = $1')).length;

  test('is sealed alone by no column that says that it is due, and the mark is found', async () => {
    const election = await createKeyedElection(service, account, [1, 1, 1]);
    await voteWith(service, election, [0]);
    await tend(election, 5);
    expect(await check(election)).toBeUndefined();
    await due(election, '0');
    await tend(election, 5);
    expect(await waiting(election)).toBe(1);
    expect(await check(election)).toBe('a waiting ballot is not as the service wrote it');
  });

  test('is sealed when it is due although a column says later', async () => {
    const election = await createKeyedElection(service, account, [1, 1, 1], true, { endsAt: Date.now() + 60_000 });
    await voteWith(service, election, [0]);
    await tend(election, 5);
    await due(election, '9999999999999');
    expect(await check(election)).toBe('a waiting ballot is not as the service wrote it');
  });

  test('counts, is sealed, and lists stay whole, although SQL marks it as set back', async () => {
    const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1]);
    await voteWith(service, election, [0, 1, 2, 3, 4]);
    await write(election, 'UPDATE ballot_queue SET set_back = true WHERE voting_event_id = $1');
    expect(await results(election)).toMatchObject({ stats: { ballots: 5 } });
    await tend(election, 5);
    expect(await waiting(election)).toBe(0);
    expect(hasAlarm(election, 'rows_disagree')).toBe(true);
  });

  test('counts once, although SQL puts a sealed one back to wait', async () => {
    const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1]);
    await voteWith(service, election, [0, 1, 2, 3, 4]);
    const kept = `kept_${randomUUID().replaceAll('-', '')}`;
    await bySql(election, `CREATE TABLE ${kept} AS SELECT * FROM ballot_queue WHERE voting_event_id = $1`);
    await sealBallots(service, election.id, 5);
    await write(election, `INSERT INTO ballot_queue SELECT * FROM ${kept} WHERE voting_event_id = $1 LIMIT 1`);
    expect(await results(election)).toMatchObject({ stats: { ballots: 5 }, disputed: true });
  });
});

describe('the key of an election', () => {
  const destroyKeys = async (): Promise<void> => {
    await service.deps.ballotKeys.tidy();
    await service.deps.ballotKeys.destroyRetired();
    await service.deps.ballotKeys.destroyLeft();
  };

  test('is destroyed at the end, although SQL took its row away while people voted', async () => {
    const election = await createKeyedElection(service, account, [1, 1, 1]);
    await write(election, 'DELETE FROM ballot_keys WHERE voting_event_id = $1');
    await destroyKeys();
    await voteWith(service, election, [0, 1]);
    expect(keyFiles(keys, election.id)).toHaveLength(1);
    await finishEvent(service, election.id);
    expect(await results(election)).toMatchObject({ final: true, stats: { ballots: 2 } });
    await destroyKeys();
    expect(keyFiles(keys, election.id)).toEqual([]);
  });

  test.each([
    ['it is needed', undefined],
    [
      'the election is rehearsed again',
      'UPDATE voting_events SET rehearsal_since = 1, rehearsal_number = 1 WHERE id = $1',
    ],
  ])('is destroyed although SQL says that %s', async (_, statement) => {
    const election = await createKeyedElection(service, account, [1, 1, 1]);
    await voteWith(service, election, [0]);
    const [file = ''] = keyFiles(keys, election.id);
    const content = readFileSync(path.join(keys, file));
    await finishEvent(service, election.id);
    expect(keyFiles(keys, election.id)).toEqual([]);
    if (statement !== undefined) await write(election, statement);
    writeFileSync(path.join(keys, file), content);
    await destroyKeys();
    expect(keyFiles(keys, election.id)).toEqual([]);
  });

  // The job took the event's own key, too: it could never open again.
  test('stays while a round of its rehearsal is closed, whatever jobs run, and the round’s goes with the round', async () => {
    const election = await createKeyedElection(service, account, [1, 1, 1], false);
    demand(await account.patch(`/voting-events/${election.id}`, { startsAt: Date.now() + 3_600_000 }), 200);
    const own = keyFiles(keys, election.id);
    expect(own).toHaveLength(1);
    for (const status of ['rehearsal', 'closed']) demand(await setStatus(service, election, status), 200);
    await tend(election, 5);
    expect(await results(election)).toMatchObject({ final: true });
    const runJobs = async () => {
      // But for the logs of all events, which others of these tests have forged.
      for (const { name, work } of recurringJobs(service.deps)) if (!/_logs$/.test(name)) await work();
    };
    await runJobs();
    expect(keyFiles(keys, election.id)).toHaveLength(2);
    demand(await setStatus(service, election, 'draft'), 200);
    await runJobs();
    expect(keyFiles(keys, election.id)).toEqual(own);
    demand(await setStatus(service, election, 'open'), 200);
    await voteWith(service, election, [0]);
  });

  test.each([
    ['retired', 'UPDATE ballot_keys SET retired_at = 1 WHERE voting_event_id = $1'],
    ['retired, and the election over', 'UPDATE ballot_keys SET retired_at = 1 WHERE voting_event_id = $1', MARKS],
    [
      'another one’s',
      "UPDATE ballot_keys SET retired_at = 1, retired_tag = decode(repeat('11', 20), 'hex') WHERE voting_event_id = $1",
    ],
  ])('stays although SQL says that it is %s', async (_, ...statements) => {
    const election = await createKeyedElection(service, account, [1, 1, 1]);
    await voteWith(service, election, [0]);
    await tend(election, 5);
    await write(election, 'UPDATE voting_events SET closed_at = 1, final_at = 1 WHERE id = $1');
    for (const statement of statements) await write(election, statement);
    await destroyKeys();
    expect(keyFiles(keys, election.id)).toHaveLength(1);
  });
});

describe('what voters are asked by', () => {
  test('is not shown where it is another definition than the log has', async () => {
    const election = await openElection();
    const base = `/public/voting-events/${election.id}`;
    const shown = (path: string) => service.call('GET', `${base}${path}`, undefined, { key: account.vote });
    expect([(await shown('')).status, (await shown('/ballot')).status]).toEqual([200, 200]);
    await write(election, "UPDATE candidates SET name = name || ' B.' WHERE voting_event_id = $1");
    await write(election, 'UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1');
    service.deps.events.forgetAll();
    for (const path of ['', '/ballot']) expect(refusalOf(await shown(path))).toEqual([500, 'rows_disagree']);
  });

  test('a row of an election that waits for a payment is none of the service', async () => {
    const election = await createKeyedElection(service, account, [1, 1]);
    expect((await cast(service, election, 0)).status).toBe(201);
    await write(election, "UPDATE pending_ballots SET payment_attempt_id = 'pay_x' WHERE voting_event_id = $1");
    expect(refusalOf(await cast(service, election, 0))).toEqual([500, 'rows_disagree']);
  });
});

describe('results that are read', () => {
  /** Counts, and does something else when what waits is read already, and its key is asked for. */
  async function countBeside(
    { id }: { readonly id: string },
    audience: 'auditor' | 'public',
    beside: () => Promise<unknown>,
  ) {
    const event = (await findEventById(service.deps.db, id)) ?? expect.fail('the event is there');
    const definition = (await service.deps.definitions.get(event)) ?? expect.fail('the event is there');
    const find = vi.spyOn(service.deps.ballotKeys, 'find').mockImplementationOnce(async (of) => {
      await beside();
      return service.deps.ballotKeys.find(of);
    });
    const { stats, disputed } = await new EventCounter(service.deps).results(definition, audience, Date.now());
    find.mockRestore();
    return [stats.ballots, disputed];
  }

  test('while a log is closed and its key destroyed have every ballot, and are not disputed', async () => {
    const election = await createKeyedElection(service, account, [1, 1, 1, 1]);
    await voteWith(service, election, [0, 1, 2]);
    expect(await countBeside(election, 'auditor', () => finishEvent(service, election.id))).toEqual([3, false]);
  });

  test('while ballots are sealed have every ballot, and are not disputed', async () => {
    const election = await createKeyedElection(service, account, Array(7).fill(1), true);
    await voteWith(service, election, [0, 1, 2, 3, 4, 5]);
    expect(await countBeside(election, 'auditor', () => sealBallots(service, election.id, 5))).toEqual([6, false]);
  });

  test('by the public while a log is closed show all that was shown before', async () => {
    const election = await createKeyedElection(service, account, Array(7).fill(1), true, {
      results: { visibility: 'live' },
    });
    await voteWith(service, election, [0, 1, 2, 3, 4, 5]);
    await sealBallots(service, election.id, 5);
    await service.deps.counting.disclosure.step(election.id);
    expect(await countBeside(election, 'public', async () => undefined)).toEqual([6, false]);
    const [ballots] = await countBeside(election, 'public', () => finishEvent(service, election.id));
    expect(ballots).toBe(6);
  });
});
