import { EXAMPLE } from '#src/http/example-values.ts';
import { createTestEvent, demand, finishEvent, type TestEvent, visitor, votesFor } from './elections.ts';
import { createPaidEvent, decide, soldCredits } from './payments.ts';
import type { TestAccount, TestService } from './test-service.ts';
import { giveVoterKey } from './voter-keys.ts';

/** What really stands in the place of what the examples of the API document name. */
export type Names = Readonly<Record<string, string>>;

/** An event with one of everything. */
export interface Staged {
  readonly name: string;
  readonly account: TestAccount;
  readonly names: Names;
  /** What may stand there instead: a voter who has voted, a payment that failed. */
  readonly others: readonly Names[];
}

export const fill = (text: string, names: Names): string =>
  Object.entries(names).reduce((filled, [from, to]) => filled.replaceAll(from, to), text);

const VERA = 'vera@club.example';
const VOTED = 'voted@club.example';
const TYPES = ['election', 'poll'] as const;
const PHASES = ['draft', 'scheduled', 'rehearsal', 'open', 'closed', 'final'] as const;
type Phase = (typeof PHASES)[number];
/** How a phase begins. */
const BEGIN: Readonly<Record<Exclude<Phase, 'draft'>, object>> = {
  scheduled: { startsAt: Date.now() + 86_400_000 },
  rehearsal: { status: 'rehearsal' },
  ...{ open: { status: 'open' }, closed: { status: 'open' }, final: { status: 'open' } },
};
const SETTINGS = {
  election: { voter: { selfRegistration: true, approval: 'manual' }, results: { visibility: 'live' } },
  poll: { ballot: { opening: 'public' } },
};
const PLANS = ['plurality', 'approval'].map((votingMethod) => ({ votingMethod, candidates: ['Ada', 'Bea'] }));
const LAST = { election: 'ranked_choice', poll: 'quadratic' };
/** The roll: Vera may vote, and something stands against the others. */
const ROLL = [
  ...[
    { email: VERA, weight: 2 },
    { email: VOTED, weight: 3 },
    { email: 'rejected@club.example', status: 'rejected' },
  ],
  { voterId: 'M-7' },
];

/** One of everything that may stand beside an event in any phase. */
async function surround(
  { deps, query }: TestService,
  account: TestAccount,
  event: TestEvent,
  role = 'viewer',
): Promise<Record<string, string>> {
  const own = account.of(event);
  const [position] = event.positions;
  const invite = (await own.make('/invites', { email: 'guest@club.example', role })).id;
  const [{ sealed }] = await query('SELECT sealed_token AS sealed FROM event_invites WHERE id = $1', [invite]);
  const place = { table: 'event_invites', column: 'sealed_token', row: `${event.id}/${invite}` };
  const hook = { url: 'https://club.example/hook', eventTypes: ['voter.created'] };
  const endpoint = (await account.make('/webhook-endpoints', hook)).id;
  return {
    ...{ [EXAMPLE.event]: event.id, [EXAMPLE.eventCode]: event.code, [EXAMPLE.visitor]: visitor() },
    [EXAMPLE.position]: position?.id ?? '',
    [EXAMPLE.candidate]: position?.candidates[0] ?? '',
    [EXAMPLE.otherCandidate]: position?.candidates[1] ?? '',
    [EXAMPLE.group]: (await own.make('/groups', { name: 'South' })).id,
    [EXAMPLE.sponsor]: (await own.make('/sponsors', { name: 'The library' })).id,
    ...{ [EXAMPLE.invite]: invite, [EXAMPLE.inviteToken]: deps.secrets.open(sealed, place).toString('utf8') },
    ...{ [EXAMPLE.endpoint]: endpoint },
    [EXAMPLE.delivery]: demand(await account.post(`/webhook-endpoints/${endpoint}/test`), 202).id,
    // The plan may allow no export.
    [EXAMPLE.downloadToken]: (await own.get('/results/csv')).headers.get('location')?.split('/downloads/')[1] ?? 'none',
  };
}

async function stage(
  service: TestService,
  account: TestAccount,
  type: (typeof TYPES)[number],
  phase: Phase,
): Promise<Staged> {
  const settings = { type, candidate: { selfRegistration: true }, ...SETTINGS[type] };
  // A draft lacks candidates.
  const last = { votingMethod: LAST[type], candidates: phase === 'draft' ? [] : ['Ada', 'Bea'] };
  const event = await createTestEvent(service, account, settings, [...PLANS, last], false);
  const [, held, credits] = event.positions;
  const own = account.of(event);
  const names = await surround(service, account, event, type === 'election' ? 'editor' : 'viewer');
  await own.change(`/positions/${held?.id}`, { groupId: names[EXAMPLE.group] });
  const others: Names[] = [held, credits].map((position) => ({
    ...{ [EXAMPLE.position]: position?.id ?? 'x', [EXAMPLE.candidate]: position?.candidates[0] ?? 'x' },
  }));
  const known = async (id: string, email = VERA): Promise<Names> => ({
    ...{ [VERA]: email, [EXAMPLE.voter]: id, [EXAMPLE.voterKey]: await giveVoterKey(service, event.id, id) },
  });
  for (const row of type === 'election' ? ROLL : [])
    others.push(await known((await own.make('/voters', { name: 'A voter', ...row })).id, row.email));
  const whose = (email: string) => others.find((one) => one[VERA] === email);
  Object.assign(names, whose(VERA));
  if (phase !== 'draft') await own.change('', BEGIN[phase]);
  const mails = { beforeOpening: true, audience: 'all' };
  if (type === 'election' && phase !== 'draft') {
    names[EXAMPLE.notification] = demand(await own.post('/voters/notify', { ...mails, kind: 'key' }), 202).id;
    names[EXAMPLE.letters] = demand(await own.post('/voters/letters', mails), 202).id;
  }
  if (phase !== 'draft' && phase !== 'scheduled') {
    const cast = (email: string) => ({
      ...(type === 'poll' ? { visitorId: visitor() } : { email, voterKey: whose(email)?.[EXAMPLE.voterKey] }),
      votes: votesFor(event),
    });
    await account.ballot(event, cast(VOTED));
    names[EXAMPLE.confirmationCode] = demand(
      await account.page(event, 'ballot/cast', cast(VERA)),
      201,
    ).confirmationCode;
    const pending = { name: 'Pat', email: 'pending@club.example' };
    if (type === 'election')
      others.push(await known(demand(await account.page(event, 'register/voter', pending), 201).id, pending.email));
  }
  if (phase === 'closed') await own.change('', { status: 'closed' });
  if (phase === 'final') await finishEvent(service, event.id);
  return { name: `${phase} ${type}`, account, names, others };
}

/** A poll of another account that is paid for, with payments in every state. */
async function stagePaid(service: TestService): Promise<Staged> {
  const paid = await createPaidEvent(service, 'provider_a', { candidate: { selfRegistration: true } }, [
    ...PLANS.slice(0, 1),
    soldCredits('provider_a', 100),
  ]);
  const payments = [await paid.pay(), await paid.vote(), (await paid.begin()).attempt];
  for (const outcome of ['fail', 'cancel'] as const) {
    const { attempt, url } = await paid.begin();
    await decide(url, outcome);
    payments.push(attempt);
  }
  const [names, ...others] = payments.map((attempt) => ({ [EXAMPLE.payment]: attempt }));
  const around = { ...(await surround(service, paid.account, paid)), [EXAMPLE.business]: paid.businessId, ...names };
  const credits = { [EXAMPLE.position]: paid.positions[1]?.id ?? '' };
  return { name: 'paid poll', account: paid.account, names: around, others: [...others, credits] };
}

/** The same event, for an account that it is shared with. */
async function share(service: TestService, guest: TestAccount, staged: Staged): Promise<Staged> {
  const token = { token: staged.names[EXAMPLE.inviteToken] };
  demand(await service.call('POST', '/invites/accept', token, { key: guest.write }), 200);
  return { ...staged, name: `shared ${staged.name}`, account: guest };
}

/**
 * Sets up an election and a poll in each phase. Adds the two open events a second time, as an editor and a viewer see them; a poll on the
 * free plan; and a paid poll of another account.
 */
export async function stageEvents(service: TestService): Promise<readonly Staged[]> {
  const [account, guest] = [await service.account(), await service.account()];
  const staged: Staged[] = [];
  for (const type of TYPES) for (const phase of PHASES) staged.push(await stage(service, account, type, phase));
  for (const one of staged.filter(({ name }) => name.startsWith('open'))) staged.push(await share(service, guest, one));
  // What it may ask a minute is not what this is about.
  Object.assign(service.deps.plans.free, { organizerRequestsPerMinute: 12_000, voteRequestsPerMinute: 12_000 });
  const free = await stage(service, await service.account('free'), 'poll', 'final');
  const paid = await stagePaid(service);
  const used = { [EXAMPLE.inviteToken]: staged[PHASES.indexOf('open')]?.names[EXAMPLE.inviteToken] ?? '' };
  return [...staged, { ...free, name: 'free poll' }, { ...paid, others: [...paid.others, used] }];
}
