import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { codeTagOf } from '#src/ballots/waiting-ballot.ts';
import { createLog } from '#src/platform/log.ts';
import { sealDeps } from '#src/work.ts';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, type TestEvent } from '#test/harness/elections.ts';
import { holdLog } from '#test/harness/hold-log.ts';
import { recipientOf, voterKeyIn } from '#test/harness/mails.ts';
import { eventually, patiently, useAccount } from '#test/harness/test-service.ts';
import { type AttackReport, attack, type DumpedRow, dumpDatabase, type KnownVoter, sharedValues } from './attacker.ts';

const VOTERS = 1_000;
/** Who asks for a key together, and then votes. */
const GROUP = 50;
/** From here on many vote at once, so that their ballots are written together, and without idempotency keys. */
const TOGETHER_FROM = 800;
/** Ballots that still wait in the queue when the first dump is taken. */
const WAITING = 20;
/** By pairing two orders that have nothing to do with each other, one is right on average; ten are in one case of 10^7. */
const RIGHT_BY_CHANCE = 10;
/** Six standard deviations of the rank correlation of two such orders. */
const CORRELATION_BY_CHANCE = 6 / Math.sqrt(VOTERS - 1);

const logLines: string[] = [];
const { service, account } = await useAccount({
  log: createLog('debug', { write: (line) => void logLines.push(line) }),
});
let event: TestEvent;
const known: KnownVoter[] = [];
const secretTexts: string[] = [];
/** With ballots in the queue; once they were sealed and the recurring job had its turn; after the close. */
let waiting: DumpedRow[];
let whileOpen: DumpedRow[];
let afterwards: DumpedRow[];

interface Voter {
  readonly id: string;
  readonly email: string;
}

async function createVoters(): Promise<Voter[]> {
  const voters: Voter[] = [];
  for (let batch = 0; batch < VOTERS / 100; batch += 1) {
    const rows = Array.from({ length: 100 }, (_, at) => ({
      name: `Voter ${at}`,
      email: `v${batch}-${at}@mail.example`,
    }));
    const path = `/voting-events/${event.id}/voters/batch`;
    voters.push(...(await account.make(path, { voters: rows })));
  }
  for (let last = voters.length - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    [voters[last], voters[other]] = [voters[other] as Voter, voters[last] as Voter];
  }
  return voters;
}

const publicPath = (path: string): string => `/public/voting-events/${event.id}/${path}`;

/** Has keys mailed, as voters do right before they vote. */
async function requestKeys(voters: readonly Voter[]): Promise<Map<string, string>> {
  const before = service.mails().length;
  for (const { email } of voters) {
    demand(await service.call('POST', publicPath('voter-key/request'), { email }, { key: account.vote }), 200);
  }
  return eventually(() => {
    const mails = service.mails(before);
    const keys = new Map(mails.map((mail): [string, string] => [recipientOf(mail), voterKeyIn(mail) ?? '']));
    return voters.every(({ email }) => keys.has(email)) ? keys : undefined;
  });
}

/** Checks, casts and confirms; a careful server does so with idempotency keys, which often name the voter. */
async function vote({ id, email }: Voter, voterKey: string, careful: boolean): Promise<void> {
  const headers = (step: string) => (careful ? { 'Idempotency-Key': `${step}:${email}` } : {});
  const call = (path: string, body: unknown, step: string) =>
    patiently(() => service.call('POST', publicPath(path), body, { key: account.vote, headers: headers(step) }));
  const [position] = event.positions;
  const votes = [{ positionId: position?.id, candidateId: position?.candidates[randomInt(3)] }];
  expect(demand(await call('voter/check', { email, voterKey }, 'check'), 200)).toEqual({ eligible: true });
  const { confirmationCode } = demand(await call('ballot/cast', { email, voterKey, votes }, 'cast'), 201);
  demand(await call('ballot/confirm', { confirmationCode }, 'confirm'), 200);
  known.push({ names: [id, email], ballot: codeTagOf(confirmationCode).toString('hex') });
  secretTexts.push(confirmationCode, voterKey);
}

async function voteAll(voters: readonly Voter[]): Promise<void> {
  for (let first = 0; first < voters.length; first += GROUP) {
    const group = voters.slice(first, first + GROUP);
    const keys = await requestKeys(group);
    const keyOf = ({ email }: Voter): string => keys.get(email) ?? '';
    if (first >= TOGETHER_FROM) await Promise.all(group.map((voter) => vote(voter, keyOf(voter), false)));
    // One after another, which is the easiest case for whoever looks at the order.
    else for (const voter of group) await vote(voter, keyOf(voter), true);
  }
}

/** Votes while nothing is moved into the log, and dumps the database in that state. */
async function dumpWithQueue(voters: readonly Voter[]): Promise<DumpedRow[]> {
  const release = await holdLog(service.deps, event.id);
  try {
    await voteAll(voters);
    return await dumpDatabase(service.deps.db.$client);
  } finally {
    await release();
  }
}

beforeAll(async () => {
  event = await account.event({ type: 'election', ballot: { opening: 'observer' } }, [
    { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cy'] },
  ]);
  const endpoint = { url: 'https://receiver.example/hook', eventTypes: ['ballot.confirmed', 'log.checkpoint'] };
  await account.make('/webhook-endpoints', endpoint);
  const voters = await createVoters();
  await voteAll(voters.slice(0, -WAITING));
  await sealBallots(service, event.id);
  waiting = await dumpWithQueue(voters.slice(-WAITING));
  await sealBallots(service, event.id);
  await sequenceLogs(sealDeps(service.deps));
  whileOpen = await dumpDatabase(service.deps.db.$client);
  await finishEvent(service, event.id);
  afterwards = await dumpDatabase(service.deps.db.$client);
});

const best = ({ attacks }: AttackReport) => attacks.toSorted((a, b) => b.right - a.right)[0];
const strongest = ({ attacks }: AttackReport) =>
  attacks.toSorted((a, b) => Math.abs(b.correlation) - Math.abs(a.correlation))[0];

function expectChance(dump: readonly DumpedRow[]): void {
  const report = attack(dump, known);
  console.info(
    `${report.attacks.length} ways to pair ${VOTERS} voters with ballots: at best ${best(report)?.right} right`,
  );
  expect(report.joined).toEqual([]);
  expect(report.attacks.length).toBeGreaterThan(50);
  expect(best(report)?.right, best(report)?.by).toBeLessThan(RIGHT_BY_CHANCE);
  expect(Math.abs(strongest(report)?.correlation ?? 1), strongest(report)?.by).toBeLessThan(CORRELATION_BY_CHANCE);
}

const ofTables = (dump: readonly DumpedRow[], ...tables: string[]): DumpedRow[] =>
  dump.filter(({ table }) => tables.includes(table));

describe(`an attacker who has the whole database of an election with ${VOTERS} voters`, () => {
  test('links voters and ballots no better than chance: by transactions, values, places, times, IDs, and what stood beside them', () => {
    expectChance(afterwards);
  });

  test('does so no better while the election is open, once what waits was sealed and the recurring job had its turn', () => {
    expectChance(whileOpen);
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

  test('finds no shared transaction while ballots wait, and cannot read them', () => {
    expect(attack(waiting, known).joined).toEqual([]);
    const queue = ofTables(waiting, 'public.ballot_queue');
    expect(queue.length).toBe(WAITING);
    // No value says whose a row of the queue is, so that `attack` does not see it: this asks for the transaction alone.
    const confirming = new Set(queue.map(({ transaction }) => transaction));
    const people = ofTables(waiting, 'public.participation', 'public.undisclosed_voters');
    expect(people.length).toBeGreaterThan(WAITING);
    expect(people.filter(({ transaction }) => confirming.has(transaction))).toEqual([]);
    // The first byte says that they are encrypted; their length does not tell what was chosen.
    const entries = queue.map(({ columns }) => String(columns['entries']));
    expect(new Set(entries.map((one) => `${one.slice(0, 4)} ${one.length}`)).size).toBe(1);
    expect(entries[0]?.slice(0, 4)).toBe('\\x03');
  });

  test('who copied the queue finds nothing of it in a later copy, the log, its openings or the list of votes', async () => {
    const queue = ofTables(waiting, 'public.ballot_queue');
    const box = ofTables(
      afterwards,
      'public.ballot_blocks unpacked',
      'public.ballot_blocks',
      'public.log_leaves',
      'public.log_checkpoints',
    );
    const observer = await createObserverKey(service, account, event.id);
    const told: DumpedRow[] = [];
    for (const [path, key] of [
      [publicPath('log/openings'), observer],
      [`/voting-events/${event.id}/votes`, account.read],
    ] as const) {
      let cursor = '';
      do {
        const { body } = await service.call('GET', `${path}?limit=200${cursor}`, undefined, { key });
        for (const columns of body.data) told.push({ table: path, place: 0, transaction: 0, columns });
        cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
      } while (cursor !== '');
    }
    expect(told.length).toBe(2 * VOTERS);
    expect(sharedValues(queue, [...box, ...told])).toEqual([]);
    // The same look finds the ballots of the openings in the box, so it would find those of the queue.
    expect(sharedValues(box, told)).toContain(`public.ballot_blocks unpacked.salt / ${publicPath('log/openings')}`);
  });

  test('finds in no other table, idempotency, jobs, webhooks and audit included, a row that names both a voter and a ballot', () => {
    const tags = new Set(known.map(({ ballot }) => ballot));
    const names = new Set(known.flatMap((one) => one.names));
    for (const dump of [waiting, whileOpen, afterwards]) {
      const both = dump.filter(({ columns }) => {
        const words = [...new Set(JSON.stringify(columns).split(/[^\w@.-]+/))];
        return words.some((word) => names.has(word)) && words.some((word) => tags.has(word.replace(/^x/, '')));
      });
      expect(both.map(({ table }) => table)).toEqual([]);
    }
  });

  test('reads in the log lines of the service neither voters nor codes nor keys', () => {
    expect(logLines.length).toBeGreaterThan(4 * VOTERS);
    const words = new Set(logLines.flatMap((line) => line.split(/[^\w@.-]+/)));
    const told = [...known.flatMap(({ names, ballot }) => [...names, ballot]), ...secretTexts];
    expect(told.filter((text) => words.has(text))).toEqual([]);
  });
});
