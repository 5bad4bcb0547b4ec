import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRoll, scanRoll } from '#src/commands/read-roll.ts';
import { runCommand, startCommand } from '#test/harness/command-line.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const { service, account } = await useAccount();
const folder = useFolder('voting-import-test-');

interface Election {
  readonly id: string;
  readonly code: string;
}

async function createElection(owner = account, more: Record<string, unknown> = {}): Promise<Election> {
  const body = { title: 'Board', type: 'election', ...more };
  return await owner.make('/voting-events', body);
}

function fileOf(name: string, content: string | Buffer): string {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
}

const importing = (event: Election, file: string, ...more: string[]): string[] => [
  ...['voters', 'import', '--event', event.code, '--file', file, '--json', ...more],
];

async function importFile(event: Election, file: string, ...more: string[]) {
  const { code, stdout, stderr } = await runCommand(service, importing(event, file, ...more));
  expect(stderr).toBe('');
  return { code, ...JSON.parse(stdout) };
}

interface VoterRow {
  readonly name: string;
  readonly email: string | null;
  readonly voterId: string | null;
  readonly weight: string;
  readonly groupId: string | null;
  readonly status: string;
}

async function votersOf(event: Election): Promise<VoterRow[]> {
  const rows = await service.query<VoterRow>(
    'SELECT name, email, voter_id AS "voterId", weight_micro::text AS weight, group_id AS "groupId", status FROM voters WHERE voting_event_id = $1 ORDER BY id',
    [event.id],
  );
  return rows;
}

async function countOf(event: Election): Promise<{ rows: number; counted: number }> {
  const rows = await service.query<{ rows: number; counted: number }>(
    'SELECT (SELECT count(*)::int FROM voters WHERE voting_event_id = $1) AS rows, total::int AS counted FROM voter_places($1)',
    [event.id],
  );
  return rows[0] ?? { rows: -1, counted: -1 };
}

const MIXED = `Name;E-Mail;Voter ID;Group;Weight
Ada;ada@club.example;V1;Board;1.5
"Bé ""B"" B";bea@club.example;V2;;
;x@club.example;V3;;1
Cy;cy@club.example;V1;;1
"abc" def;a@b.example;;;1
Di;nonsense;;;1
;;;;
Ed;ed@club.example;V9;;1,000,5
Fay;ADA@club.example;V10;;1

Gus;gus@club.example;V11;Board;2;more
"multi
line";m@club.example;V14;;1
Hal;hal@club.example;V15;Nobody;1
日本 太郎;taro@club.example;V12;board;1
=1+1;evil;;;
`;

describe('voters import', () => {
  test('takes the right lines by the rules of the batch, and names each wrong one with its reason', async () => {
    const event = await createElection();
    const groups = `/voting-events/${event.id}/groups`;
    const group = await account.make(groups, { name: 'Board' });
    const file = fileOf('mixed.csv', MIXED);
    const done = await importFile(event, file);
    expect(done).toMatchObject({ code: 1, lines: 17, accepted: 3, rejected: 11, finished: true });
    const row = (name: string, email: string, voterId: string, weight: string, groupId: string | null) => ({
      ...{ name, email, voterId, weight, groupId, status: 'approved' },
    });
    expect(await votersOf(event)).toEqual([
      row('Ada', 'ada@club.example', 'V1', '1500000', group.id),
      row('Bé "B" B', 'bea@club.example', 'V2', '1000000', null),
      row('日本 太郎', 'taro@club.example', 'V12', '1000000', group.id),
    ]);
    expect(await countOf(event)).toEqual({ rows: 3, counted: 3 });
    const problems = new Map<number, string>(
      done.problems.map(({ line, reason }: { line: number; reason: string }) => [line, reason]),
    );
    expect(Object.fromEntries(problems)).toEqual({
      4: 'name is required',
      5: 'voterId is already used by another voter of this event',
      6: expect.stringContaining('quotation mark'),
      7: expect.stringMatching(/^email must/),
      9: 'weight must be a number such as 1 or 2.5',
      10: 'email is already used by another voter of this event',
      12: 'has 6 cells, the first line names 5 columns',
      13: 'a quotation mark is opened and not closed on this line',
      14: expect.any(String),
      15: 'group there is no group “Nobody” in this event',
    });
    const report = readFileSync(done.rejectedFile, 'utf8');
    expect(report.split('\n')[0]).toBe('\uFEFFName;E-Mail;Voter ID;Group;Weight;line;reason');
    expect(report).toContain("\n'=1+1;evil;;;;17;email ");
    expect(report.trim().split('\n')).toHaveLength(1 + 11);
  });

  test('takes a mended report as it is, and passes over what it added', async () => {
    const event = await createElection();
    const first = await importFile(
      event,
      fileOf('roll.csv', 'name,email\nAda,ada@club\n=Bea,bea@club.example\n-Cy,cy@club\n'),
    );
    expect(first).toMatchObject({ code: 1, accepted: 1, rejected: 2 });
    const mended = readFileSync(first.rejectedFile, 'utf8').replaceAll('@club,', '@club.example,');
    const second = await importFile(event, fileOf('mended.csv', mended));
    expect(second).toMatchObject({ code: 0, accepted: 2, rejected: 0, rejectedFile: null });
    expect((await votersOf(event)).map(({ name }) => name)).toEqual(['=Bea', 'Ada', '-Cy']);
  });

  test('goes on where it was after kill -9, whenever it comes: nothing twice, nothing lost, each rejected line reported once', async () => {
    const event = await createElection();
    // So many that thousands are left when a kill comes.
    const lines = Array.from({ length: 15_000 }, (_, index) =>
      index % 10 === 9 ? `Voter ${index},no address,V${index}` : `Voter ${index},v${index}@club.example,V${index}`,
    );
    const file = fileOf('long.csv', `name,email,voterId\n${lines.join('\n')}\n`);
    let kills = 0;
    for (const enough of [1, 4_000, 8_000]) {
      const { child, end } = startCommand(service, importing(event, file));
      await untilTrue(async () => (await countOf(event)).rows >= enough, 60_000);
      child.kill('SIGKILL');
      if ((await end).code === null) kills += 1;
    }
    expect(kills).toBe(3);
    const done = await importFile(event, file);
    expect(done.resumedAfterLine).toBeGreaterThan(8_000);
    expect(done).toMatchObject({ rejected: 1_500, lines: 15_001, finished: true });
    expect(done.accepted + done.importedBefore).toBe(13_500);
    expect(await countOf(event)).toEqual({ rows: 13_500, counted: 13_500 });
    const repeated = { accepted: 0, importedBefore: 13_500, resumedAfterLine: 15_001, problems: [] };
    expect(await importFile(event, file)).toMatchObject({ ...done, ...repeated, rejectedFile: expect.any(String) });
    const reported = readFileSync(done.rejectedFile, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(/,(\d+),email /.exec(line)?.[1]));
    expect(reported).toEqual(Array.from({ length: 1_500 }, (_, index) => 10 * index + 11));
  });

  test('takes each voter once when two runs of one file race, and when it was imported before', async () => {
    const event = await createElection();
    // Both take longer than the second one needs to start.
    const rows = Array.from({ length: 10_000 }, (_, index) => `V ${index},${index}`);
    const file = fileOf('race.csv', `name,voterId\n${rows.join('\n')}`);
    const ends = await Promise.all([1, 2].map(() => runCommand(service, importing(event, file))));
    expect(ends.filter(({ code }) => code === 0).length).toBeGreaterThanOrEqual(1);
    for (const { code, stdout } of ends) if (code !== 0) expect(stdout).toContain('another run imports this file');
    expect(await countOf(event)).toEqual({ rows: 10_000, counted: 10_000 });
    const again = await importFile(event, file, '--again', '--skip-existing');
    expect(again).toMatchObject({ code: 0, accepted: 0, existing: 10_000, rejected: 0 });
    expect(await countOf(event)).toEqual({ rows: 10_000, counted: 10_000 });
  });

  test('says in a dry run what the import then does, and stores nothing', async () => {
    const event = await createElection();
    await account.make(`/voting-events/${event.id}/voters`, { name: 'Old', voterId: 'V700' });
    const lines = Array.from(
      { length: 1_200 },
      (_, index) => `Voter ${index},V${index % 1_000},${index % 7 === 0 ? 'x' : '1'}`,
    );
    const file = fileOf('dry.csv', `name,voterId,weight\n${lines.join('\n')}\n`);
    const dry = await importFile(event, file, '--dry-run');
    const report = readFileSync(dry.rejectedFile, 'utf8');
    expect(await countOf(event)).toEqual({ rows: 1, counted: 1 });
    const real = await importFile(event, file);
    const { accepted, rejected, problems } = dry;
    expect(real).toMatchObject({ dryRun: false, accepted, rejected, problems });
    expect(readFileSync(real.rejectedFile, 'utf8')).toBe(report);
    expect(await countOf(event)).toEqual({ rows: 1 + real.accepted, counted: 1 + real.accepted });
  });

  test('stops at the plan’s limit, and goes on once the plan is larger', async () => {
    const owner = await service.account('free');
    const event = await createElection(owner);
    const rows = Array.from({ length: 120 }, (_, index) => `V ${index},${index}`);
    const file = fileOf('plan.csv', `name,voterId\n${rows.join('\n')}`);
    const refused = await runCommand(service, importing(event, file));
    expect(refused).toMatchObject({ code: 1, stderr: '' });
    const message = 'Refused: At most 100 voters per event are possible here.';
    expect(JSON.parse(refused.stdout)).toEqual({ error: { message } });
    expect(await countOf(event)).toEqual({ rows: 0, counted: 0 });
    await service.query("UPDATE accounts SET plan = 'pro' WHERE id = $1", [owner.id]);
    expect(await importFile(event, file)).toMatchObject({ code: 0, accepted: 120 });
  });

  test('refuses a file that it cannot read before it takes anything, and says what would be right', async () => {
    const event = await createElection();
    const cases: [file: string, words: RegExp][] = [
      [path.join(folder, 'none.csv'), /there is no file/],
      [fileOf('empty.csv', ''), /is empty/],
      [fileOf('latin.csv', Buffer.from('name,email\nBéa,bea@club.example\n', 'latin1')), /not UTF-8 \(line 2\).*iconv/],
      [
        fileOf('columns.csv', 'name,mail\nAda,ada@club.example\n'),
        /column 2 is called “mail”; columns are name, email/,
      ],
      [fileOf('twice.csv', 'name,email,e-mail\nAda,a@club.example,b@club.example\n'), /two columns email/],
      [fileOf('nameless.csv', 'email\nada@club.example\n'), /no column name/],
    ];
    for (const [file, words] of cases) await expect(scanRoll(file, {})).rejects.toThrow(words);
    // Rolls as clubs have them.
    const club = fileOf(
      'club.csv',
      'Name;E-Mail-Adresse;Ort;weight\nVera;vera@club.example;Köln;2,5\nOtto;otto@club.example;Bonn;1.5\n',
    );
    await expect(scanRoll(club, {})).rejects.toThrow(
      /column 2 .*column 3 is called “Ort”.*--map E-Mail-Adresse=column --map Ort=column --ignore-columns$/,
    );
    const reading = { map: ['E-Mail-Adresse=email'], ignoreColumns: true };
    const [batch] = await Array.fromAsync(readRoll(await scanRoll(club, reading), new Map()));
    expect(batch?.lines.map(({ input, issues }) => [input?.email, input?.weight, issues])).toEqual([
      ['vera@club.example', 2_500_000n, []],
      ['otto@club.example', 1_500_000n, []],
    ]);
    const comma = fileOf('comma.csv', 'name,email,weight\nVera,vera@club.example,"2,5"\n');
    const [refused] = await Array.fromAsync(readRoll(await scanRoll(comma, {}), new Map()));
    expect(refused?.lines[0]?.issues).toMatchObject([{ field: 'weight' }]);
    for (const map of [['Heading'], ['Ort=town'], ['Nowhere=email']])
      await expect(scanRoll(club, { map, ignoreColumns: true })).rejects.toThrow(/--map/);
    const latin = await runCommand(service, importing(event, path.join(folder, 'latin.csv')));
    expect(latin).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(latin.stdout).error.message).toMatch(/^Refused: .*not UTF-8/);
    expect(await countOf(event)).toEqual({ rows: 0, counted: 0 });
  });
});
