import { randomBytes } from 'node:crypto';
import { sandboxKey, sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { createAccount } from '#src/accounts/create-account.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { createCandidate } from '#src/ballot-paper/create-candidate.ts';
import { createPosition } from '#src/ballot-paper/create-position.ts';
import { createCandidateBody, createPositionBody } from '#src/ballot-paper/schemas.ts';
import type { ReferendumRole, VotingMethod } from '#src/ballot-paper/types.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Caller } from '#src/http/caller.ts';
import { connectBusiness } from '#src/payments/connect-business.ts';
import { linkBusiness } from '#src/payments/link-business.ts';
import { createVoters, singleField } from '#src/voters/create-voters.ts';
import { ownerOf } from '#src/voting-events/access.ts';
import { createEvent } from '#src/voting-events/create-event.ts';
import { createEventBody, updateEventBody } from '#src/voting-events/schemas.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { updateVotingEvent } from '#src/voting-events/update-event.ts';

/** What the printed `curl` lines need. Kept in a file that only the operator can read, so that later starts can print them again. */
export interface Demo {
  readonly organizerKey: string;
  readonly voteKey: string;
  readonly electionCode: string;
  readonly voterEmail: string;
  readonly electionEntry: Entry;
  readonly pollCode: string;
  readonly pollEntries: readonly Entry[];
  readonly pollIsPaid: boolean;
}

interface Entry {
  readonly positionId: string;
  readonly candidateId: string;
  readonly value?: number;
  readonly rank?: number;
}

interface DemoPosition {
  readonly title: string;
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
  { title: 'A hundred credits for ideas', votingMethod: 'quadratic', candidates: ['Garden', 'Library', 'Workshop'] },
];

const PRICE = { amountMinor: 500, currency: 'usd' };

const ROLES: readonly ReferendumRole[] = ['yes', 'no', 'abstain'];
const VOTER_EMAIL = 'vera@club.example';

async function addPosition(
  tx: Transaction,
  deps: Deps,
  caller: Caller,
  event: VotingEvent,
  plan: DemoPosition,
): Promise<Entry> {
  const organizer = ownerOf(caller, event);
  const body = createPositionBody.parse({ title: plan.title, votingMethod: plan.votingMethod });
  const position = await createPosition(tx, deps, organizer, body);
  const ids: string[] = [];
  for (const [index, name] of plan.candidates.entries()) {
    const role = plan.votingMethod === 'referendum' ? { referendumRole: ROLES[index] } : {};
    const row = createCandidateBody.parse({ name, positionIds: [position.id], ...role });
    ids.push((await createCandidate(tx, deps, organizer, row)).id);
  }
  return { positionId: position.id, candidateId: ids[0] ?? '', ...markOf(plan.votingMethod) };
}

/** A first mark that each method accepts. */
function markOf(method: VotingMethod): { value?: number; rank?: number } {
  if (method === 'ranked_choice') return { rank: 1 };
  if (method === 'score' || method === 'cumulative' || method === 'quadratic') return { value: 5 };
  return {};
}

async function addEvent(
  tx: Transaction,
  deps: Deps,
  caller: Caller,
  title: string,
  type: 'election' | 'poll',
  plans: readonly DemoPosition[],
  price?: { readonly businessId: string },
) {
  const event = await createEvent(
    tx,
    deps,
    caller,
    createEventBody.parse({ title, type, results: { visibility: 'live' } }),
  );
  if (price !== undefined) {
    await linkBusiness(tx, deps, ownerOf(caller, event), price.businessId);
    await updateVotingEvent(
      tx,
      deps,
      ownerOf(caller, event),
      updateEventBody.parse({ payments: { payToVote: PRICE } }),
    );
  }
  const entries: Entry[] = [];
  for (const plan of plans) entries.push(await addPosition(tx, deps, caller, event, plan));
  const opened = await updateVotingEvent(tx, deps, ownerOf(caller, event), updateEventBody.parse({ status: 'open' }));
  return { event: opened, entries };
}

/** A business of the sandbox, through which the demo's poll is paid. */
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
 * Creates a demo account with keys, an open election and a paid poll, with every voting method between them.
 * @param paid whether a sandbox runs that the poll can be paid through
 */
export async function createDemo(deps: Deps, paid: boolean): Promise<Demo> {
  const account = await createAccount(deps.db, deps, { name: 'Demo', plan: 'pro' });
  const businessId = paid ? await connectDemoBusiness(deps, account.id) : undefined;
  return inTransaction(deps.db, async (tx) => {
    const key = { accountId: account.id, votingEventId: null, expiresInDays: null };
    const organizer = await createApiKey(tx, deps, { ...key, name: 'Demo organizer', scopes: ['read', 'write'] });
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
    const election = await addEvent(tx, deps, caller, 'Board of the reading club', 'election', ELECTION);
    await createVoters(tx, deps, ownerOf(caller, election.event), [{ name: 'Vera', email: VOTER_EMAIL }], singleField);
    const poll = await addEvent(
      tx,
      deps,
      caller,
      'Plans for the summer',
      'poll',
      POLL,
      businessId === undefined ? undefined : { businessId },
    );
    const [first] = election.entries;
    if (first === undefined) throw new Error('the demo election has a position');
    return {
      organizerKey: organizer.key,
      voteKey: vote.key,
      electionCode: election.event.code,
      voterEmail: VOTER_EMAIL,
      electionEntry: first,
      pollCode: poll.event.code,
      pollEntries: poll.entries,
      pollIsPaid: businessId !== undefined,
    };
  });
}
