import { describe, expect, test } from 'vitest';
import { createRandom } from '#test/second-count/random-elections.ts';
import type { Read } from '../../../verifier/read-service.ts';
import { verifyLog } from '../../../verifier/verify-log.ts';
import {
  type Change,
  configurationOf,
  EVENT,
  type Fields,
  lying,
  reply,
  type StoredLog,
  serve,
  signHead,
  someBallots,
  storeLog,
} from './stored-log.ts';

const BALLOTS = 6;

function logWith(...changes: Change[]): StoredLog {
  return storeLog(someBallots(createRandom(7), BALLOTS), { changes });
}

async function check(log: StoredLog, { read = serve(log), since }: { read?: Read; since?: string } = {}) {
  const { verified, checks } = await verifyLog({ read, event: EVENT, ...(since === undefined ? {} : { since }) });
  return { verified, ...checks.find(({ name }) => name === 'configurations') };
}

const FIRST: Fields = configurationOf('election');

/** The configuration with another value in one of its rows. */
function withRow(list: string, index: number, change: Fields): Fields {
  const rows = FIRST[list] as Fields[];
  return { ...FIRST, [list]: rows.with(index, { ...rows[index], ...change }) };
}
const withoutRow = (list: string, index: number): Fields => ({
  ...FIRST,
  [list]: (FIRST[list] as Fields[]).toSpliced(index, 1),
});
const withNewRow = (list: string, row: Fields): Fields => ({ ...FIRST, [list]: [...(FIRST[list] as Fields[]), row] });

const [chair] = FIRST['positions'] as Fields[];
const [ada] = FIRST['candidates'] as Fields[];

/** What is frozen with the first ballot (completions 3.4): none of it decides a count of these ballots, so that nothing else fails. */
const FROZEN: Readonly<Record<string, Fields>> = {
  'the title of a position': withRow('positions', 0, { title: 'Treasurer' }),
  'the bounds of a position': withRow('positions', 0, { minSelections: 0 }),
  'the order of the positions': withRow('positions', 0, { sortOrder: 9 }),
  'the group of a position': withRow('positions', 0, { groupId: 'grp_1' }),
  'the majority of a position': withRow('positions', 0, { majorityRequired: { numerator: 1, denominator: 100 } }),
  'a position that comes': withNewRow('positions', { ...chair, id: 'pos_9' }),
  'the name of a candidate': withRow('candidates', 0, { name: 'Somebody else' }),
  'the picture of a candidate': withRow('candidates', 0, { avatarUrl: 'https://pictures.example/other.png' }),
  'the group of a candidate': withRow('candidates', 0, { groupId: 'grp_1' }),
  'the place of a candidate': withRow('candidates', 0, { sortOrder: 7 }),
  'a candidate who goes': withoutRow('candidates', 3),
  'the identity rules': { ...FIRST, voter: { ...(FIRST['voter'] as Fields), requireVoterId: true } },
};

/** What may change as long as people vote, in words. */
const FREE: Readonly<Record<string, readonly [Fields, string]>> = {
  'the description of a position': [
    withRow('positions', 0, { description: 'Two years' }),
    'description of position “Chair”',
  ],
  'the description of a candidate': [
    withRow('candidates', 0, { description: 'A painter' }),
    'description of candidate “Name of cnd_a”',
  ],
  'the title of the event': [{ ...FIRST, title: 'The new board' }, 'title of the event'],
  'the name of a group': [withRow('groups', 0, { name: 'South' }), 'name of group “South”'],
  'self-registration': [
    { ...FIRST, voter: { ...(FIRST['voter'] as Fields), selfRegistration: true } },
    'voter.selfRegistration of the event',
  ],
  'a candidate who comes': [withNewRow('candidates', { ...ada, id: 'cnd_z', name: 'Zoe' }), 'candidate “Zoe” came'],
};

describe('every configuration that the log commits to is read and compared', () => {
  test('one that nobody changed is one configuration', async () => {
    expect(await check(logWith())).toMatchObject({ verified: 'yes', status: 'verified' });
  });

  test.each(Object.entries(FROZEN))('%s is frozen with the first confirmed ballot', async (_what, configuration) => {
    const log = logWith({ confirmed: BALLOTS, configuration }, { confirmed: BALLOTS, configuration: FIRST });
    expect(await check(log)).toMatchObject({ verified: 'no', status: 'failed' });
    const before = logWith({ confirmed: 0, configuration }, { confirmed: 0, configuration: FIRST });
    expect(await check(before)).toMatchObject({ verified: 'yes', status: 'verified' });
  });

  test.each(Object.entries(FREE))('%s may change, and is named', async (_what, [configuration, words]) => {
    const log = logWith({ confirmed: BALLOTS, configuration });
    const found = await check(log);
    expect(found).toMatchObject({ status: 'verified', detail: expect.stringContaining(words) });
    expect(found.detail).toContain(`leaf ${log.configurations[1]?.index} (${BALLOTS} confirmed)`);
  });

  test('a head that counts ballots freezes as well, whatever a later leaf says', async () => {
    const configuration = withRow('candidates', 0, { name: 'Somebody else' });
    const log = logWith({ confirmed: 0, configuration }, { confirmed: 0, configuration: FIRST });
    const since = (confirmed: number) => ({ since: signHead(log.entries.slice(0, 1), undefined, confirmed) });
    expect(await check(log, since(0))).toMatchObject({ status: 'verified' });
    expect(await check(log, since(2))).toMatchObject({ verified: 'no' });
  });

  test('a text that is not the one whose hash stands in the log is wrong', async () => {
    const log = logWith({ confirmed: BALLOTS, configuration: { ...FIRST, title: 'The new board' } });
    for (const index of [0, 1]) {
      const lie = { index: log.configurations[index]?.index ?? 0, configuration: { ...FIRST, title: 'Another' } };
      const served = { ...log, configurations: log.configurations.with(index, lie) };
      expect(await check(log, { read: serve(served) })).toMatchObject({ verified: 'no', status: 'failed' });
    }
  });

  test('one that is not served is left out, and nothing is called right', async () => {
    const log = logWith({ confirmed: BALLOTS, configuration: { ...FIRST, title: 'The new board' } });
    const refusing = (status: number): Read => lying(log, /configurations/, () => reply(status, '{}'));
    for (const read of [
      serve({ ...log, configurations: log.configurations.slice(0, 1) }),
      serve({ ...log, configurations: [] }),
      refusing(404),
      refusing(403),
    ])
      expect(await check(log, { read })).toMatchObject({ verified: 'partial', status: 'left_out' });
  });

  test('a candidate who is listed as a group afterwards is none who left unseen', async () => {
    const [candidate, ...others] = FIRST['candidates'] as Fields[];
    const groups = [{ id: candidate?.['id'], name: 'North', description: null }, ...(FIRST['groups'] as Fields[])];
    const log = logWith({ confirmed: BALLOTS, configuration: { ...FIRST, candidates: others, groups } });
    const { index } = log.configurations[1] ?? {};
    const read = lying(log, /configurations/, ({ bytes }) => {
      const page = JSON.parse(String(bytes));
      // The row of the group alone: the candidate would be gone without a word.
      const data = page.data.filter((part: Fields) => part['index'] !== index || part['kind'] === 'group');
      return reply(200, JSON.stringify({ ...page, data }));
    });
    expect(await check(log, { read })).toMatchObject({
      ...{ verified: 'no', status: 'failed', detail: expect.stringContaining('of another kind') },
    });
  });

  test('pages that lead nowhere end the reading', async () => {
    const log = logWith();
    const read = lying(log, /configurations/, ({ bytes }) =>
      reply(200, String(bytes).replace(/"nextFrom":\d+/, '"nextFrom":0')),
    );
    expect(await check(log, { read })).toMatchObject({ verified: 'no', status: 'failed' });
  });
});
