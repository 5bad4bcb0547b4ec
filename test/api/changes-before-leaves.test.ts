import { expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { sealDeps } from '#src/work.ts';
import { demand } from '#test/harness/answers.ts';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { finishEvent, PLURALITY, sealBallots, type TestEvent, tendLog, votesFor } from '#test/harness/elections.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { readMails } from '#test/harness/read-mail.ts';
import { runVerifier } from '#test/harness/started-service.ts';
import {
  eventually,
  type TestAccount,
  type TestService,
  untilTrue,
  useAccount,
  useService,
} from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ byClock: true });
/** Its jobs run when a test says so. */
const still = await useService({ worker: false });
const owner = await still.account();

/** An election of three voters in a group. */
async function createElection(account: TestAccount) {
  const event = await account.event({ type: 'election' }, PLURALITY, false);
  const own = account.of(event);
  const { id: groupId } = await own.make('/groups', { name: 'South' });
  const emails = [1, 2, 3].map((n) => `v${n}${event.id}@club.example`);
  const voters = await own.make('/voters/batch', { voters: emails.map((email) => ({ name: 'V', email, groupId })) });
  const ids: string[] = voters.map(({ id }: { id: string }) => id);
  return { event, own, groupId: groupId as string, emails, ids };
}

/** What the results and the verifier say of an event once it is closed. */
async function endOf(service: TestService, account: TestAccount, event: TestEvent): Promise<unknown[]> {
  await account.of(event).change('', { status: 'closed' });
  await finishEvent(service, event.id);
  await tendLog(sealDeps(service.deps), event.id, 1);
  const { final, disputed, stats } = await account.of(event).show('/results');
  const { report } = await runVerifier(service.port, event.id, await createObserverKey(service, account, event.id));
  return [final, disputed, report?.verified, stats.rollChanges];
}

type Election = Awaited<ReturnType<typeof createElection>>;
test.each<[string, number, (election: Election) => Promise<unknown>]>([
  ['a weight is changed', 1, ({ own, ids }) => own.change(`/voters/${ids[0]}`, { weight: 2 })],
  ['a voter is deleted', 1, async ({ own, ids }) => demand(await own.delete(`/voters/${ids[2]}`), 202)],
  ['a group is deleted', 3, async ({ own, groupId }) => demand(await own.delete(`/groups/${groupId}`), 202)],
])('an election verifies where %s after the opening, before its log has begun', async (_what, changes, act) => {
  const election = await createElection(owner);
  await election.own.change('', { status: 'open' });
  await act(election);
  await sealBallots(still, election.event.id);
  expect(await endOf(still, owner, election.event)).toEqual([true, false, 'yes', changes]);
});

test('an election verifies where letters are printed after a first ballot, while a change before that ballot waits for its leaf', async () => {
  const { event, own, emails } = await createElection(account);
  await own.change('', { status: 'open' });
  const log = () => service.query('SELECT FROM ballot_logs WHERE voting_event_id = $1', [event.id]);
  await untilTrue(async () => (await log()).length === 1);
  demand(await account.page(event, 'voter-key/request', { email: emails[0] }), 200);
  const mailed = () => readMails(service).filter(({ to }) => to === emails[0])[0]?.text ?? '';
  const voterKey = await eventually(() => voterKeyIn(mailed()));
  await own.change(`/candidates/${event.positions[0]?.candidates[1]}`, { name: 'Zed' });
  await account.ballot(event, { email: emails[0], voterKey, votes: votesFor(event) });
  const { id } = demand(await own.post('/voters/letters', { audience: 'all' }), 202);
  await untilTrue(async () => (await own.show(`/letters/${id}`)).finishedAt !== null);
  expect(await endOf(service, account, event)).toEqual([true, false, 'yes', 0]);
});

test('an invite that is withdrawn while a log is checked disputes nothing', async () => {
  const event = await owner.event({});
  await owner.votePoll(event, votesFor(event));
  await sealBallots(still, event.id);
  const own = owner.of(event);
  const { id } = await own.make('/invites', { email: 'g@club.example', role: 'editor' });
  await own.make('/invites', { email: 'h@club.example', role: 'editor' });
  const { definitions } = still.deps;
  let isWithdrawn = false;
  const get: typeof definitions.get = async (read) => {
    if (!isWithdrawn) demand(await own.delete(`/invites/${id}`), 204);
    isWithdrawn = true;
    return definitions.get(read);
  };
  const deps = { ...sealDeps(still.deps), definitions: { get } as unknown as typeof definitions };
  expect(await checkLog(deps, event.id)).toBeUndefined();
});

const THREE = [
  { votingMethod: 'approval', candidates: ['Ada', 'Bea', 'Cy'], settings: { minSelections: 3, maxSelections: 3 } },
  { votingMethod: 'approval', candidates: ['Eve', 'Fay'] },
];

interface Standing {
  readonly own: ReturnType<TestAccount['of']>;
  readonly event: TestEvent;
  /** Of the candidate who comes and goes. */
  readonly id: string;
}
const [HERE, THERE] = [
  ({ event }: Standing) => event.positions[0]?.id,
  ({ event }: Standing) => event.positions[1]?.id,
];
const change = ({ own, id }: Standing, body: object) => own.change(`/candidates/${id}`, body);

test.each<[string, (standing: Standing) => Promise<unknown>, (standing: Standing) => Promise<unknown>]>([
  [
    'candidates are rejected together and one stands again',
    async ({ own, id }) => demand(await own.post('/candidates/bulk', { action: 'reject', candidateIds: [id] }), 200),
    (standing) => change(standing, { status: 'approved' }),
  ],
  [
    'a candidate is deleted and another one added',
    async ({ own, id }) => demand(await own.delete(`/candidates/${id}`), 202),
    (standing) => standing.own.make('/candidates', { name: 'Dee', positionIds: [HERE(standing)] }),
  ],
  [
    'a candidate leaves a position and returns',
    (standing) => change(standing, { positionIds: [THERE(standing)] }),
    // A ballot freezes where candidates stand: one who was never on the ballot joins them.
    (standing) => standing.own.make('/candidates', { name: 'Dee', positionIds: [HERE(standing)] }),
  ],
])(
  'a poll verifies where %s, with the first ballot between, before the log has a leaf of either',
  async (_what, leave, stand) => {
    const event = await owner.event({ ballot: { opening: 'public' } }, THREE);
    await sealBallots(still, event.id);
    const [position] = event.positions;
    const [ada, bea, id = ''] = position?.candidates ?? [];
    const standing = { own: owner.of(event), event, id };
    await leave(standing);
    // Two candidates stand, so that two choices are all that can be asked for.
    const votes = [ada, bea].map((candidateId) => ({ positionId: position?.id, candidateId }));
    await owner.votePoll(event, votes);
    await stand(standing);
    await sealBallots(still, event.id);
    expect((await endOf(still, owner, event)).slice(0, 3)).toEqual([true, false, 'yes']);
  },
);
