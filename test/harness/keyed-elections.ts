import { readdirSync } from 'node:fs';
import { createTestEvent, demand, type TestEvent } from './elections.ts';
import type { TestAccount, TestAnswer, TestService } from './test-service.ts';
import { giveVoterKey } from './voter-keys.ts';

/** An election with its voters, for tests of what its ballots wait under. */
export interface KeyedElection extends TestEvent {
  readonly account: TestAccount;
  readonly voters: readonly { readonly id: string; readonly email: string; readonly voterKey: string }[];
}

const PLAN = [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }];

/** @param weights of its voters, one each @param settings `status: 'open'` unless said otherwise */
export async function createKeyedElection(
  service: TestService,
  account: TestAccount,
  weights: readonly number[],
  open = true,
  settings: object = {},
): Promise<KeyedElection> {
  const event = await createTestEvent(service, account, { type: 'election', ...settings }, PLAN, false);
  const voters = [];
  for (const [index, weight] of weights.entries()) {
    const email = `v${index}-${event.id.slice(4)}@voters.example`;
    const body = { name: `Voter ${index}`, email, weight };
    const path = `/voting-events/${event.id}/voters`;
    const { id } = demand(await service.call('POST', path, body, { key: account.write }), 201);
    voters.push({ id, email, voterKey: await giveVoterKey(service, event.id, id) });
  }
  const election = { ...event, account, voters };
  if (open) demand(await setStatus(service, election, 'open'), 200);
  return election;
}

export const setStatus = (service: TestService, { id, account }: KeyedElection, status: string): Promise<TestAnswer> =>
  service.call('PATCH', `/voting-events/${id}`, { status }, { key: account.write });

/** @param idempotencyKey none unless given */
export function cast(
  service: TestService,
  { id, account, positions, voters }: KeyedElection,
  voter: number,
  idempotencyKey?: string,
): Promise<TestAnswer> {
  const [position] = positions;
  const { email, voterKey } = voters[voter] ?? { email: '', voterKey: '' };
  const votes = [{ positionId: position?.id, candidateId: position?.candidates[voter % 2] }];
  return service.call(...(['POST', `/public/voting-events/${id}/ballot/cast`, { email, voterKey, votes }] as const), {
    key: account.vote,
    headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
  });
}

export function confirm(
  service: TestService,
  { id, account }: KeyedElection,
  confirmationCode: string,
  idempotencyKey?: string,
): Promise<TestAnswer> {
  return service.call(...(['POST', `/public/voting-events/${id}/ballot/confirm`, { confirmationCode }] as const), {
    key: account.vote,
    headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
  });
}

/** Casts and confirms the ballot of each of some voters; returns their codes. */
export async function voteWith(
  service: TestService,
  election: KeyedElection,
  voters: readonly number[],
): Promise<string[]> {
  const codes: string[] = [];
  for (const voter of voters) {
    const { confirmationCode } = demand(await cast(service, election, voter), 201);
    demand(await confirm(service, election, confirmationCode), 200);
    codes.push(confirmationCode);
  }
  return codes;
}

/** The files of keys of an event in a folder. */
export const keyFiles = (folder: string, eventId: string): string[] =>
  readdirSync(folder).filter((name) => name.includes(eventId));
