import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { LIFE, PHASES } from '#src/voting-events/lifecycle.ts';
import { sealDeps } from '#src/work.ts';
import { demand, fieldOf, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { setEvent } from '#test/harness/genuine-rows.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { patiently, type TestAnswer, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const { service, account } = await useAccount();

const NAMES = ['Ada', 'Bea'];
const THREE = { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cleo'] };
const HOUR = 3_600_000;

const read = account.show;

async function outcome(method: string, path: string, body?: unknown): Promise<string> {
  const { status, body: answer } = await patiently(() => account.send(method, path, body));
  return status < 300 ? 'yes' : `${status} ${answer.error.details?.reason ?? answer.error.code}`;
}

interface Subject {
  readonly event: TestEvent;
  readonly base: string;
  readonly position: string;
  readonly candidates: readonly string[];
  readonly group: string;
  readonly voters: readonly { id: string; email: string }[];
}

async function voteAs(subject: Subject, index: number): Promise<void> {
  const voter = subject.voters[index];
  if (voter === undefined) throw new Error('no such voter');
  const voterKey = await giveVoterKey(service, subject.event.id, voter.id);
  await account.ballot(subject.event, { voterKey, email: voter.email, votes: votesFor(subject.event) });
}

type Stage = 'draft' | 'open' | 'voted' | 'confirming' | 'final';

/** An election with everything that could change, brought to a stage of its life. */
async function electionAt(stage: Stage): Promise<Subject> {
  const event = await account.event({ type: 'election' }, [THREE], false);
  const base = `/voting-events/${event.id}`;
  const { id: group } = await account.make(`${base}/groups`, { name: 'South' });
  const rows = ['vera', 'otto', 'uma'].map((name) => ({ name, email: `${name}@club.example` }));
  const voters = await account.make(`${base}/voters/batch`, { voters: rows });
  const [position] = event.positions;
  const subject = { event, base, position: position?.id ?? '', candidates: position?.candidates ?? [], group, voters };
  if (stage === 'draft') return subject;
  await account.change(base, { status: 'open', results: { visibility: 'published' } });
  if (stage !== 'open') await voteAs(subject, 0);
  if (stage === 'confirming' || stage === 'final') await account.change(base, { status: 'closed' });
  if (stage === 'final') await finishEvent(service, event.id);
  return subject;
}

/** What may be changed of an election: itself, and what is below it. */
const pathsOf = ({ base, position, candidates, group, voters }: Subject) => ({
  ...{ event: base, positions: `${base}/positions`, sponsors: `${base}/sponsors`, voters: `${base}/voters` },
  position: `${base}/positions/${position}`,
  candidate: `${base}/candidates/${candidates[1]}`,
  group: `${base}/groups/${group}`,
  voted: `${base}/voters/${voters[0]?.id}`,
  voter: `${base}/voters/${voters[1]?.id}`,
  another: `${base}/voters/${voters[2]?.id}`,
});

type Answers = readonly [voted: string, confirming: string, final: string];
type Call = `${'PATCH' | 'POST' | 'DELETE'} ${keyof ReturnType<typeof pathsOf>}`;
type Change = [name: string, answers: Answers, call: Call, body?: unknown];

const BALLOTS = '409 event_has_ballots';
const CLOSED = '409 event_closed';
const FINAL = '409 results_final';

/** Changes, and what each is answered once a ballot was cast, while ballots are confirmed, and once the result is final (completions 1.6 and 3). */
const CHANGES: readonly Change[] = [
  ['a new title', ['yes', 'yes', FINAL], 'PATCH event', { title: 'Another title' }],
  ['a new description', ['yes', 'yes', 'yes'], 'PATCH event', { description: 'More words' }],
  ['an open log', ['yes', 'yes', 'yes'], 'PATCH event', { log: { open: true } }],
  ['a later end', ['yes', 'yes', FINAL], 'PATCH event', { endsAt: Date.now() + HOUR }],
  ['requiring voter IDs', [BALLOTS, BALLOTS, FINAL], 'PATCH event', { voter: { requireVoterId: true } }],
  ['more seats', [BALLOTS, BALLOTS, FINAL], 'PATCH position', { seats: 2 }],
  ['a position’s title', [BALLOTS, BALLOTS, FINAL], 'PATCH position', { title: 'Chair' }],
  ['a position’s description', ['yes', 'yes', 'yes'], 'PATCH position', { description: 'x' }],
  ['a new position', [BALLOTS, BALLOTS, FINAL], 'POST positions', { title: 'New', votingMethod: 'approval' }],
  ['a candidate’s name', [BALLOTS, BALLOTS, FINAL], 'PATCH candidate', { name: 'Beatrix' }],
  ['a withdrawal', ['yes', 'yes', FINAL], 'PATCH candidate', { status: 'withdrawn' }],
  ['a rejection', [BALLOTS, BALLOTS, FINAL], 'PATCH candidate', { status: 'rejected' }],
  ['a candidate’s order', [BALLOTS, BALLOTS, FINAL], 'PATCH candidate', { sortOrder: 77 }],
  ['a group’s name', ['yes', 'yes', FINAL], 'PATCH group', { name: 'North' }],
  ['a new sponsor', ['yes', 'yes', 'yes'], 'POST sponsors', { name: 'The library' }],
  ['a new voter', ['yes', CLOSED, CLOSED], 'POST voters', { name: 'Wim', email: 'wim@club.example' }],
  ['a rejected voter who voted', [BALLOTS, CLOSED, CLOSED], 'PATCH voted', { status: 'rejected' }],
  ['a rejected voter', ['yes', CLOSED, CLOSED], 'PATCH voter', { status: 'rejected' }],
  ['a voter’s weight', ['yes', CLOSED, CLOSED], 'PATCH voter', { weight: 2 }],
  ['a voter’s address', ['yes', 'yes', FINAL], 'PATCH voter', { email: 'new@club.example' }],
  ['a voter’s name', ['yes', 'yes', 'yes'], 'PATCH voter', { name: 'Ottilie' }],
  ['a deleted voter who voted', [BALLOTS, CLOSED, 'yes'], 'DELETE voted'],
  ['a deleted voter', ['yes', CLOSED, 'yes'], 'DELETE another'],
];

const part = (reason: string, positionId: string | null = null, title: string | null = null) => ({
  reason,
  positionId,
  title,
  message: expect.any(String),
});

/** What is refused changes nothing: all refusals of a stage are asked of one election. */
const refusing = new Map<Stage, Promise<Subject>>();

describe('an election', () => {
  test.each(CHANGES)(
    'answers %s as its stage allows, and a final result stays as it is',
    async (_name, [voted, confirming, final], call, body) => {
      const expected = { draft: 'yes', open: 'yes', voted, confirming, final };
      const answers = await Promise.all(
        Object.entries(expected).map(async ([name, due]) => {
          const stage = name as Stage;
          const subject = await (due === 'yes'
            ? electionAt(stage)
            : refusing.getOrInsertComputed(stage, () => electionAt(stage)));
          const before = await read(`${subject.base}/results`);
          const [method = '', what = ''] = call.split(' ');
          const path = Object.entries(pathsOf(subject)).find(([at]) => at === what)?.[1] ?? '';
          const answer = await outcome(method, path, body);
          if (stage === 'final') {
            const after = await read(`${subject.base}/results`);
            expect({ ...after, asOf: 0 }).toEqual({ ...before, asOf: 0 });
          }
          return [stage, answer];
        }),
      );
      expect(Object.fromEntries(answers)).toEqual(expected);
    },
  );

  test('takes every shown field back as no change, at every stage, without a new version or an audit row', async () => {
    for (const stage of ['draft', 'voted', 'confirming', 'final'] as const) {
      const subject = await electionAt(stage);
      const { base } = subject;
      const audits = (await read(`${base}/audit`)).length;
      const { event, position, candidate, group, voted } = pathsOf(subject);
      for (const path of [event, position, candidate, group, voted]) {
        const shown = await read(path);
        const answer = await account.patch(path, writable(shown));
        expect([answer.status, answer.body.data], `${stage} ${path.replace(base, '')}`).toEqual([200, shown]);
      }
      expect((await read(`${base}/audit`)).length).toBe(audits);
    }
  });

  test('takes back what a read shows, whole, of everything that can be changed, and nothing that it did not show', async () => {
    const event = await account.event({}, PLURALITY, false);
    const below = `/voting-events/${event.id}`;
    const made: [string, object][] = [
      [`${below}/groups`, { name: 'North' }],
      [`${below}/sponsors`, { name: 'The corner bookshop' }],
      [`${below}/voters`, { name: 'Vera', email: 'vera@club.example', weight: 1.5 }],
      ['/webhook-endpoints', { url: 'https://receiver.example/', eventTypes: ['voting_event.opened'] }],
    ];
    const places = [below, `${below}/positions/${event.positions[0]?.id}`];
    places.push(`${below}/candidates/${event.positions[0]?.candidates[0]}`);
    for (const [list, body] of made) {
      const { id } = await account.make(list, body);
      places.push(`${list}/${id}`);
    }
    for (const place of places) {
      const shown = await account.show(place);
      expect(await account.change(place, shown), place).toEqual(shown);
      const foreign = await account.patch(place, { ...shown, id: 'another', createdAt: 1 });
      expect(foreign.body.error.details.issues, place).toEqual([
        { field: 'id', message: 'is not a known field' },
        { field: 'createdAt', message: 'is not a known field' },
      ]);
    }
  });

  test('keeps a limit that follows the candidates when the number that it shows is sent back', async () => {
    const event = await account.event({}, [{ votingMethod: 'approval', candidates: ['Ada', 'Bea'] }], false);
    const path = `/voting-events/${event.id}/positions/${event.positions[0]?.id}`;
    await account.change(path, { maxSelections: (await read(path)).maxSelections, seats: 2 });
    const row = { name: 'Cleo', positionIds: [event.positions[0]?.id] };
    await account.make(`/voting-events/${event.id}/candidates`, row);
    expect((await read(path)).maxSelections).toBe(3);
  });

  test.each([{}, { voter: {} }, { voter: {}, results: {}, payments: {} }])(
    'refuses an update without any field: %j',
    async (body) => {
      const { base } = await electionAt('draft');
      const { status, body: answer } = await account.patch(base, body);
      expect([status, answer.error.code]).toEqual([422, 'validation_error']);
    },
  );
});

/** As if the clock had reached the end of an event. */
async function endNow(eventId: string): Promise<void> {
  await moveEnd(service.deps, eventId, 'ends_at = now_ms()');
}

const READ_ONLY = new Set([
  ...['id', 'votingEventId', 'createdAt', 'updatedAt', 'paymentBusinessId', 'secrecy'],
  ...['source', 'hasVoted', 'keyStatus'],
  ...['finalAt', 'disclosure', 'disputed', 'copy', 'missing', 'missedStartAt', 'rehearsal'],
]);

/** A shown row without the fields that nobody sets. */
function writable(shown: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = Object.entries(shown).filter(([name]) => !READ_ONLY.has(name));
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = fields.map(([name, value]) => [
    name,
    isObject(value) && ['voter', 'candidate', 'ballot', 'results', 'payments'].includes(name) ? writable(value) : value,
  ]);
  return Object.fromEntries(entries);
}

describe('the life of an event', () => {
  test('leads back to the open event for 15 minutes after a mistaken close, and never afterwards', async () => {
    const reopenings = [
      { status: 'open' },
      { status: 'open', endsAt: null },
      { endsAt: Date.now() + HOUR },
      { results: { visibility: 'hidden' }, status: 'open' },
    ];
    for (const change of reopenings) {
      for (const byClock of [false, true]) {
        const { base, event } = await electionAt('voted');
        if (byClock) await endNow(event.id);
        else await account.change(base, { status: 'closed' });
        const again = byClock && !('endsAt' in change) ? { ...change, endsAt: null } : change;
        const opened = await account.patch(base, again);
        // An end in the future opens only what nobody closed.
        if (byClock || 'status' in change) expect([opened.status, opened.body.data.status]).toEqual([200, 'open']);
        await account.change(base, { status: 'closed' });
        await finishEvent(service, event.id);
        await account.change(base, { results: { visibility: 'hidden' } });
        // Another end than the one that is stored: what is sent back as it was is no change.
        const later = 'endsAt' in again && again.endsAt !== null ? { endsAt: again.endsAt + HOUR } : again;
        expect(await outcome('PATCH', base, later)).toBe(FINAL);
        expect((await read(base)).status).toBe('closed');
      }
    }
  });

  test('stays closed where a request says so, whatever end it brings', async () => {
    for (const endsAt of [null, Date.now() + HOUR]) {
      for (const byClock of [true, false]) {
        const { base, event } = await electionAt('voted');
        if (byClock) await endNow(event.id);
        else await account.change(base, { status: 'closed' });
        const kept = await account.patch(base, { status: 'closed', endsAt });
        expect([kept.status, kept.body.data.status, kept.body.data.endsAt]).toEqual([200, 'closed', endsAt]);
        expect((await account.patch(base, { status: 'open' })).body.data.status).toBe('open');
      }
    }
  });

  test.each([
    [null, 'the clock'],
    [Date.now() + HOUR, 'the clock'],
    [null, 'hand'],
    [Date.now() + HOUR, 'hand'],
  ])(
    'never leads an event with a cast ballot back before its start: startsAt %s, opened by %s',
    async (startsAt, opener) => {
      const event = await account.event({}, [THREE], false);
      const base = `/voting-events/${event.id}`;
      if (opener === 'hand') await account.change(base, { status: 'open' });
      await account.change(base, { startsAt: Date.now() - HOUR });
      await account.change(base, { startsAt: Date.now() - 2 * HOUR });
      const body = { visitorId: visitor(), votes: votesFor(event) };
      demand(await account.page(event, 'ballot/cast', body), 201);
      expect(await outcome('PATCH', base, { startsAt })).toBe(BALLOTS);
      expect((await read(base)).status).toBe('open');
    },
  );

  test('that was opened before its start may end before it, but not before it was opened', async () => {
    const startsAt = Date.now() + HOUR;
    const end = { endsAt: Date.now() + HOUR / 2 };
    for (const changes of [[{ status: 'open' }, end], [{ status: 'open', ...end }]]) {
      const base = `/voting-events/${(await account.event({ startsAt }, [THREE], false)).id}`;
      expect(fieldOf(await account.patch(base, end))).toEqual([422, 'endsAt']);
      for (const change of changes) await account.change(base, change);
      expect(await read(base)).toMatchObject({ status: 'open', startsAt, ...end });
      expect(fieldOf(await account.patch(base, { endsAt: Date.now() - HOUR }))).toEqual([422, 'endsAt']);
    }
  });

  test('stays opened when the clock opened it and its only position is deleted', async () => {
    const event = await account.event({}, [THREE], false);
    const base = `/voting-events/${event.id}`;
    await account.change(base, { startsAt: Date.now() - HOUR });
    demand(await account.delete(`${base}/positions/${event.positions[0]?.id}`), 202);
    expect((await read(base)).status).toBe('open');
  });

  test('has an end that lies ahead while ballots are cast or confirmed: nobody takes their 15 minutes away', async () => {
    for (const stage of ['voted', 'confirming'] as const) {
      const { base } = await electionAt(stage);
      for (const endsAt of [1_000, Date.now() - HOUR, Date.now() - 1]) {
        const refused = await account.patch(base, { endsAt });
        expect([stage, refused.status, refused.body.error.details.field]).toEqual([stage, 422, 'endsAt']);
      }
      expect((await read(`${base}/results`)).final).toBe(false);
    }
  });

  test('stays opened when its start is taken away after the close, and ends with a final result', async () => {
    const event = await account.event({}, [THREE], false);
    const base = `/voting-events/${event.id}`;
    await account.change(base, { startsAt: Date.now() - HOUR });
    await account.change(base, { status: 'closed' });
    await account.change(base, { startsAt: null });
    await finishEvent(service, event.id);
    const { final } = await read(`${base}/results`);
    expect([(await read(base)).status, final]).toEqual(['closed', true]);
  });

  test('has a final result, too, where it never became ready and the organizer closed it before its start', async () => {
    const { id } = await account.event({ type: 'poll' }, [], false);
    await setEvent(service, id, sql`starts_at = ${Date.now() + HOUR}, closed_at = ${Date.now() - HOUR / 3}`);
    const before = await read(`/voting-events/${id}`);
    expect([before.status, before.finalAt]).toEqual(['closed', null]);
    await sequenceLogs(sealDeps(service.deps));
    const { finalAt } = await read(`/voting-events/${id}`);
    expect(finalAt).toBeGreaterThan(Date.now() - 60_000);
    const results = await read(`/voting-events/${id}/results`);
    expect([results.final, results.positions, results.log.size]).toEqual([true, [], 2]);
    // Once is enough.
    await sequenceLogs(sealDeps(service.deps));
    expect((await read(`/voting-events/${id}/results`)).log.size).toBe(2);
    expect((await read(`/voting-events/${id}`)).finalAt).toBe(finalAt);
  });

  test('shows a published result from 15 minutes after the close on, and says since when', async () => {
    const { base, event } = await electionAt('confirming');
    const results = () => service.call('GET', `/public${base}/results`, undefined, { key: account.vote });
    expect([(await results()).status, (await read(base)).results.publishedAt]).toEqual([403, null]);
    await finishEvent(service, event.id);
    expect([(await results()).status, typeof (await read(base)).results.publishedAt]).toEqual([200, 'number']);
  });

  test('opens only when somebody could fill in a valid ballot, and names everything that is missing', async () => {
    const plans = [
      { votingMethod: 'approval', candidates: ['Ada'], settings: { minSelections: 2, maxSelections: 3 } },
      { votingMethod: 'cumulative', candidates: NAMES, settings: { minSelections: 2, cumulativePointBudget: 1 } },
      { votingMethod: 'plurality', candidates: ['Yes', 'No'] },
      { votingMethod: 'plurality', candidates: [] },
    ];
    const event = await account.event({}, plans, false);
    const base = `/voting-events/${event.id}`;
    const [bounds, budget, roles, empty] = event.positions;
    await account.change(`${base}/positions/${roles?.id}`, { votingMethod: 'referendum' });
    const refused = await account.patch(base, { status: 'open' });
    expect([refused.status, refused.body.error.details.reason, refused.body.error.details.missing]).toEqual([
      409,
      'not_ready',
      [
        part('bounds_cannot_be_met', bounds?.id, 'By approval'),
        part('bounds_cannot_be_met', budget?.id, 'By cumulative'),
        {
          ...part('referendum_role', roles?.id, 'By plurality'),
          message: '"Yes", "No" have no `referendumRole`: yes, no or abstain.',
        },
        part('no_candidate', empty?.id, 'By plurality'),
      ],
    ]);
    expect((await read(base)).missing).toEqual(refused.body.error.details.missing);
  });

  test('does not open a poll whose positions all ask for a group, because participants have none', async () => {
    const event = await account.event({}, [THREE], false);
    const base = `/voting-events/${event.id}`;
    const { id: groupId } = await account.make(`${base}/groups`, { name: 'South' });
    await account.change(`${base}/positions/${event.positions[0]?.id}`, { groupId });
    const refused = await account.patch(base, { status: 'open' });
    expect(refused.body.error.details.missing).toEqual([part('no_open_position')]);
    expect(await outcome('DELETE', `${base}/groups/${groupId}`)).toBe('409 group_in_use');
    await account.change(`${base}/positions/${event.positions[0]?.id}`, { groupId: null });
    expect(await outcome('DELETE', `${base}/groups/${groupId}`)).toBe('yes');
    expect(await outcome('PATCH', base, { status: 'open' })).toBe('yes');
  });

  test('that was open to nobody is ready as soon as a voter can answer it, and opens by the clock', async () => {
    const event = await account.event({ type: 'election' }, [THREE], false);
    const base = `/voting-events/${event.id}`;
    const { id: groupId } = await account.make(`${base}/groups`, { name: 'South' });
    await account.make(`${base}/voters`, { name: 'Ada', email: `${event.id}@club.example` });
    await account.change(`${base}/positions/${event.positions[0]?.id}`, { groupId });
    await account.change(base, { startsAt: Date.now() + HOUR });
    expect(await read(base)).toMatchObject({ status: 'scheduled', missing: [{ reason: 'no_open_position' }] });
    // A roll of rejected voters alone is not empty.
    for (const { id } of await account.show(`${base}/voters`))
      await account.change(`${base}/voters/${id}`, { status: 'rejected' });
    expect(await outcome('PATCH', base, { status: 'open' })).toBe('409 not_ready');
    const bo = await account.make(`${base}/voters`, { name: 'Bo', email: `b${event.id}@club.example`, groupId });
    const isReady = async () => (await read(base)).missing.length === 0;
    await untilTrue(isReady, 30_000);
    expect(await read(base)).toMatchObject({ status: 'scheduled' });
    // Each change of the roll is looked at: the event opens when a voter can answer a position, and else not.
    await account.change(`${base}/voters/${bo.id}`, { groupId: null });
    await untilTrue(async () => !(await isReady()), 30_000);
    await account.change(`${base}/voters/${bo.id}`, { groupId });
    await untilTrue(isReady, 30_000);
    demand(await account.delete(`${base}/voters/${bo.id}`), 202);
    await untilTrue(async () => !(await isReady()), 30_000);
    const cleo = { name: 'Cleo', email: `c${event.id}@club.example`, groupId };
    const [{ id: cleoId }] = await account.make(`${base}/voters/batch`, { voters: [cleo] });
    await untilTrue(isReady, 30_000);
    await account.change(`${base}/voters/${cleoId}`, { status: 'rejected' });
    await untilTrue(async () => !(await isReady()), 30_000);
    expect(await outcome('PATCH', base, { status: 'open' })).toBe('409 not_ready');
    await account.change(`${base}/voters/${cleoId}`, { status: 'approved' });
    await untilTrue(isReady, 30_000);
    await service.query('UPDATE voting_events SET starts_at = now_ms() - 1 WHERE id = $1', [event.id]);
    service.deps.events.forget(event.id);
    expect(await read(base)).toMatchObject({ status: 'open', missing: null });
  });

  test('that was not ready at its start is a draft again, and opens by the organizer’s word or a new start alone', async () => {
    for (const cure of [{ status: 'open' }, { startsAt: Date.now() - 1 }]) {
      const event = await account.event({}, [{ ...THREE, candidates: [] }], false);
      const base = `/voting-events/${event.id}`;
      const startsAt = Date.now() - HOUR;
      await account.change(base, { startsAt, endsAt: Date.now() + HOUR });
      const missed = { status: 'draft', startsAt: null, missedStartAt: startsAt };
      expect(await read(base)).toMatchObject({ ...missed, missing: [{ reason: 'no_candidate' }] });
      const public_ = await service.call('GET', `/public${base}`, undefined, { key: account.vote });
      expect(public_.status).toBe(404);
      const candidate = { name: 'Ada', positionIds: [event.positions[0]?.id] };
      await account.make(`${base}/candidates`, candidate);
      expect(await read(base)).toMatchObject({ ...missed, missing: [] });
      await account.change(base, { description: 'Now it is ready' });
      expect(await read(base)).toMatchObject(missed);
      expect(await account.change(base, cure)).toMatchObject({
        status: 'open',
        missedStartAt: null,
        missing: null,
      });
    }
  });

  test.each(['open', 'rehearsal', 'startsAt'])(
    'gives a referendum without candidates Yes, No and Abstain at %s',
    async (way) => {
      const event = await account.event({ language: 'de' }, [{ votingMethod: 'referendum', candidates: [] }], false);
      const base = `/voting-events/${event.id}`;
      expect((await read(base)).missing).toEqual([]);
      await account.change(base, way === 'startsAt' ? { startsAt: Date.now() + HOUR } : { status: way });
      const rows = await read(`${base}/candidates`);
      expect(valuesOf(rows, 'name')).toEqual(['Ja', 'Nein', 'Enthaltung']);
      expect(valuesOf(rows, 'referendumRole')).toEqual(['yes', 'no', 'abstain']);
      expect((await read(base)).missing ?? []).toEqual([]);
    },
  );

  test('judges the body before the state: a wrong body is 422 whatever is frozen', async () => {
    const { base, position, candidates } = await electionAt('final');
    for (const [method, path, body] of [
      ['PATCH', `${base}/positions/${position}`, { scoreMin: 3 }],
      ['POST', `${base}/positions`, { title: 'New', votingMethod: 'score', cumulativePointBudget: 3 }],
      ['PATCH', `${base}/candidates/${candidates[0]}`, { positionIds: ['pos_unknown'] }],
      ['POST', `${base}/candidates`, { name: 'X', positionIds: ['pos_unknown'] }],
      ['PATCH', base, { payments: { repeatVotes: true } }],
    ] as const) {
      const { status, body: answer } = await account.send(method, path, body);
      expect([status, answer.error.code], `${path.replace(base, '')}`).toEqual([422, 'validation_error']);
    }
  });
});

describe('a candidate with ballots', () => {
  const STATUSES = ['pending', 'approved', 'rejected', 'withdrawn'] as const;
  const ALLOWED = new Set(['approved withdrawn', 'withdrawn approved', 'pending approved', 'rejected approved']);

  test.each(STATUSES)(
    'moves from %s only where its votes can still be counted, and every count and export goes on',
    async (from) => {
      for (const to of STATUSES) {
        const event = await account.event({}, [THREE], false);
        const base = `/voting-events/${event.id}`;
        const [position] = event.positions;
        const [, second, third] = position?.candidates ?? [];
        const subject = `${base}/candidates/${from === 'withdrawn' || from === 'approved' ? second : third}`;
        if (from === 'pending' || from === 'rejected') await account.change(subject, { status: from });
        await account.change(base, { status: 'open' });
        await account.votePoll(event, [{ positionId: position?.id, candidateId: second }]);
        if (from === 'withdrawn') await account.change(subject, { status: from });
        const expected = from === to || ALLOWED.has(`${from} ${to}`) ? 'yes' : BALLOTS;
        expect([from, to, await outcome('PATCH', subject, { status: to })]).toEqual([from, to, expected]);
        for (const path of ['results', 'stats', 'votes'])
          expect((await account.get(`${base}/${path}`)).status).toBe(200);
        for (const path of ['results/csv', 'results/json', 'results/cvr'])
          expect((await account.download(`${base}/${path}`)).status).toBe(200);
      }
    },
  );
});

const DAY_MS = 86_400_000;
type Phase = (typeof PHASES)[number];

const change = (event: TestEvent, body: object) => account.of(event).change('', body);
const say = (event: TestEvent, what: string, body: object): Promise<TestAnswer> => account.page(event, what, body);
const cast = (event: TestEvent): Promise<TestAnswer> =>
  say(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event) });

/** An event in a phase, and the code of a ballot that waits in it; there is none where no ballot was ever taken. */
async function createIn(phase: Phase, type: string): Promise<{ readonly event: TestEvent; readonly code: string }> {
  const settings = {
    type,
    voter: type === 'election' ? { selfRegistration: true } : {},
    candidate: { selfRegistration: true },
  };
  const event = await account.event(settings, PLURALITY, false);
  if (phase === 'rehearsal' || phase === 'rehearsed') await change(event, { status: 'rehearsal' });
  if (['scheduled', 'open', 'confirming', 'final'].includes(phase)) await change(event, { status: 'open' });
  const takesBallots = type === 'poll' && phase !== 'draft';
  const code = takesBallots ? demand(await cast(event), 201).confirmationCode : 'none';
  // No request leads back while a ballot waits: the rule is asked all the same.
  if (phase === 'scheduled')
    await service.query(
      `UPDATE voting_events SET opened_at = NULL, starts_at = now_ms() + $2, paper_version = paper_version + 1 WHERE id = $1`,
      [event.id, DAY_MS],
    );
  if (phase === 'confirming' || phase === 'rehearsed') await change(event, { status: 'closed' });
  if (phase === 'final') await finishEvent(service, event.id);
  service.deps.events.forget(event.id);
  return { event, code };
}

/** What the table calls an answer. */
const wordOf = ({ status, body }: TestAnswer): string => {
  if (status < 300) return 'yes';
  return status === 404 ? 'not_visible' : String(body.error.details?.reason);
};

test.each(PHASES)(
  'casts, confirms and registrations are answered in the phase `%s` as the table says',
  async (phase) => {
    const poll = await createIn(phase, 'poll');
    const election = await createIn(phase, 'election');
    const registration = { name: 'Cleo', email: `cleo@${election.event.code.toLowerCase()}.example` };
    const candidate = { name: 'Cleo', positionIds: [poll.event.positions[0]?.id] };
    const answers = {
      confirm: await say(poll.event, 'ballot/confirm', { confirmationCode: poll.code }),
      cast: await cast(poll.event),
      register_voter: await say(election.event, 'register/voter', registration),
      register_candidate: await say(poll.event, 'register/candidate', candidate),
    };
    const words = Object.entries(answers).map(([action, answer]) => [action, wordOf(answer)]);
    const table = (Object.keys(answers) as (keyof typeof answers)[]).map((action) => [action, LIFE[action][phase]]);
    expect(words).toEqual(table);
  },
);
