import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { DOWNLOAD_LINK_MS, signLink } from '#src/results/download-link.ts';
import { demand, refusalOf, valuesOf } from '#test/harness/answers.ts';
import {
  finishEvent,
  PLURALITY,
  people,
  sealBallots,
  type TestEvent,
  visitor,
  votesFor,
} from '#test/harness/elections.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { readPdf } from '#test/harness/read-pdf.ts';
import { putIntoBox } from '#test/harness/sealed-box.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { patiently, type TestAnswer, useAccount, type WholeAnswer } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const SCHEMA = path.resolve(import.meta.dirname, '../../../shared/cases/nist-1500-103-cvr.schema.json');
const schemaPresent = existsSync(SCHEMA);
if (!schemaPresent) console.info('exports: the public schema of cast vote records is absent, passed over');

const KINDS = ['pdf', 'csv', 'json', 'cvr'] as const;

const ask = (event: { readonly id: string }, what: string, key = account.read) =>
  service.call('GET', `/voting-events/${event.id}/results/${what}`, undefined, { key });

/** The address on this service that an export redirects to. */
const linkTo = (event: { readonly id: string }, what: string, by = account): Promise<string> =>
  by.of(event).link(`/results/${what}`);

const fetchFile = (target: string, method = 'GET') => patiently(() => service.fetch(target, { method }));
const readOpen = (target: string, on = service) => patiently(() => on.call('GET', target));

async function download(event: { readonly id: string }, what: string): Promise<WholeAnswer> {
  const answer = await account.of(event).download(`/results/${what}`);
  expect(answer.status).toBe(200);
  return answer;
}

const NAMES = ['Ọlá Adébáyọ̀', 'Nguyễn Thị Minh Khai', '山田 太郎'];
const METHODS = [
  ...['plurality', 'approval', 'score', 'cumulative', 'quadratic', 'ranked_choice'].map((votingMethod) => ({
    votingMethod,
    candidates: NAMES,
  })),
  { votingMethod: 'referendum', candidates: ['Yes', 'No', 'Abstain'] },
];

const { service, account } = await useAccount();
/** Seven ballots on every method, three of them sealed; no test changes it. */
const poll = await pollOfEveryMethod(7);

function ballotOf(event: TestEvent, choice: number): object[] {
  return event.positions.map(({ id: positionId, candidates }, index) => {
    const method = METHODS[index]?.votingMethod ?? '';
    const valued = ['score', 'cumulative', 'quadratic'].includes(method);
    const extra = method === 'ranked_choice' ? { rank: 1 } : valued ? { value: 1 + choice } : {};
    return { positionId, candidateId: candidates[choice % candidates.length], ...extra };
  });
}

async function pollOfEveryMethod(ballots: number, settings: object = {}): Promise<TestEvent> {
  const event = await account.event({ title: 'Ọlá & 山田 <2026>', ...settings }, METHODS);
  for (let index = 0; index < ballots; index += 1) {
    await account.votePoll(event, ballotOf(event, index % 3));
    if (index === 2) await sealBallots(service, event.id, 1);
  }
  return event;
}

/** The first sealed ballot many times over: what is read does not depend on how it was cast. One copy may be unreadable. */
async function copyBallot(event: TestEvent, copies: number, broken = 0): Promise<void> {
  await service.query(
    putIntoBox(`SELECT leaf_index + n AS leaf_index, 'blt_copy' || n AS id, sha256(n::text::bytea) AS code_tag,
        CASE WHEN n = $3 THEN '\\x09'::bytea ELSE entries END AS entries, weight_micro, salt, sealed_time
      FROM sealed_ballots($1), generate_series(1, $2::int) AS n`),
    [event.id, copies, broken],
  );
}

/** A poll with so many ballots more than one. */
async function largePoll(copies: number, broken?: number): Promise<TestEvent> {
  const event = await pollOfEveryMethod(1);
  await sealBallots(service, event.id, 1);
  await copyBallot(event, copies, broken);
  return event;
}

interface ElectionVoter {
  readonly weight?: number;
  readonly groupId?: string;
  readonly votes: readonly object[];
}

/** Casts and confirms for each voter. */
async function holdElection(event: TestEvent, voters: readonly ElectionVoter[]): Promise<string[]> {
  const rows = people(voters.length).map((row, index) => ({ ...row, ...voters[index], votes: undefined }));
  const made: { id: string; email: string }[] = await account.of(event).make('/voters/batch', { voters: rows });
  for (const [index, { id, email }] of made.entries()) {
    const voterKey = await giveVoterKey(service, event.id, id);
    await account.ballot(event, { voterKey, email, votes: voters[index]?.votes });
  }
  return made.map(({ id }) => id);
}

describe('an export', () => {
  test.each(KINDS)(
    'as %s is given by a signed address that needs no key, under the name of the event',
    async (kind) => {
      const answer = await ask(poll, kind);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const target = await linkTo(poll, kind);
      const response = await fetchFile(target);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const ending = kind === 'cvr' ? 'cast-vote-records.json' : `results.${kind}`;
      const disposition = response.headers.get('content-disposition') ?? '';
      expect(disposition).toContain(`attachment; filename="${poll.code}-${ending}"; filename*=UTF-8''`);
      expect(decodeURIComponent(disposition.split("''")[1] ?? '')).toBe(`Ọlá & 山田  2026 - ${ending}`);
      const type = { pdf: 'application/pdf', csv: 'text/csv; charset=utf-8; header=present' }[kind as string];
      expect(response.headers.get('content-type')).toBe(type ?? 'application/json');
      expect(bytes.length).toBeGreaterThan(500);
      const head = await fetchFile(target, 'HEAD');
      expect([head.status, (await head.arrayBuffer()).byteLength]).toEqual([200, 0]);
    },
  );

  test('comes from another process than the one that gave the address', async () => {
    await using other = await service.another();
    const answer = await readOpen(await linkTo(poll, 'json'), other);
    expect(answer.body.data.votingEventId).toBe(poll.id);
  });

  test.each(KINDS)('as %s answers 403 without the plan', async (kind) => {
    const free = await service.account('free');
    const gated = await ask(await free.event({}, [], false), kind, free.read);
    expect([gated.status, gated.body.error.details]).toEqual([403, { reason: 'plan_feature', feature: 'data_export' }]);
  });

  test('is open to whom the event is shared with, by the plan of its owner, and only as long as it is shared', async () => {
    const event = await pollOfEveryMethod(1);
    const guest = await service.account('free');
    await shareEvent(service, account, event, guest, 'viewer');
    const target = await linkTo(event, 'csv', guest);
    expect((await fetchFile(target)).status).toBe(200);
    const own = account.of(event);
    for (const { id } of await own.show('/invites')) await own.delete(`/invites/${id}`);
    expect((await fetchFile(target)).status).toBe(404);
  });

  test('is refused under a changed, a foreign, an expired address, and one whose account cannot see the event', async () => {
    const target = await linkTo(poll, 'json');
    const token = target.slice('/downloads/'.length);
    const refused = async (changed: string) => refusalOf(await readOpen(`/downloads/${changed}`));
    for (let at = 0; at < token.length; at += Math.ceil(token.length / 10)) {
      const other = token[at] === 'A' ? 'B' : 'A';
      expect(await refused(token.slice(0, at) + other + token.slice(at + 1))).toEqual([403, 'download_link_invalid']);
    }
    const { secrets, clock } = service.deps;
    const keyId = (await account.show('/me')).key.id;
    const of = { eventId: poll.id, accountId: account.id, keyId };
    const link = { ...of, kind: 'json', paper: 'a4', positionId: null } as const;
    const old = signLink(secrets, link, clock.now() - DOWNLOAD_LINK_MS);
    expect(await refused(old)).toEqual([403, 'download_link_expired']);
    const stranger = await service.account();
    expect((await refused(signLink(secrets, { ...link, accountId: stranger.id }, clock.now())))[0]).toBe(404);
    expect((await refused('x'))[0]).toBe(403);
  });

  test('is refused once its key is revoked or has expired, or the plan no longer includes it', async () => {
    const owner = await service.account();
    const event = await owner.event();
    const target = await linkTo(event, 'json', owner);
    const answered = async () => {
      const answer = await readOpen(target);
      return [answer.status, answer.body.error?.details?.reason];
    };
    expect(await answered()).toEqual([200, undefined]);
    await service.query("UPDATE accounts SET plan = 'free' WHERE id = $1", [owner.id]);
    expect(await answered()).toEqual([403, 'plan_feature']);
    await service.query("UPDATE accounts SET plan = 'pro' WHERE id = $1", [owner.id]);
    for (const change of ['revoked_at = 1', 'revoked_at = NULL, expires_at = 1']) {
      await service.query(`UPDATE api_keys SET ${change} WHERE account_id = $1`, [owner.id]);
      expect(await answered()).toEqual([403, 'download_link_expired']);
    }
  });

  test('refuses query parameters that it does not know, and paper of another size', async () => {
    expect((await ask(poll, 'pdf?paper=letter')).status).toBe(302);
    for (const what of ['pdf?paper=a3', 'pdf?paper=', 'pdf?paper=a4&paper=a4', 'pdf?x=1', 'csv?paper=a4', 'cvr?x=1'])
      expect([what, (await ask(poll, what)).status]).toEqual([what, 400]);
    expect((await readOpen(`${await linkTo(poll, 'pdf')}?x=1`)).status).toBe(400);
  });
});

describe('the result report', () => {
  test('gives every figure of the results, names in every script, rules, and the log', async () => {
    const results = await account.show(`/voting-events/${poll.id}/results`);
    const { pages, outline, subject } = readPdf((await download(poll, 'pdf')).bytes);
    const lines = pages.flatMap((page) => page.split('\n'));
    for (const text of [...NAMES, 'PROVISIONAL', results.log.rootHash, poll.id, 'Share of yes'])
      expect(lines).toContain(text);
    expect(outline).toHaveLength(METHODS.length + 2);
    expect(subject).toContain(poll.code);
    for (const { candidates } of results.positions) {
      for (const { votesWon } of candidates) expect(lines).toContain(String(votesWon));
    }
  });

  test('shows the turnout by weight where voters weigh different things, whatever the sum of their weights', async () => {
    for (const [weights, isShown] of [
      [[1, 1], false],
      [[0.5, 1.5], true],
    ] as const) {
      const event = await account.event({ type: 'election' }, [], false);
      const voters = weights.map((weight, index) => ({ name: `Voter ${index}`, voterId: String(index), weight }));
      demand(await account.post(`/voting-events/${event.id}/voters/batch`, { voters }), 201);
      const lines = readPdf((await download(event, 'pdf')).bytes).pages.flatMap((page) => page.split('\n'));
      expect([weights, lines.includes('Turnout by weight')]).toEqual([weights, isShown]);
    }
  });

  test('on letter paper is as large as letter paper, and final when the event is over', async () => {
    const event = await pollOfEveryMethod(3);
    await account.patch(`/voting-events/${event.id}`, { status: 'closed' });
    await finishEvent(service, event.id);
    const { size, pages } = readPdf((await download(event, 'pdf?paper=letter')).bytes);
    expect(size).toEqual([612, 792]);
    expect(pages[0]?.split('\n')).toContain('FINAL');
  });

  test('is made many at a time, and others are answered meanwhile', async () => {
    const target = await linkTo(poll, 'pdf');
    const reports = Promise.all(Array.from({ length: 8 }, () => fetchFile(target)));
    expect((await service.call('GET', '/health/live')).status).toBe(200);
    expect((await reports).map((response) => response.status)).toEqual(Array(8).fill(200));
  });
});

describe('the table of results', () => {
  test('gives the figures of the results, and runs nothing', async () => {
    const event = await account.event({ title: '=1+1' }, [
      { votingMethod: 'plurality', candidates: ['@SUM(A1)', '+Bea', 'a "quoted", name'], settings: { title: '-2+3' } },
    ]);
    await account.votePoll(event, votesFor(event, 2));
    const text = (await download(event, 'csv')).bytes.toString('utf8');
    expect(text.startsWith('\ufeff')).toBe(true);
    const [head = [], ...rows] = parseCsv(text.slice(1));
    expect(new Set(rows.map((row) => row.length))).toEqual(new Set([head.length]));
    expect(rows.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([]);
    const of = (row: string[], column: string) => row[head.indexOf(column)];
    const asOf = rows.find((row) => of(row, 'item') === 'asOf') ?? [];
    expect(of(asOf, 'value')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const candidates = rows.filter((row) => of(row, 'record') === 'candidate');
    expect(
      candidates.map((row) => [of(row, 'candidate'), of(row, 'votes'), of(row, 'weight'), of(row, 'value')]),
    ).toEqual([
      ["'@SUM(A1)", '0', '0', ''],
      ["'+Bea", '0', '0', ''],
      ['a "quoted", name', '1', '1', 'winner'],
    ]);
  });
});

describe('the results as JSON', () => {
  test('are what the organizer reads, but for the moment', async () => {
    const results = await account.of(poll).show('/results');
    const exported = (await download(poll, 'json')).body.data;
    expect({ ...exported, asOf: 0 }).toEqual({ ...results, asOf: 0 });
  });
});

const records = async (event: TestEvent): Promise<TestAnswer['body']> => (await download(event, 'cvr')).body;

/** The weights that records tell of the first position, where they do. */
function weightsOf(report: Awaited<ReturnType<typeof records>>): (string | undefined)[] {
  return valuesOf(report.CVR, 'CVRSnapshot')
    .map(([{ CVRContest }]) => CVRContest[0].CVRContestSelection[0].SelectionPosition[0].FractionalVotes)
    .toSorted();
}

describe('the cast vote records', () => {
  test('name no contest that the report does not list: a position without candidates is none', async () => {
    const event = await account.event({ type: 'poll' });
    await account.of(event).make('/positions', { title: 'Later', votingMethod: 'plurality', minSelections: 0 });
    await account.ballot(event, { visitorId: visitor(), votes: votesFor(event) });
    await finishEvent(service, event.id);
    const report = JSON.parse((await account.of(event).download('/results/cvr')).bytes.toString());
    const listed = report.Election[0].Contest.map((contest: Record<string, string>) => contest['@id']);
    const [{ CVRSnapshot }] = report.CVR;
    const named = CVRSnapshot[0].CVRContest.map((contest: Record<string, string>) => contest['ContestId']);
    expect([listed, named]).toEqual([[listed[0]], [listed[0]]]);
  });

  test.runIf(schemaPresent)('of every method are valid by the public schema, with and without ballots', async () => {
    const { $schema: _draft, ...schema } = JSON.parse(readFileSync(SCHEMA, 'utf8'));
    const ajv = new Ajv({ strict: false, allErrors: true });
    addFormats.default(ajv);
    const validate = ajv.compile(schema);
    for (const event of [poll, await account.event({}, METHODS, false)]) {
      const valid = validate(await records(event));
      expect([validate.errors, valid]).toEqual([null, true]);
    }
  });

  test('count to the results: every vote of every ballot that counts, once', async () => {
    const report = await records(poll);
    expect(report.CVR).toHaveLength(7);
    const votes = new Map<string, number>();
    for (const record of report.CVR) {
      for (const contest of record.CVRSnapshot[0].CVRContest) {
        for (const selection of contest.CVRContestSelection) {
          const id: string = selection.ContestSelectionId;
          votes.set(id, (votes.get(id) ?? 0) + selection.SelectionPosition[0].NumberVotes);
        }
      }
    }
    const results = await account.show(`/voting-events/${poll.id}/results`);
    const contests = report.Election[0].Contest;
    for (const [index, position] of results.positions.entries()) {
      const counted = valuesOf(contests[index].ContestSelection, '@id').map((id) => votes.get(id) ?? 0);
      expect(counted, position.title).toEqual(valuesOf(position.candidates, 'votesWon'));
    }
  });

  test('hold a ballot that moves from the queue into the log once', async () => {
    const event = await pollOfEveryMethod(2);
    const waiting = await records(event);
    await sealBallots(service, event.id, 1);
    const sealed = await records(event);
    const choices = (report: typeof sealed) =>
      valuesOf(report.CVR, 'CVRSnapshot')
        .map(([{ CVRContest }]) => JSON.stringify(CVRContest))
        .sort();
    expect(choices(sealed)).toEqual(choices(waiting));
  });

  test('of more ballots than are read at once hold each of them once', async () => {
    const event = await largePoll(4500);
    const report = await records(event);
    expect(report.CVR).toHaveLength(4501);
    expect(new Set(valuesOf(report.CVR, 'UniqueId')).size).toBe(4501);
  });

  test.each([
    ['at its start', 1, 500],
    ['in its middle', 4000, 200],
  ])('never look whole when reading fails %s, and the service lives on', async (_where, broken, status) => {
    const event = await largePoll(4500, broken);
    const answer = await service.fetch(await linkTo(event, 'cvr'));
    expect(answer.status).toBe(status);
    if (status === 200) await expect(answer.text()).rejects.toThrow();
    expect((await fetchFile(await linkTo(poll, 'cvr'))).status).toBe(200);
  });

  test('may be left in the middle by who reads them', async () => {
    const event = await largePoll(4500);
    const target = await linkTo(event, 'cvr');
    for (let index = 0; index < 12; index += 1) {
      const response = await fetchFile(target);
      await response.body?.cancel();
    }
    // More than there are connections to the database: none of them was kept.
    expect((await fetchFile(await linkTo(poll, 'cvr'))).status).toBe(200);
  });

  test('of an event without candidates are refused, because the format has no report without a contest', async () => {
    const event = await account.event({}, [], false);
    expect(refusalOf(await ask(event, 'cvr'))).toEqual([409, 'not_ready']);
  });

  test('of a secret event name no voter, no ballot and no time, and no weight that few have', async () => {
    const event = await account.event({ type: 'election' });
    const voters = await holdElection(event, [
      ...Array.from({ length: 5 }, () => ({ weight: 2.5, votes: votesFor(event) })),
      { weight: 7, votes: votesFor(event, 1) },
    ]);
    // What waits for others is no record yet.
    const early: unknown[] = (await records(event)).CVR;
    const sealed = await service.query('SELECT 1 FROM sealed_ballots($1)', [event.id]);
    expect(early.length).toBeLessThanOrEqual(sealed.length);
    await finishEvent(service, event.id);
    const report = await records(event);
    const text = JSON.stringify(report.CVR);
    const rows = await service.query<{ id: string; code_tag: Buffer }>('SELECT id, code_tag FROM sealed_ballots($1)', [
      event.id,
    ]);
    expect(rows).toHaveLength(6);
    for (const { id, code_tag: codeTag } of rows) {
      for (const trace of [id, codeTag.toString('hex'), codeTag.toString('base64')]) expect(text).not.toContain(trace);
    }
    for (const id of voters) expect(text).not.toContain(id);
    expect(text).not.toMatch(/Voter \d|\.example|UniqueId|Date|Time/);
    // The only record without a weight would be that of the voter who weighs 7.
    expect(weightsOf(report)).toEqual(Array(6).fill(undefined));
  });

  test.each([
    ['all weights where few of a group have one, and others have another', 2, Array(11).fill(undefined)],
    ['no weight where all are alike', 3, Array(11).fill('3/1')],
  ])('of a secret event keep back %s', async (_what, weight, shown) => {
    const event = await account.event({ type: 'election' }, PLURALITY, false);
    const own = account.of(event);
    const { id: groupId } = await own.make('/groups', { name: 'Board' });
    const seat = { title: 'Of the board', votingMethod: 'plurality', groupId };
    const { id: positionId } = await own.make('/positions', seat);
    const { id: candidateId } = await own.make('/candidates', { name: 'Cy', positionIds: [positionId] });
    await own.change('', { status: 'open' });
    const votes = votesFor(event);
    await holdElection(event, [
      ...Array.from({ length: 5 }, () => ({ weight: 3, votes })),
      ...Array.from({ length: 5 }, () => ({ weight, votes })),
      { weight: 3, groupId, votes: [...votes, { positionId, candidateId }] },
    ]);
    await sealBallots(service, event.id);
    expect(weightsOf(await records(event))).toEqual(shown);
  });

  test('of a poll have a name for each record that joins with no list of votes or ballots', async () => {
    const event = await pollOfEveryMethod(3);
    const visitorId = visitor();
    await account.votePoll(event, ballotOf(event, 0), visitorId);
    const report = await records(event);
    expect(new Set(valuesOf(report.CVR, 'UniqueId')).size).toBe(4);
    expect(JSON.stringify(report)).not.toContain(visitorId);
  });
});
