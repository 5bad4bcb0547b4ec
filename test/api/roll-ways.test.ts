import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VotingService } from '#sdk/index.ts';
import { sendRoll } from '#src/commands/send-roll.ts';
import { demand } from '#test/harness/answers.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const { service, account } = await useAccount();
const folder = useFolder('voting-roll-ways-');

const TAKEN = 'is already used by another voter of this event';
const OWN_GROUP = 'own group';

const EMAILS = ['a@r.example', 'A@R.example', 'b@r.example', 'c@r.example', 'old@r.example'];
/** Few values: rows of one roll stand in each other's way, and in that of a voter who is there before. */
const arbitraryRow = fc.record(
  {
    name: fc.constantFrom('Ada', 'Bea', 'Cy', ' '),
    email: fc.constantFrom(...EMAILS, 'no address', null),
    voterId: fc.constantFrom('1', '2', '3', '4', 'old', '', null),
    groupId: fc.constantFrom(OWN_GROUP, 'grp_unknown', null),
    weight: fc.constantFrom(1, 2.5, 0),
    status: fc.constantFrom('approved', 'rejected', 'pending'),
    colour: fc.constant('red'),
  },
  { requiredKeys: [] },
);
/** Wrong shapes and groups are seldom: otherwise hardly two rows of a roll would meet. */
const likelyRow = fc.record({
  name: fc.constantFrom('Ada', 'Bea', 'Cy'),
  email: fc.constantFrom(...EMAILS, 'd@r.example', null),
  voterId: fc.constantFrom('1', '2', '3', '4', '5', 'old', null),
  groupId: fc.constantFrom(OWN_GROUP, null),
});
type Row = Partial<Record<'name' | 'email' | 'voterId' | 'groupId' | 'status' | 'colour', string | null>> & {
  readonly weight?: number;
};
const arbitraryRoll = (maxLength: number) =>
  fc.array<Row>(fc.oneof({ weight: 4, arbitrary: likelyRow }, { weight: 1, arbitrary: arbitraryRow }), {
    minLength: 2,
    maxLength,
  });

interface Issue {
  readonly field: string;
  readonly message: string;
}
const wordsOf = ({ field, message }: Issue): string => `${field} ${message}`;

interface Target {
  readonly id: string;
  readonly path: string;
  readonly roll: readonly Row[];
}

/** What became of each row, by its place: null where it was taken, otherwise the first thing that is wrong with it. */
type Verdicts = readonly (string | null)[];
type Way = (target: Target) => Promise<Verdicts>;

const byPlace = (roll: readonly Row[], wrong: ReadonlyMap<number, string>): Verdicts =>
  roll.map((_, index) => wrong.get(index) ?? null);

const ONE_BY_ONE: Way = async ({ path: target, roll }) => {
  const verdicts: (string | null)[] = [];
  for (const row of roll) {
    const { status, body } = await account.post(`${target}/voters`, row);
    expect([201, 409, 422]).toContain(status);
    verdicts.push(status === 201 ? null : wordsOf(body.error.details.issues[0]));
  }
  return verdicts;
};

const rejectedOf = ({ roll }: Target, rejected: readonly (Issue & { readonly index: number })[]): Verdicts =>
  byPlace(roll, new Map(rejected.map((one) => [one.index, wordsOf(one)])));

const importing =
  (more: object): Way =>
  async (target) => {
    const answer = await account.post(`${target.path}/voters/import`, { ...more, voters: target.roll });
    const { rejected } = answer.status === 422 ? answer.body.error.details : demand(answer, 200);
    return rejectedOf(target, rejected);
  };

const COLUMNS = ['name', 'email', 'voterId', 'groupId', 'weight', 'status'] as const;
/** A row as a file can say it: an empty cell is a field that is not there, and a line without any is passed over. */
function writable(row: Row): Row {
  const cells = COLUMNS.flatMap((name) => (String(row[name] ?? '').trim() === '' ? [] : [[name, row[name]]]));
  return cells.length === 0 ? { name: 'Ada' } : Object.fromEntries(cells);
}

/** The report of rejected lines, in words. */
function readReport({ roll }: Target, file: unknown): Verdicts {
  const text = typeof file === 'string' ? readFileSync(file, 'utf8') : '';
  const reports = parse<{ line: string; reason: string }>(text, { columns: true, bom: true });
  return byPlace(roll, new Map(reports.map(({ line, reason }) => [Number(line) - 2, reason])));
}
const fileOf = (target: Target): string => {
  const file = path.join(folder, `${target.id}.csv`);
  const lines = target.roll.map((row) => COLUMNS.map((name) => row[name] ?? '').join(','));
  writeFileSync(file, [COLUMNS.join(','), ...lines].join('\n'));
  return file;
};

const sending =
  (dryRun: boolean): Way =>
  async (target) => {
    const client = new VotingService({ baseUrl: service.url, key: account.write });
    const options = { event: target.id, file: fileOf(target), dryRun };
    const { value } = await sendRoll({ json: () => true }, [client, client], options);
    return readReport(target, Reflect.get(value, 'rejectedFile'));
  };

const COMMAND: Way = async (target) => {
  const end = await runCommand(service, ['voters', 'import', '--event', target.id, fileOf(target), '--json']);
  expect(end.stderr).toBe('');
  return readReport(target, JSON.parse(end.stdout).rejectedFile);
};

const rowsOf = async ({ id }: Target) =>
  service.query(
    `SELECT name, email, voter_id, weight_micro::text, group_id IS NOT NULL AS grouped, status, source FROM voters
     WHERE voting_event_id = $1 ORDER BY created_at, id`,
    [id],
  );

async function createTarget(roll: readonly Row[], requireVoterId: boolean): Promise<Target> {
  const event = { title: 'Board', type: 'election', voter: { requireVoterId } };
  const { id } = await account.make('/voting-events', event);
  const target = `/voting-events/${id}`;
  const group = await account.make(`${target}/groups`, { name: 'Board' });
  await account.make(`${target}/voters`, { name: 'Old', email: 'old@r.example', voterId: 'old' });
  const rows = roll.map((row) => (row.groupId === OWN_GROUP ? { ...row, groupId: group.id } : row));
  return { id, path: target, roll: rows };
}

/** Files name all that is wrong with the shape of a row, and every other way the first of it as well. */
const begin = (verdicts: Verdicts, words: Verdicts) =>
  verdicts.map((verdict, index) => {
    const first = words[index] ?? null;
    return verdict !== null && first !== null && verdict.startsWith(first) ? first : verdict;
  });

describe('every way into the roll', () => {
  const seed = Number(process.env['SEED'] ?? 20_261);
  const rolls = fc.sample(fc.tuple(arbitraryRoll(12), fc.boolean(), fc.boolean()), { numRuns: 30, seed });

  test.each(rolls)(
    'takes the same rows, and refuses the others in the same words (%#)',
    async (drawn, requireVoterId, isFile) => {
      const roll = isFile ? drawn.map(writable) : drawn;
      const single = await createTarget(roll, requireVoterId);
      const verdicts = await ONE_BY_ONE(single);
      const rows = await rowsOf(single);
      for (const way of [importing({ mode: 'partial' }), ...(isFile ? [sending(false)] : [])]) {
        const target = await createTarget(roll, requireVoterId);
        expect(begin(await way(target), verdicts)).toEqual(verdicts);
        expect(await rowsOf(target)).toEqual(rows);
      }
      const whole = await createTarget(roll, requireVoterId);
      const untouched = await rowsOf(whole);
      for (const way of [
        importing({ mode: 'partial', dryRun: true }),
        importing({ mode: 'all', dryRun: true }),
        ...(isFile ? [sending(true)] : []),
      ])
        expect(begin(await way(whole), verdicts)).toEqual(verdicts);
      expect(await rowsOf(whole)).toEqual(untouched);
      const isRight = verdicts.every((verdict) => verdict === null);
      expect(await importing({ mode: 'all' })(whole)).toEqual(verdicts);
      expect(await rowsOf(whole)).toEqual(isRight ? rows : untouched);

      const batch = await createTarget(roll, requireVoterId);
      const { status, body } = await account.post(`${batch.path}/voters/batch`, { voters: batch.roll });
      const isTaken = (verdict: string | null): boolean => verdict?.endsWith(TAKEN) === true;
      const wrong = verdicts.map((verdict) => (isTaken(verdict) ? null : verdict));
      const hasWrong = wrong.some((verdict) => verdict !== null);
      expect(status).toBe(isRight ? 201 : hasWrong ? 422 : 409);
      const named = new Map<number, string>();
      for (const { field, message } of isRight ? [] : body.error.details.issues) {
        const [, index, name = ''] = /^voters\[(\d+)\]\.(.*)$/.exec(field) ?? [];
        if (!named.has(Number(index))) named.set(Number(index), wordsOf({ field: name, message }));
      }
      expect(byPlace(roll, named)).toEqual(hasWrong ? wrong : verdicts);
      expect(await rowsOf(batch)).toEqual(isRight ? rows : untouched);
    },
  );

  test('is the same for the operator’s command', async () => {
    const [drawn = []] = fc.sample(fc.array(fc.oneof(likelyRow, arbitraryRow), { minLength: 60, maxLength: 60 }), {
      ...{ numRuns: 1, seed },
    });
    const roll = drawn.map(writable);
    const partial = await createTarget(roll, false);
    const verdicts = await importing({ mode: 'partial' })(partial);
    const target = await createTarget(roll, false);
    expect(begin(await COMMAND(target), verdicts)).toEqual(verdicts);
    expect(await rowsOf(target)).toEqual(await rowsOf(partial));
    const { data } = (await account.get(`${target.path}/audit?action=voters.created`)).body;
    // The operator has no key.
    expect(data).toMatchObject([{ key: null }]);
  });
});
