import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import { checkpointFolder, MARKER } from '#src/voting-events/key-places.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { demand, finishEvent, refusalOf } from '#test/harness/elections.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { createKeyedElection, keyFiles, setStatus, voteWith } from '#test/harness/keyed-elections.ts';
import { startRealProcesses } from '#test/harness/real-processes.ts';
import { requireRefused, requireStarted, startProcess } from '#test/harness/started-service.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';
import { untilTrue, useService } from '#test/harness/test-service.ts';
import { use, useFolder } from '#test/harness/use.ts';

const lines: Record<string, unknown>[] = [];
const root = useFolder('voting-places-test-');
const [main, copy] = [path.join(root, 'main'), path.join(root, 'copy')];
mkdirSync(copy);
const service = await useService({
  ...{ ballotKeysDir: main, ballotKeysCopies: copy, environment: { DATA_DIR: root } },
  log: createLog('error', { write: (line) => void lines.push(JSON.parse(line)) }),
});
const account = await service.account();
const PLACES = { main, copy, checkpoints: checkpointFolder(root) };
const UNAVAILABLE = [500, 'ballot_key_unavailable'];

/** Another disk, or none, where the folder was, while something is done. */
async function whileAway<T>(folder: string, work: () => Promise<T>, marker?: string): Promise<T> {
  renameSync(folder, `${folder}-away`);
  mkdirSync(folder);
  if (marker !== undefined) writeFileSync(path.join(folder, MARKER), marker);
  try {
    return await work();
  } finally {
    rmSync(folder, { recursive: true });
    renameSync(`${folder}-away`, folder);
  }
}

const cli = async (...words: string[]) => {
  const end = await runCommand(service, [...words, '--json']);
  return { code: end.code, said: JSON.parse(end.stdout) };
};
const rowsOf = (eventId: string) => service.query('SELECT id FROM ballot_keys WHERE voting_event_id = $1', [eventId]);

describe.each(Object.entries(PLACES))('while %s is another folder', (_name, folder) => {
  test.each([undefined, 'of-another\n'])(
    'with the marker %j, no election gets voters and no event opens',
    async (marker) => {
      const election = await createKeyedElection(service, account, [1], false);
      const poll = await account.event({}, undefined, false);
      const path_ = `/voting-events/${election.id}/voters`;
      const voter = (n: number) => ({ name: 'Vera', email: `vera${n}@club.example` });
      await whileAway(
        folder,
        async () => {
          for (const refused of [
            await account.post(path_, voter(1)),
            await account.post(`${path_}/batch`, { voters: [voter(1), voter(2)] }),
            await account.patch(`${path_}/${election.voters[0]?.id}`, { weight: 2 }),
            await setStatus(service, election, 'open'),
            await setStatus(service, election, 'rehearsal'),
            await account.patch(`/voting-events/${election.id}`, { startsAt: Date.now() + 3_600_000 }),
            await account.patch(`/voting-events/${poll.id}`, { status: 'open' }),
          ])
            expect([...refusalOf(refused), refused.headers.get('retry-after')]).toEqual([...UNAVAILABLE, '5']);
          expect(existsSync(path.join(folder, MARKER))).toBe(marker !== undefined);
        },
        marker,
      );
      expect(await account.show(path_)).toMatchObject([{ weight: 1 }]);
      expect(await rowsOf(election.id)).toEqual([]);
      await account.make(path_, voter(1));
      demand(await setStatus(service, election, 'open'), 200);
      await account.change(`/voting-events/${poll.id}`, { status: 'open' });
    },
  );

  test('that came after it was looked at, no key stays in it, and the event does not open', async () => {
    const election = await createKeyedElection(service, account, [1], false);
    const held = holdStatement(/insert into "?ballot_keys/i);
    const opening = setStatus(service, election, 'open');
    await held.reached;
    const stays = await whileAway(
      folder,
      async () => {
        held.free();
        expect(refusalOf(await opening)).toEqual(UNAVAILABLE);
        return keyFiles(folder, election.id);
      },
      'of-another\n',
    );
    held.restore();
    expect([stays, await rowsOf(election.id)]).toEqual([[], []]);
  });

  test('no key counts as destroyed', async () => {
    const election = await createKeyedElection(service, account, [1]);
    await voteWith(service, election, [0]);
    await whileAway(folder, async () => {
      await finishEvent(service, election.id);
      await service.deps.ballotKeys.destroyRetired();
      expect(await rowsOf(election.id)).toHaveLength(1);
    });
    expect(lines).toContainEqual(
      expect.objectContaining({
        alarm: 'ballot_key_kept',
        event: election.id,
        folder: expect.stringContaining(folder),
      }),
    );
    await untilTrue(async () => {
      await service.deps.ballotKeys.destroyRetired();
      return (await rowsOf(election.id)).length === 0;
    });
    expect([...keyFiles(main, election.id), ...keyFiles(copy, election.id)]).toEqual([]);
  });
});

test('a key that a folder never showed counts as destroyed once its loss was accepted', async () => {
  const election = await createKeyedElection(service, account, [1]);
  const [name = ''] = keyFiles(copy, election.id);
  renameSync(path.join(copy, name), path.join(root, name));
  expect(await cli('ballot-keys', 'init')).toMatchObject({
    ...{ code: 1, said: { error: { message: expect.stringContaining(`${copy} has no key of `) } } },
  });
  await voteWith(service, election, [0]);
  await finishEvent(service, election.id);
  await service.deps.ballotKeys.destroyRetired();
  expect(await rowsOf(election.id)).toHaveLength(1);
  expect(await cli('ballot-keys', 'init', '--accept-loss')).toEqual({ code: 0, said: { marked: [] } });
  await service.deps.ballotKeys.destroyRetired();
  expect(await rowsOf(election.id)).toEqual([]);
});

test('`ballot-keys init` marks a new folder that holds every key, and never one that is another service’s', async () => {
  const election = await createKeyedElection(service, account, [1]);
  const marker = readFileSync(path.join(copy, MARKER), 'utf8');
  await whileAway(copy, async () => {
    const lacking = expect.stringContaining(election.code);
    expect(await cli('ballot-keys', 'init')).toMatchObject({ code: 1, said: { error: { message: lacking } } });
    cpSync(main, copy, { recursive: true, filter: (file) => path.basename(file) !== MARKER });
    expect(await cli('ballot-keys', 'init')).toEqual({ code: 0, said: { marked: [copy] } });
    expect(readFileSync(path.join(copy, MARKER), 'utf8')).toBe(marker);
    writeFileSync(path.join(copy, MARKER), 'of-another\n');
    const message = expect.stringContaining('marker of another service');
    expect(await cli('ballot-keys', 'init', '--accept-loss')).toMatchObject({ code: 1, said: { error: { message } } });
  });
});

test('`doctor` says of each folder what its loss would do', async () => {
  const election = await createKeyedElection(service, account, [1]);
  const losses = async () =>
    (await cli('doctor')).said.filter(({ name }: { name: string }) => name.startsWith('loss of'));
  const [name = ''] = keyFiles(main, election.id);
  const dataDir = { name: 'loss of DATA_DIR', detail: expect.stringContaining('what was signed last is forgotten') };
  expect(await losses()).toMatchObject([
    ...Object.values(PLACES).map((folder) => ({
      name: `loss of ${folder}`,
      status: 'ok',
      detail: expect.stringContaining('right'),
    })),
    dataDir,
  ]);
  renameSync(path.join(copy, name), path.join(root, name));
  expect(await losses()).toMatchObject([
    { status: 'warning', detail: expect.stringContaining(`the ballots that wait in ${election.code} are lost`) },
    { status: 'warning', detail: expect.stringContaining('all are read elsewhere') },
    { status: 'ok' },
    dataDir,
  ]);
  renameSync(path.join(root, name), path.join(copy, name));
});

test('the first start marks its folders, and one with elections under way does not start without a marker', async () => {
  const real = await use(startRealProcesses());
  await runStatements(real.server.url, ['CREATE DATABASE fresh']);
  const [keys, data] = [path.join(real.folder, 'fresh-keys'), path.join(real.folder, 'fresh')];
  const settings = {
    ...{ DATABASE_URL: withDatabase(real.server.url, 'fresh'), SECRET_KEY: real.secretKey, HOST: '127.0.0.1' },
    ...{ DATA_DIR: data, BALLOT_KEYS_DIR: keys, BASE_URL: 'https://vote.example.org' },
  };
  const start = () => startProcess(settings);
  const marker = path.join(keys, MARKER);
  await requireStarted(await start()).stop();
  expect(readFileSync(path.join(checkpointFolder(data), MARKER), 'utf8')).toBe(readFileSync(marker, 'utf8'));
  rmSync(marker);
  const warned = requireStarted(await start());
  expect(warned.output()).toContain(`Note: ${keys} has no marker: no event opens`);
  await warned.stop();
  expect(existsSync(marker)).toBe(false);

  await createKeyedElection(real.inside, real.account, [1]);
  const own = path.join(real.folder, 'ballot-keys');
  await requireStarted(await real.start()).stop();
  await whileAway(own, async () => {
    const line = await requireRefused(
      await startProcess({ ...settings, DATABASE_URL: real.databaseUrl, DATA_DIR: real.folder, BALLOT_KEYS_DIR: own }),
    );
    expect(line).toMatch(/^Cannot start: [^\n]+\n$/);
    expect(line).toContain(`${own} has no marker; keys of elections that are not final: 1`);
  });
  await requireStarted(await real.start()).stop();
});
