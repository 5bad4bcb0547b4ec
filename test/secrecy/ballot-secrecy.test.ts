import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeTagOf } from '#src/ballots/confirmation-code.ts';
import { generateVoterKey, hashVoterKey } from '#src/voters/voter-key.ts';
import { createTestEvent, demand, finishEvent, sealBallots, type TestEvent } from '#test/harness/elections.ts';
import { createTestAccount, startTestService, type TestAccount, type TestService } from '#test/harness/test-service.ts';
import { type AttackReport, attack, type DumpedRow, dumpDatabase, type KnownVoter } from './attacker.ts';

const VOTERS = 1_000;
/** Ballots that still wait in the queue when the first dump is taken. */
const WAITING = 20;
/** By pairing two orders that have nothing to do with each other, one of a thousand is right on average; ten are in one case of 10^7. */
const RIGHT_BY_CHANCE = 10;
/** Five standard deviations of the rank correlation of two such orders. */
const CORRELATION_BY_CHANCE = 5 / Math.sqrt(VOTERS - 1);

let service: TestService;
let account: TestAccount;
let event: TestEvent;
const known: KnownVoter[] = [];
let whileOpen: DumpedRow[];
let afterwards: DumpedRow[];

interface Voter {
  readonly id: string;
  readonly email: string;
  readonly voterKey: string;
}

/** Voters with a key each, as if it had come by mail. */
async function createVoters(): Promise<Voter[]> {
  const voters: Voter[] = [];
  for (let batch = 0; batch < VOTERS / 100; batch += 1) {
    const rows = Array.from({ length: 100 }, (_, at) => ({
      name: `Voter ${at}`,
      email: `v${batch}-${at}@mail.example`,
    }));
    const path = `/voting-events/${event.id}/voters/batch`;
    demand(await service.call('POST', path, { voters: rows }, { key: account.write }), 201);
  }
  const { $client } = service.deps.db;
  const { rows } = await $client.query<{ id: string; email: string }>(
    'SELECT id, email FROM voters WHERE voting_event_id = $1',
    [event.id],
  );
  for (const { id, email } of rows) voters.push({ id, email, voterKey: generateVoterKey() });
  await $client.query(
    `INSERT INTO voter_keys (voting_event_id, voter_id, key_hash, created_at)
     SELECT $1, id, hash, now_ms() FROM unnest($2::text[], $3::bytea[]) AS key(id, hash)`,
    [
      event.id,
      voters.map(({ id }) => id),
      voters.map(({ voterKey }) => hashVoterKey(service.deps.secrets, event.id, voterKey)),
    ],
  );
  for (let last = voters.length - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    [voters[last], voters[other]] = [voters[other] as Voter, voters[last] as Voter];
  }
  return voters;
}

/** One after another, which is the easiest case for whoever looks at the order; idempotent, as a careful server asks. */
async function vote(voter: Voter, number: number): Promise<void> {
  const base = `/public/voting-events/${event.id}/ballot`;
  const key = account.vote;
  const [position] = event.positions;
  const votes = [{ positionId: position?.id, candidateId: position?.candidates[randomInt(3)] }];
  const body = { email: voter.email, voterKey: voter.voterKey, votes };
  const cast = await service.call('POST', `${base}/cast`, body, {
    key,
    headers: { 'Idempotency-Key': `cast-${number}` },
  });
  const { confirmationCode } = demand(cast, 201);
  const headers = { 'Idempotency-Key': `confirm-${number}` };
  demand(await service.call('POST', `${base}/confirm`, { confirmationCode }, { key, headers }), 200);
  known.push({ names: [voter.id, voter.email], ballot: codeTagOf(confirmationCode).toString('hex') });
}

beforeAll(async () => {
  service = await startTestService();
  account = await createTestAccount(service);
  event = await createTestEvent(service, account, { type: 'election' }, [
    { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cy'] },
  ]);
  const endpoint = { url: 'https://receiver.example/hook', eventTypes: ['ballot.confirmed', 'log.checkpoint'] };
  demand(await service.call('POST', '/webhook-endpoints', endpoint, { key: account.write }), 201);
  const voters = await createVoters();
  for (const [number, voter] of voters.entries()) {
    if (number === VOTERS - WAITING) await sealBallots(service, event.id);
    await vote(voter, number);
  }
  whileOpen = await dumpDatabase(service.deps.db.$client);
  await finishEvent(service, event.id);
  afterwards = await dumpDatabase(service.deps.db.$client);
}, 300_000);
afterAll(() => service.stop());

const best = ({ attacks }: AttackReport) => attacks.toSorted((a, b) => b.right - a.right)[0];
const strongest = ({ attacks }: AttackReport) =>
  attacks.toSorted((a, b) => Math.abs(b.correlation) - Math.abs(a.correlation))[0];

describe(`an attacker who has the whole database of an election with ${VOTERS} voters`, () => {
  test('links voters and ballots no better than chance: by transactions, values, places, times, IDs, and what stood beside them', () => {
    const report = attack(afterwards, known);
    console.info(
      `${report.attacks.length} ways to pair ${VOTERS} voters with ballots: at best ${best(report)?.right} right`,
    );
    expect(report.joined).toEqual([]);
    expect(report.attacks.length).toBeGreaterThan(50);
    expect(best(report)?.right).toBeLessThan(RIGHT_BY_CHANCE);
    expect(Math.abs(strongest(report)?.correlation ?? 1), strongest(report)?.by).toBeLessThan(CORRELATION_BY_CHANCE);
  });

  test('does link all of them, by the same means, in the naive storage: one transaction writes voter and ballot', async () => {
    const { $client } = service.deps.db;
    await $client.query(
      'CREATE TABLE naive_voters (voter text PRIMARY KEY); CREATE TABLE naive_ballots (tag bytea, choice text)',
    );
    for (const { names, ballot } of known) {
      await $client.query(
        "WITH voter AS (INSERT INTO naive_voters VALUES ($1)) INSERT INTO naive_ballots VALUES (decode($2, 'hex'), 'Ada')",
        [names[0], ballot],
      );
    }
    const naive = (await dumpDatabase($client)).filter(({ table }) => table.startsWith('public.naive_'));
    const report = attack(naive, known);
    expect(report.joined).toEqual([`public.naive_voters / public.naive_ballots: transaction (${VOTERS})`]);
    expect(best(report)?.right).toBe(VOTERS);
  });

  test('finds no shared transaction while people vote, and cannot read the ballots that wait', () => {
    const report = attack(whileOpen, known);
    expect(report.joined).toEqual([]);
    const waiting = whileOpen.filter(({ table }) => table === 'public.ballot_queue');
    expect(waiting.length).toBeGreaterThanOrEqual(1);
    // The first byte says that they are encrypted.
    expect(new Set(waiting.map(({ columns }) => String(columns['entries']).slice(0, 4)))).toEqual(new Set(['\\x02']));
  });

  test('sees while people vote in which order they came, and so a ballot’s batch: this is why the roll is written anew', () => {
    expect(strongest(attack(whileOpen, known))?.correlation).toBeGreaterThan(0.95);
  });

  test('finds in no other table, idempotency, jobs, webhooks and audit included, a row that names both a voter and a ballot', () => {
    const tags = new Set(known.map(({ ballot }) => ballot));
    const names = new Set(known.flatMap((one) => one.names));
    for (const dump of [whileOpen, afterwards]) {
      const both = dump.filter(({ columns }) => {
        const text = JSON.stringify(columns);
        const words = new Set(text.split(/[^\w@.-]+/));
        const namesVoter = [...words].some((word) => names.has(word));
        return namesVoter && [...words].some((word) => tags.has(word.replace(/^x/, '')));
      });
      expect(both.map(({ table }) => table)).toEqual([]);
    }
  });
});
