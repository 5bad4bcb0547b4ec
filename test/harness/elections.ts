import { randomBytes } from 'node:crypto';
import type { TestAccount, TestAnswer, TestService } from './test-service.ts';

/** What tests build again and again: events with positions and candidates, open and ready. */
export interface TestEvent {
  readonly id: string;
  readonly code: string;
  readonly positions: readonly { readonly id: string; readonly candidates: readonly string[] }[];
}

export interface PositionPlan {
  readonly votingMethod: string;
  readonly candidates: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>>;
}

export const visitor = (): string => `vi_${randomBytes(16).toString('hex')}`;

/** The data of an answer that must have a status. */
export function demand(answer: TestAnswer, status: number): TestAnswer['body'] {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body.data;
}

/**
 * Creates an event with its positions and candidates, and opens it unless told otherwise.
 * @param prepare what has to happen to the event before it gets its positions
 */
export async function createTestEvent(
  service: TestService,
  account: TestAccount,
  event: Readonly<Record<string, unknown>>,
  plans: readonly PositionPlan[],
  open = true,
  prepare: (id: string) => Promise<void> = async () => undefined,
): Promise<TestEvent> {
  const key = { key: account.write };
  const { id, code } = demand(
    await service.call('POST', '/voting-events', { title: 'An event', type: 'poll', ...event }, key),
    201,
  );
  await prepare(id);
  const positions: { id: string; candidates: string[] }[] = [];
  for (const plan of plans) {
    const body = { title: `By ${plan.votingMethod}`, votingMethod: plan.votingMethod, ...plan.settings };
    const position = demand(await service.call('POST', `/voting-events/${id}/positions`, body, key), 201);
    const candidates: string[] = [];
    for (const [index, name] of plan.candidates.entries()) {
      const role = plan.votingMethod === 'referendum' ? { referendumRole: ['yes', 'no', 'abstain'][index] } : {};
      const row = { name, positionIds: [position.id], ...role };
      candidates.push(demand(await service.call('POST', `/voting-events/${id}/candidates`, row, key), 201).id);
    }
    positions.push({ id: position.id, candidates });
  }
  if (open) demand(await service.call('PATCH', `/voting-events/${id}`, { status: 'open' }, key), 200);
  return { id, code, positions };
}

/** Casts and confirms a poll's ballot; returns the confirmation. */
export async function votePoll(
  service: TestService,
  account: TestAccount,
  event: TestEvent,
  votes: readonly unknown[],
  visitorId = visitor(),
): Promise<TestAnswer['body']> {
  const base = `/public/voting-events/${event.id}/ballot`;
  const { confirmationCode } = demand(
    await service.call('POST', `${base}/cast`, { visitorId, votes }, { key: account.vote }),
    201,
  );
  return demand(await service.call('POST', `${base}/confirm`, { confirmationCode }, { key: account.vote }), 200);
}
