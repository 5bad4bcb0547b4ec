import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type TestEvent, visitor } from '#test/harness/elections.ts';
import { decide, RETURN_URL } from '#test/harness/payments.ts';
import { eventually } from '#test/harness/test-service.ts';
import type { Shop } from '#test/money/buyers.ts';
import { SETTLES_MS } from './check.ts';
import { Client, Refused } from './clients.ts';
import type { Chaos } from './world.ts';

/** What was acknowledged to people: it must be there in the end, once. */
export interface Acknowledged {
  /** Confirmed votes by candidate, of all events. */
  readonly votes: Map<string, number>;
  /** Elections that were opened and voted in. */
  readonly elections: TestEvent[];
  /** Addresses of voters who were added. */
  readonly added: string[];
  /** Addresses to which a key was promised. */
  readonly mailed: string[];
  /** Payments whose ballot was confirmed. */
  readonly paid: Set<string>;
}

const BALLOT_VOTERS = 4;
const PAYERS = 2;
/** Of an election that lasts a moment. */
const MEMBERS = 3;
/** The pause of who waits for something that is on its way: a message about a payment, a mail. */
const BACK_AGAIN_MS = 500;

/** People who vote, pay and organize until they are asked to stop. @returns what stops them, once each has its answers */
export function setGoing(chaos: Chaos, dice: (below: number) => number): () => Promise<Acknowledged> {
  const { account, poll, election, roll, shops } = chaos;
  let going = true;
  const done: Acknowledged = { votes: new Map(), elections: [], added: [], mailed: [], paid: new Set() };
  const base = (id: string): string => `/public/voting-events/${id}/ballot`;
  const page = (turn: number, key: string = account.vote): Client => new Client(chaos, key, turn);
  const choose = ({ positions: [position] }: TestEvent) => {
    const candidateId = position?.candidates[dice(position.candidates.length)] ?? '';
    return { candidateId, votes: [{ positionId: position?.id, candidateId }] };
  };

  /** One thing after the other; what was refused is amiss, and not gone on with. */
  async function whileGoing(work: () => Promise<unknown>): Promise<void> {
    while (going)
      await work().catch((fault: unknown) => {
        if (!(fault instanceof Refused)) throw fault;
      });
  }

  async function vote(client: Client, event: TestEvent, voter: object): Promise<void> {
    const { candidateId, votes } = choose(event);
    const { confirmationCode } = await client.must(201, 'POST', `${base(event.id)}/cast`, { ...voter, votes });
    await client.must(200, 'POST', `${base(event.id)}/confirm`, { confirmationCode });
    done.votes.set(candidateId, (done.votes.get(candidateId) ?? 0) + 1);
  }

  const votePoll = (turn: number) => whileGoing(() => vote(page(turn), poll, { visitorId: visitor() }));

  const voteElection = (turn: number) =>
    whileGoing(async () => {
      const member = election.members.pop();
      if (member === undefined) return delay(BACK_AGAIN_MS);
      await vote(page(turn), election, member);
      if (dice(10) > 0) return;
      // A member who has voted is refused for good.
      const again = await page(turn).send('POST', `${base(election.id)}/cast`, { ...member, ...choose(election) });
      if (again.status < 400) chaos.amiss.push(`a second ballot of ${member.email} was taken`);
    });

  async function payOnce(client: Client, shop: Shop): Promise<void> {
    const payer = { email: 'payer@mail.example', returnUrl: RETURN_URL, visitorId: visitor() };
    const { votes } = choose(shop);
    const begun = await client.send('POST', `${base(shop.id)}/cast`, { ...payer, votes });
    // A provider that fails sells nothing, and no money has moved.
    if (begun.status !== 402) {
      if (begun.status < 500) chaos.amiss.push(`a first call of a payment: ${begun.status} ${begun.reason}`);
      return;
    }
    const { paymentAttemptId, provider_a, provider_b } = begun.data;
    await decide((provider_a ?? provider_b).checkoutUrl, 'pay');
    if (dice(5) === 0) return;
    let second = await client.send('POST', `${base(shop.id)}/cast`, { paymentAttemptId });
    for (const until = performance.now() + SETTLES_MS; second.status === 402 && performance.now() < until; ) {
      await delay(BACK_AGAIN_MS);
      second = await client.send('POST', `${base(shop.id)}/cast`, { paymentAttemptId });
    }
    if (second.status !== 201)
      return void chaos.amiss.push(`a ballot that was paid for: ${second.status} ${second.reason}`);
    if (dice(5) === 0) return;
    const { confirmationCode } = second.data;
    await client.must(200, 'POST', `${base(shop.id)}/confirm`, { confirmationCode });
    done.paid.add(paymentAttemptId);
  }

  const pay = (turn: number) =>
    whileGoing(async () => {
      const shop = shops[turn % shops.length];
      if (shop !== undefined) await payOnce(page(turn, shop.account.vote), shop);
      await delay(300);
    });

  const newMembers = (count: number) =>
    Array.from({ length: count }, () => ({ name: 'Member', email: `${randomUUID()}@club.example` }));

  async function addVoters(client: Client, { id }: Pick<TestEvent, 'id'>, count: number) {
    const voters = newMembers(count);
    const rows = await client.must(201, 'POST', `/voting-events/${id}/voters/batch`, { voters });
    return rows as { id: string; email: string }[];
  }

  const organize = () =>
    whileGoing(async () => {
      const client = page(0, account.write);
      const rows = await addVoters(client, roll, 20);
      done.added.push(...rows.map(({ email }) => email));
      const [row] = rows;
      await client.must(202, 'POST', `/voting-events/${roll.id}/voters/${row?.id}/voter-key`);
      done.mailed.push(row?.email ?? '');
      await delay(1_000);
    });

  async function keyOf(email: string): Promise<string> {
    const find = () => chaos.mails.taken.find(({ to }) => to === email)?.voterKey;
    return eventually(find, SETTLES_MS).catch(() => {
      chaos.amiss.push(`no key came to ${email}`);
      throw new Refused();
    });
  }

  /** One election after the other, from its making to its close: each has a key of its own. */
  const holdElections = () =>
    whileGoing(async () => {
      const client = page(1, account.write);
      const { id, code } = await client.must(201, 'POST', '/voting-events', { title: 'Of a moment', type: 'election' });
      const at = `/voting-events/${id}`;
      const plan = { title: 'Chair', votingMethod: 'plurality' };
      const { id: positionId } = await client.must(201, 'POST', `${at}/positions`, plan);
      const candidates: string[] = [];
      for (const name of ['Ada', 'Bea']) {
        const { id: candidate } = await client.must(201, 'POST', `${at}/candidates`, {
          name,
          positionIds: [positionId],
        });
        candidates.push(candidate);
      }
      const event: TestEvent = { id, code, positions: [{ id: positionId, candidates }] };
      const rows = await addVoters(client, event, MEMBERS);
      done.added.push(...rows.map(({ email }) => email));
      done.elections.push(event);
      await client.must(200, 'PATCH', at, { status: 'open' });
      for (const { id: voter } of rows) await client.must(202, 'POST', `${at}/voters/${voter}/voter-key`);
      for (const { email } of rows) await vote(page(1), event, { email, voterKey: await keyOf(email) });
      await client.must(200, 'PATCH', at, { status: 'closed' });
    });

  const turns = Array.from({ length: BALLOT_VOTERS }, (_, turn) => turn);
  const payers = Array.from({ length: PAYERS }, (_, turn) => pay(turn));
  const organizers = [organize(), holdElections()];
  const voters = [...turns.map(votePoll), ...turns.slice(2).map(voteElection)];
  const people = Promise.all([...voters, ...payers, ...organizers]);
  return async () => {
    going = false;
    await people;
    return done;
  };
}
