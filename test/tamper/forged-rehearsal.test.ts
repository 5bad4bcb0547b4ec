import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { foldRolls } from '#src/voters/roll-sum.ts';
import { PLURALITY, sealBallots } from '#test/harness/elections.ts';
import { type Election, type Member, useForgedElections } from './forged-election.ts';

// The end of a rehearsal puts voters back to how they stood, and takes no word of SQL for it (completions 6.7, 10.5).

const forged = await useForgedElections();
const { service, account, member, keyOf, cast, vote, register, pathOf, read } = forged;
const { bySql, check } = forged;

const patch = (election: Election, changes: object) => account.change(pathOf(election), changes);

/** Six approved members; registrants are approved by a first key. */
async function schedule(): Promise<Election> {
  const settings = { type: 'election', voter: { selfRegistration: true, approval: 'automatic' } };
  const event = await account.event(settings, PLURALITY, false);
  const voters = Array.from({ length: 6 }, (_, at) => ({
    name: `M${at}`,
    email: `m${at}-${randomUUID()}@club.example`,
  }));
  const members = await account.make(`/voting-events/${event.id}/voters/batch`, { voters });
  await patch({ event, members }, { startsAt: Date.now() + 3_600_000 });
  return { event, members };
}

const note = (election: Election, { id }: Member, before: object | null) =>
  bySql(election, 'UPDATE voters SET before_rehearsal = $3 WHERE voting_event_id = $1 AND id = $2', id, before);

/** Opened for good, by hand of the organizer from then on. */
async function open(election: Election): Promise<void> {
  await patch(election, { status: 'draft' });
  await patch(election, { voter: { approval: 'manual' } });
  await patch(election, { status: 'open' });
  await sealBallots(service, election.event.id, 1);
  await foldRolls(service.deps);
}

test('no member loses the approval because SQL says that it came of a key in the rehearsal', async () => {
  const election = await schedule();
  await patch(election, { status: 'rehearsal' });
  const pending = { status: 'pending', key_status: 'none', approved_by_key: false, confirm_by: null };
  for (const at of [1, 2, 3]) await note(election, member(election, at), pending);
  await open(election);
  await vote(election, member(election, 1));
  expect(await check(election)).toBeUndefined();
  const { stats } = await account.show(`${pathOf(election)}/results`);
  expect(stats).toMatchObject({ electorate: 6 });
  expect((await read(election)).disputed).toBe(false);
});

test('no registrant stays approved by a key of the rehearsal because SQL takes away what says so, renamed or not', async () => {
  const election = await schedule();
  const [plain, renamed] = [await register(election), await register(election)];
  await patch(election, { status: 'rehearsal' });
  for (const one of [plain, renamed]) await vote(election, one);
  await account.change(`${pathOf(election)}/voters/${renamed.id}`, { name: 'Renamed' });
  for (const one of [plain, renamed]) await note(election, one, null);
  await open(election);
  for (const one of [plain, renamed]) {
    const { status, body } = await cast(election, one, await keyOf(election, one));
    expect([status, body.error?.details?.reason]).toEqual([403, 'voter_pending']);
  }
  expect(await check(election)).toBeUndefined();
});

test('a registrant who waits again is approved by the organizer as every other one', async () => {
  const election = await schedule();
  const one = await register(election);
  await patch(election, { status: 'rehearsal' });
  await vote(election, one);
  await open(election);
  expect((await cast(election, one, await keyOf(election, one))).status).toBe(403);
  await account.change(`${pathOf(election)}/voters/${one.id}`, { status: 'approved' });
  expect((await cast(election, one, await keyOf(election, one))).status).toBe(201);
});
