import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { visitor } from '#test/harness/elections.ts';
import { decide, RETURN_URL } from '#test/harness/payments.ts';
import type { Shop } from '#test/money/buyers.ts';
import { Client } from './clients.ts';
import type { Chaos } from './world.ts';

/** What was acknowledged to people: it must be there in the end, once. */
export interface Acknowledged {
  /** Confirmed votes by candidate, of the poll and of the election. */
  readonly votes: Map<string, number>;
  /** Addresses of voters who were added. */
  readonly added: string[];
  /** Addresses to which a key was promised. */
  readonly mailed: string[];
  /** Payments whose ballot was confirmed. */
  readonly paid: Set<string>;
}

const BALLOT_VOTERS = 4;
const PAYERS = 2;
/** The pause of a payer whose payment the service does not know of yet. */
const BACK_AGAIN_MS = 500;

/** People who vote, pay and organize until they are asked to stop. @returns what stops them, once each has its answers */
export function setGoing(chaos: Chaos, dice: (below: number) => number): () => Promise<Acknowledged> {
  const { account, poll, election, roll, shops } = chaos;
  let going = true;
  const done: Acknowledged = { votes: new Map(), added: [], mailed: [], paid: new Set() };
  const base = (id: string): string => `/public/voting-events/${id}/ballot`;
  const page = (turn: number, key: string = account.vote): Client => new Client(chaos, key, turn);
  const choose = ({ positions: [position] }: typeof poll) => {
    const candidateId = position?.candidates[dice(position.candidates.length)] ?? '';
    return { candidateId, votes: [{ positionId: position?.id, candidateId }] };
  };

  async function vote(client: Client, event: typeof poll, voter: object): Promise<void> {
    const { candidateId, votes } = choose(event);
    const cast = await client.must(201, 'POST', `${base(event.id)}/cast`, { ...voter, votes });
    if (cast === undefined) return;
    const { confirmationCode } = cast;
    if ((await client.must(200, 'POST', `${base(event.id)}/confirm`, { confirmationCode })) === undefined) return;
    done.votes.set(candidateId, (done.votes.get(candidateId) ?? 0) + 1);
  }

  async function votePoll(turn: number): Promise<void> {
    while (going) await vote(page(turn), poll, { visitorId: visitor() });
  }

  async function voteElection(turn: number): Promise<void> {
    while (going) {
      const member = election.members.pop();
      if (member === undefined) return;
      await vote(page(turn), election, member);
      if (dice(10) > 0) continue;
      // A member who has voted is refused for good.
      const again = await page(turn).send('POST', `${base(election.id)}/cast`, { ...member, ...choose(election) });
      if (again.status < 400) chaos.amiss.push(`a second ballot of ${member.email} was taken`);
    }
  }

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
    for (; second.status === 402; second = await client.send('POST', `${base(shop.id)}/cast`, { paymentAttemptId }))
      await delay(BACK_AGAIN_MS);
    if (second.status !== 201)
      return void chaos.amiss.push(`a ballot that was paid for: ${second.status} ${second.reason}`);
    if (dice(5) === 0) return;
    const { confirmationCode } = second.data;
    if ((await client.must(200, 'POST', `${base(shop.id)}/confirm`, { confirmationCode })) !== undefined)
      done.paid.add(paymentAttemptId);
  }

  async function pay(turn: number): Promise<void> {
    const shop = shops[turn % shops.length];
    while (going && shop !== undefined) {
      await payOnce(page(turn, shop.account.vote), shop);
      await delay(300);
    }
  }

  async function organize(): Promise<void> {
    const client = new Client(chaos, account.write, 0);
    while (going) {
      const emails = Array.from({ length: 20 }, () => `${randomUUID()}@club.example`);
      const voters = emails.map((email) => ({ name: 'Member', email }));
      const rows = await client.must(201, 'POST', `/voting-events/${roll.id}/voters/batch`, { voters });
      if (rows === undefined) continue;
      done.added.push(...emails);
      const [{ id, email }] = rows;
      const path = `/voting-events/${roll.id}/voters/${id}/voter-key`;
      if ((await client.must(202, 'POST', path)) !== undefined) done.mailed.push(email);
      await delay(1_000);
    }
  }

  const turns = Array.from({ length: BALLOT_VOTERS }, (_, turn) => turn);
  const payers = Array.from({ length: PAYERS }, (_, turn) => pay(turn));
  const people = Promise.all([...turns.map(votePoll), ...turns.slice(2).map(voteElection), ...payers, organize()]);
  return async () => {
    going = false;
    await people;
    return done;
  };
}
