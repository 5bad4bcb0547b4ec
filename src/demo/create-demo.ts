import { randomBytes } from 'node:crypto';
import { sandboxKey, sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { createAccount } from '#src/accounts/repository.ts';
import { createCandidateBody } from '#src/ballot-definition/candidate.ts';
import { createCandidate } from '#src/ballot-definition/change-candidate.ts';
import { createPosition } from '#src/ballot-definition/change-position.ts';
import { createPositionBody } from '#src/ballot-definition/position.ts';
import type { ReferendumRole, VotingMethod } from '#src/ballot-definition/types.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Caller } from '#src/http/caller.ts';
import { connectBusiness } from '#src/payments/connect-business.ts';
import { linkBusiness } from '#src/payments/link-business.ts';
import { batchField, createVoters } from '#src/voters/take-rows.ts';
import { type Organizer, ownerOf } from '#src/voting-events/access.ts';
import { createEvent } from '#src/voting-events/create-event.ts';
import { createEventBody, updateEventBody } from '#src/voting-events/event-body.ts';
import { updateVotingEvent } from '#src/voting-events/update-event.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** A demo without ballots, with the data needed to vote in its election. */
export type EmptyDemo = Awaited<ReturnType<typeof createDemo>>;

/** The data for the printed shell lines and the example. A file that only the operator can read keeps it for later starts. */
export interface Demo extends Omit<EmptyDemo, 'caller' | 'election' | 'positions' | 'voters'> {
  /** The receipt of a voter whose ballot is in the election's log already. */
  readonly receipt: Receipt;
}

export interface Receipt {
  readonly confirmationCode: string;
  readonly promise: string;
}

export type MadePosition = Awaited<ReturnType<typeof addPosition>>;

interface DemoPosition {
  readonly title: string;
  /** Offer of credits, used only if the poll takes payments. */
  readonly quadraticTopUp?: object;
  readonly votingMethod: VotingMethod;
  readonly candidates: readonly string[];
}

const ELECTION: readonly DemoPosition[] = [
  { title: 'Chair', votingMethod: 'ranked_choice', candidates: ['Ọlá Adébáyọ̀', 'Nguyễn Minh', 'Greta Lind'] },
  { title: 'Treasurer', votingMethod: 'plurality', candidates: ['山田 花子', 'Amir Haddad'] },
  { title: 'Shall the club move?', votingMethod: 'referendum', candidates: ['Yes', 'No', 'Abstain'] },
];

const POLL: readonly DemoPosition[] = [
  { title: 'Lunch on Friday', votingMethod: 'approval', candidates: ['Soup', 'Curry', 'Pizza'] },
  { title: 'The talks of the day', votingMethod: 'score', candidates: ['Morning', 'Noon', 'Evening'] },
  { title: 'Ten coins for projects', votingMethod: 'cumulative', candidates: ['Trees', 'Benches', 'Lamps'] },
  {
    title: 'A hundred credits for ideas',
    votingMethod: 'quadratic',
    candidates: ['Garden', 'Library', 'Workshop'],
    quadraticTopUp: {
      pricingModel: 'tiered',
      currency: 'usd',
      tiers: [
        { id: 'some', label: '50 more credits', credits: 50, amountMinor: 300 },
        { id: 'many', label: '200 more credits', credits: 200, amountMinor: 900 },
      ],
    },
  },
];

const PRICE = { amountMinor: 500, currency: 'usd' };

const ROLES: readonly ReferendumRole[] = ['yes', 'no', 'abstain'];
const VOTER = 'Vera';
/** These 36 voters vote before the demo is shown. The late voters and Vera, the last four of the roll of 40, have not voted. */
const FIRST_VOTERS =
  'Ada Ben Chen Dara Emil Fatou Gita Hugo Ines Jonas Kofi Lena Mei Noor Omar Pia Quinn Rosa Sami Tova Uma Viktor Wanda Xenia Yara Zeno Anouk Bola Cleo Dario Esra Finn Greta Hana Ivo Jana';
const LATE_VOTERS = 'Kaya Luis Mira';
const emailOf = (name: string): string => `${name.toLowerCase()}@club.example`;

async function addPosition(
  tx: Transaction,
  deps: Deps,
  organizer: Organizer,
  { title, votingMethod, candidates, quadraticTopUp }: DemoPosition,
  isPaid: boolean,
) {
  const topUp = isPaid && quadraticTopUp !== undefined ? { quadraticTopUp } : {};
  const body = createPositionBody.parse({ title, votingMethod, ...topUp });
  const { id } = await createPosition(tx, deps, organizer, body);
  const candidateIds: string[] = [];
  for (const [index, name] of candidates.entries()) {
    const role = votingMethod === 'referendum' ? { referendumRole: ROLES[index] } : {};
    const row = createCandidateBody.parse({ name, positionIds: [id], ...role });
    candidateIds.push((await createCandidate(tx, deps, organizer, row)).id);
  }
  return { id, candidateIds, votingMethod };
}

const firstEntry = ({ id, candidateIds, votingMethod }: MadePosition) => ({
  positionId: id,
  candidateId: candidateIds[0] ?? '',
  ...markOf(votingMethod),
});

function markOf(method: VotingMethod): { value?: number; rank?: number } {
  if (method === 'ranked_choice') return { rank: 1 };
  if (method === 'score' || method === 'cumulative' || method === 'quadratic') return { value: 5 };
  return {};
}

interface EventPlan {
  readonly title: string;
  readonly type: 'election' | 'poll';
  readonly positions: readonly DemoPosition[];
  readonly settings?: object;
  readonly businessId?: string | undefined;
}

const BOARD: EventPlan = {
  title: 'Board of the reading club',
  type: 'election',
  positions: ELECTION,
  settings: { voter: { selfRegistration: true } },
};
const SUMMER: EventPlan = { title: 'Plans for the summer', type: 'poll', positions: POLL };

/** Creates an event that is not open yet. @param pages base URL of the example's voting pages, if known */
async function addEvent(tx: Transaction, deps: Deps, caller: Caller, plan: EventPlan, pages: string | undefined) {
  const { title, type, positions, settings, businessId } = plan;
  const shown = { results: { visibility: 'live' }, log: { open: true } };
  const event = await createEvent(tx, deps, caller, createEventBody.parse({ title, type, ...shown, ...settings }));
  const change = async (changes: object): Promise<VotingEvent> =>
    updateVotingEvent(tx, deps, ownerOf(caller, event), updateEventBody.parse(changes));
  if (pages !== undefined)
    await change({ votingPageUrl: `${pages}/${event.code}#key={voterKey}&email={email}&voterId={voterId}` });
  if (businessId !== undefined) {
    await linkBusiness(tx, deps, ownerOf(caller, event), businessId);
    await change({ payments: { payToVote: PRICE } });
  }
  const made: MadePosition[] = [];
  for (const position of positions)
    made.push(await addPosition(tx, deps, ownerOf(caller, event), position, businessId !== undefined));
  return { event, positions: made, open: () => change({ status: 'open' }) };
}

/** Connects a payment business of the sandbox, through which visitors pay for the demo's poll. */
async function connectDemoBusiness(deps: Deps, accountId: string): Promise<string> {
  const id = deps.ids.sortable('biz');
  const secretKey = sandboxKey(id, 'US', randomBytes(16).toString('hex'));
  await connectBusiness(deps, {
    id,
    accountId,
    provider: 'provider_a',
    displayName: 'Demo shop',
    country: 'US',
    sandbox: true,
    credentials: { secretKey, webhookSecret: sandboxWebhookSecret(secretKey) },
  });
  return id;
}

/**
 * Creates a demo account with keys, an open election with its roll and an open poll. Election and poll together use every voting method.
 * @param paid whether a payment sandbox runs for the poll
 * @param pages base URL of the voting pages of `npm run example`; undefined if unknown
 */
export async function createDemo(deps: Deps, paid: boolean, pages: string | undefined) {
  const account = await createAccount(deps.db, deps, { name: 'Demo', plan: 'pro' });
  const businessId = paid ? await connectDemoBusiness(deps, account.id) : undefined;
  return inTransaction(deps.db, async (tx) => {
    const key = { accountId: account.id, votingEventId: null, expiresInDays: null };
    const organizer = await createApiKey(tx, deps, { ...key, name: 'Demo organizer', scopes: ['read', 'write'] });
    const reader = await createApiKey(tx, deps, { ...key, name: 'Demo reader', scopes: ['read'] });
    const vote = await createApiKey(tx, deps, { ...key, name: 'Demo voting page', scopes: ['vote'] });
    const caller: Caller = {
      keyId: organizer.id,
      accountId: account.id,
      accountName: account.name,
      plan: account.plan,
      scopes: organizer.scopes,
      votingEventId: null,
      keyName: organizer.name,
      keyHint: '',
      keyExpiresAt: null,
      keyCreatedAt: deps.clock.now(),
      requestsPerMinute: 0,
    };
    const election = await addEvent(tx, deps, caller, BOARD, pages);
    const first = FIRST_VOTERS.split(' ');
    const names = [...first, ...LATE_VOTERS.split(' '), VOTER];
    const roll = names.map((name) => ({ name, email: emailOf(name) }));
    const voters = await createVoters(tx, deps, ownerOf(caller, election.event), roll, batchField);
    const poll = await addEvent(tx, deps, caller, { ...SUMMER, businessId }, pages);
    const [position] = election.positions;
    if (position === undefined) throw new Error('the demo election has a position');
    await poll.open();
    return {
      writeKey: organizer.key,
      readKey: reader.key,
      voteKey: vote.key,
      event: election.event.code,
      poll: poll.event.code,
      voterEmail: emailOf(VOTER),
      electionEntry: firstEntry(position),
      pollEntries: poll.positions.map(firstEntry),
      pollIsPaid: businessId !== undefined,
      caller,
      election: await election.open(),
      positions: election.positions,
      voters: voters.slice(0, first.length),
    };
  });
}
