import { createHash } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { refusalOf } from '#test/harness/answers.ts';
import { createLogKey, LogReader, verifyOverHttp } from '#test/harness/ballot-log.ts';
import { finishEvent, sealBallots, type TestEvent, votePolls, votesFor } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';

/** A program whose operator took the checks of changes out. */
const operator = vi.hoisted(() => ({ looksAway: false }));
vi.mock('#src/ballot-log/frozen.ts', async (original) => {
  const { findFrozenChange, differsFromLog } = await original<typeof import('#src/ballot-log/frozen.ts')>();
  const own: typeof findFrozenChange = async (...given) =>
    operator.looksAway ? undefined : findFrozenChange(...given);
  const differs: typeof differsFromLog = async (...given) => !operator.looksAway && differsFromLog(...given);
  return { findFrozenChange: own, differsFromLog: differs };
});

const { service, account } = await useAccount({ worker: false });

interface Part {
  index: number;
  kind: string;
  id: string;
  value: Record<string, unknown> | null;
}

const LISTS: Readonly<Record<string, string>> = { candidate: 'candidates', group: 'groups', position: 'positions' };

/** The configuration as its reader puts it together from the parts up to a leaf. */
function configurationAt(parts: readonly Part[], leaf: number): Record<string, unknown> {
  const latest = new Map(parts.filter(({ index }) => index <= leaf).map((part) => [part.id, part]));
  const rows = [...latest.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const of = (kind: string) => rows.flatMap((part) => (part.kind === kind && part.value !== null ? [part.value] : []));
  const lists = Object.entries(LISTS).map(([kind, list]) => [list, of(kind)]);
  return { ...of('event')[0], ...Object.fromEntries(lists) };
}

const hashOf = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');

async function readParts(log: LogReader): Promise<Part[]> {
  const parts: Part[] = [];
  for (let from: number | null = 0; from !== null; ) {
    const { status, body } = await log.get(`configurations?from=${from}`);
    expect(status).toBe(200);
    expect(body.data.length).toBeLessThanOrEqual(100);
    parts.push(...body.data);
    from = body.nextFrom;
  }
  return parts;
}

/** The `open` and `config` leaves of a log with their places. */
async function readConfigLeaves(log: LogReader) {
  const leaves = (await log.leaves()).map((leaf, index) => ({ index, leaf }));
  return leaves.filter(({ leaf }) => leaf.t === 'open' || leaf.t === 'config');
}

const patch = account.change;
const readerOf = (event: TestEvent) => new LogReader(service, event.id, account.vote);

async function verify(event: TestEvent, since?: string) {
  const report = await verifyOverHttp(service, event.id, account.vote, since);
  return { ...report, configurations: report.checks.find(({ name }) => name === 'configurations') };
}

describe('the configurations that a log commits to', () => {
  test('are served, each hashing to what its leaf says, with descriptions; what changed is named', async () => {
    const event = await account.event({ description: 'Once a year', ballot: { opening: 'public' } });
    const base = `/voting-events/${event.id}`;
    const [position] = event.positions;
    const [ada = '', bea = ''] = position?.candidates ?? [];
    await sealBallots(service, event.id);
    await votePolls(service, account, event, 5);
    const changes: [string, unknown][] = [
      [base, { title: 'Another title' }],
      [base, { description: 'Twice a year' }],
      [`${base}/positions/${position?.id}`, { description: 'Two years' }],
      [`${base}/candidates/${ada}`, { description: 'A “painter”, \\ and "quoted"' }],
      [`${base}/candidates/${bea}`, { status: 'withdrawn' }],
    ];
    for (const [path, body] of changes) {
      await patch(path, body);
      await sealBallots(service, event.id);
    }
    const { id: groupId } = await account.make(`${base}/groups`, { name: 'North' });
    await sealBallots(service, event.id);
    await account.make(`${base}/candidates`, { name: 'Cleo', positionIds: [position?.id], groupId });
    await sealBallots(service, event.id);
    const parts = await readParts(readerOf(event));
    const leaves = await readConfigLeaves(readerOf(event));
    expect(leaves).toHaveLength(8);
    for (const { index, leaf } of leaves)
      expect([index, hashOf(configurationAt(parts, index))]).toEqual([index, leaf['config']]);
    expect(configurationAt(parts, 0)).toMatchObject({ description: 'Once a year', groups: [] });
    // Each change is stored once.
    expect(parts.filter(({ index }) => index > 0)).toHaveLength(7);
    await finishEvent(service, event.id);
    const { verified, configurations } = await verify(event);
    expect([verified, configurations?.status]).toEqual(['partial', 'verified']);
    const ofEvent = ['title of the event', 'description of the event'];
    for (const words of [...ofEvent, 'description of position', 'candidate “Cleo” came'])
      expect(configurations?.detail).toContain(words);
    // Texts may change after the result: what the log commits to stays.
    await patch(base, { description: 'Never' });
    const { configuration } = (await readerOf(event).get('openings?fromIndex=0')).body;
    expect(hashOf(configuration)).toBe(leaves.at(-1)?.leaf['config']);
    expect(await readParts(readerOf(event))).toEqual(parts);
  });

  test('name a candidate who was withdrawn and is back before the log’s next minute: fewer choices were asked for meanwhile', async () => {
    const three = { settings: { minSelections: 3, maxSelections: 3 }, candidates: ['Ada', 'Bea', 'Cleo'] };
    const settings = { ballot: { opening: 'public' }, results: { visibility: 'published' } };
    const event = await account.event(settings, [{ votingMethod: 'approval', ...three }]);
    await sealBallots(service, event.id);
    const [position] = event.positions;
    const cleo = `/voting-events/${event.id}/candidates/${position?.candidates[2]}`;
    const ballotOf = (ids: readonly string[] = []) =>
      ids.map((candidateId) => ({ positionId: position?.id, candidateId }));
    await patch(cleo, { status: 'withdrawn' });
    for (let voter = 0; voter < 5; voter += 1)
      await account.votePoll(event, ballotOf(position?.candidates.slice(0, 2)));
    await patch(cleo, { status: 'approved' });
    for (let voter = 0; voter < 5; voter += 1) await account.votePoll(event, ballotOf(position?.candidates));
    await finishEvent(service, event.id);
    const { checks } = await verify(event);
    expect(checks.find(({ name }) => name === 'recount')).toMatchObject({ status: 'verified' });
  });

  test('come in bounded pages, to the readers of the log and to nobody else', async () => {
    const candidates = Array.from({ length: 230 }, (_, number) => `Candidate ${number}`);
    const event = await account.event({}, [{ votingMethod: 'approval', candidates }]);
    await sealBallots(service, event.id);
    const parts = await readParts(readerOf(event));
    expect(parts).toHaveLength(232);
    expect(hashOf(configurationAt(parts, 0))).toBe((await readConfigLeaves(readerOf(event)))[0]?.leaf['config']);
    const address = `/public/voting-events/${event.id}/log/configurations`;
    const get = async (key?: string) =>
      (await service.call('GET', address, undefined, key === undefined ? {} : { key })).status;
    const stranger = await service.account();
    expect([await get(), await get(account.write), await get(stranger.vote)]).toEqual([401, 403, 404]);
    expect(await get(await createLogKey(service, account, event.id))).toBe(200);
    await patch(`/voting-events/${event.id}`, { log: { open: true } });
    expect(await get()).toBe(200);
    for (const from of ['-1', '1.5', 'x', '9999999999'])
      expect((await readerOf(event).get(`configurations?from=${from}`)).status).toBe(400);
    const { body } = await readerOf(event).get('configurations?from=999');
    expect(body).toEqual({ data: [], nextFrom: null });
  });

  test('of a change before the first ballot say so, however late the leaf comes', async () => {
    const event = await account.event({ ballot: { opening: 'public' } });
    await sealBallots(service, event.id);
    const [ada] = event.positions[0]?.candidates ?? [];
    await patch(`/voting-events/${event.id}/candidates/${ada}`, { name: 'Adah' });
    for (let index = 0; index < 5; index += 1) await account.votePoll(event, votesFor(event));
    const candidate = await account.patch(`/voting-events/${event.id}/candidates/${ada}`, { name: 'Bea' });
    expect(refusalOf(candidate)).toEqual([409, 'event_has_ballots']);
    await sealBallots(service, event.id);
    const [, change] = await readConfigLeaves(readerOf(event));
    expect(change?.leaf).toMatchObject({ t: 'config', confirmed: 0 });
    expect((await verify(event)).configurations).toMatchObject({
      status: 'verified',
      detail: expect.stringContaining('name of candidate “Adah”'),
    });
  });

  test('of what no ballot depends on say how many were confirmed when the leaf was written, whatever waited since before', async () => {
    const event = await account.event();
    await sealBallots(service, event.id);
    await patch(`/voting-events/${event.id}/positions/${event.positions[0]?.id}`, {
      description: 'Before every ballot',
    });
    for (let index = 0; index < 5; index += 1) await account.votePoll(event, votesFor(event));
    const positionIds = [event.positions[0]?.id];
    await account.make(`/voting-events/${event.id}/candidates`, { name: 'Came after five ballots', positionIds });
    await sealBallots(service, event.id);
    const [, ...changes] = await readConfigLeaves(readerOf(event));
    // The first is recorded before the second: a ballot was cast between them.
    expect(changes.map(({ leaf }) => leaf)).toMatchObject([
      { t: 'config', confirmed: 5 },
      { t: 'config', confirmed: 5 },
    ]);
    expect((await verify(event)).configurations).toMatchObject({ status: 'verified' });
  });

  // The service signs no such change (test/tamper/forged-rows.test.ts): this is one whose operator changed the program.
  test('of names that were swapped in the database while people voted fail the verifier', async () => {
    const event = await account.event({ ballot: { opening: 'public' } });
    await votePolls(service, account, event, 5);
    const { checkpoint } = await verify(event);
    await service.query(
      `WITH two AS (SELECT id, name FROM candidates WHERE voting_event_id = $1)
       UPDATE candidates c SET name = o.name FROM two o WHERE c.voting_event_id = $1 AND o.id <> c.id`,
      [event.id],
    );
    await service.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [event.id]);
    service.deps.events.forget(event.id);
    operator.looksAway = true;
    await sealBallots(service, event.id);
    operator.looksAway = false;
    for (const since of [undefined, checkpoint ?? undefined])
      expect(await verify(event, since)).toMatchObject({
        verified: 'no',
        configurations: { status: 'failed', detail: expect.stringContaining('name of candidate') },
      });
  });

  test('go with their event', async () => {
    const event = await account.event();
    await sealBallots(service, event.id);
    const count = async (): Promise<number> =>
      (await service.query('SELECT 1 FROM log_configurations WHERE voting_event_id = $1', [event.id])).length;
    expect(await count()).toBe(4);
    const change = "UPDATE log_configurations SET content = '{}' WHERE voting_event_id = $1";
    await expect(service.query(change, [event.id])).rejects.toThrow('append-only');
    expect((await account.delete(`/voting-events/${event.id}`)).status).toBe(204);
    await service.query('SELECT delete_event_rows($1, 1000)', [event.id]);
    expect(await count()).toBe(0);
  });
});

test('a page ends where it has a quarter of a megabyte, and the next goes on there', async () => {
  const event = await account.event();
  const positionIds = [event.positions[0]?.id];
  const description = '🗳'.repeat(4_900);
  for (let n = 0; n < 20; n += 1)
    await account.make(`/voting-events/${event.id}/candidates`, { name: `Number ${n}`, positionIds, description });
  await sealBallots(service, event.id);
  const { body, headers } = await readerOf(event).get('configurations?from=0');
  expect(Number(headers.get('content-length'))).toBeLessThan(300_000);
  expect(body.nextFrom).toBe(body.data.length);
  const parts = await readParts(readerOf(event));
  expect(parts.filter(({ value }) => value?.['description'] === description)).toHaveLength(20);
  expect(new Set(parts.map(({ id }) => id)).size).toBe(parts.length);
});

test('changes of an open event are recorded together three seconds later, but its close at once', async () => {
  const event = await account.event();
  const key = `ballot_log:${event.id}`;
  const job = async () => {
    const [row] = await service.query(
      'SELECT id, run_at AS due, run_at = created_at AS at_once FROM jobs WHERE key = $1',
      [key],
    );
    return { id: row?.id, due: Number(row?.due), atOnce: row?.at_once };
  };
  const now = async (): Promise<number> => Number((await service.query('SELECT now_ms() AS now'))[0]?.now);
  expect((await job()).atOnce).toBe(true);
  await sealBallots(service, event.id);
  await service.query('DELETE FROM jobs WHERE key = $1', [key]);
  const before = await now();
  await patch(`/voting-events/${event.id}`, { title: 'One' });
  const first = await job();
  expect(first.due).toBeGreaterThanOrEqual(before + 3_000);
  expect(first.due).toBeLessThanOrEqual((await now()) + 3_000);
  await patch(`/voting-events/${event.id}`, { title: 'Two' });
  expect(await job()).toEqual(first);
  await patch(`/voting-events/${event.id}`, { status: 'closed' });
  expect((await job()).due).toBeLessThanOrEqual(await now());
});
