import { randomBytes } from 'node:crypto';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import { demand } from './answers.ts';
import { CLOSED, moveEnd } from './move-end.ts';
import { eventually, type TestAccount, type TestAnswer, type TestService, untilTrue } from './test-service.ts';

export { demand, fieldOf, issuesOf, refusalOf } from './answers.ts';

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

export const PLURALITY: readonly PositionPlan[] = [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }];

export const visitor = (): string => `vi_${randomBytes(16).toString('hex')}`;

/** Rows of so many voters, each under its number. */
export const people = (count: number, domain = 'club.example', from = 0) =>
  Array.from({ length: count }, (_, index) => ({
    name: `Voter ${index + from}`,
    email: `voter-${index + from}@${domain}`,
  }));

/** A vote for a candidate of the first position. */
export const votesFor = ({ positions: [position] }: Pick<TestEvent, 'positions'>, candidate = 0) => [
  { positionId: position?.id, candidateId: position?.candidates[candidate] },
];

/**
 * Creates an event with its positions and candidates, and opens it unless told otherwise.
 * @param prepare what has to happen to the event before it gets its positions
 */
export async function createTestEvent(
  service: TestService,
  account: TestAccount,
  event: Readonly<Record<string, unknown>> = {},
  plans: readonly PositionPlan[] = PLURALITY,
  open = true,
  prepare: (id: string) => Promise<void> = async () => undefined,
): Promise<TestEvent> {
  const key = { key: account.write };
  // An end that has passed is set at the end: an event that is over takes no positions.
  // So is a start that has passed: it would find the event unready, which is then a draft again.
  const { endsAt = null, startsAt = null, ...others } = event;
  const isBegun = typeof startsAt === 'number' && startsAt <= Date.now();
  const settings = { ...others, ...(startsAt === null || isBegun ? {} : { startsAt }) };
  const { id, code } = demand(
    await service.call('POST', '/voting-events', { title: 'An event', type: 'poll', ...settings }, key),
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
  const isOver = typeof endsAt === 'number' && endsAt <= Date.now();
  const changes = {
    ...(isBegun ? { startsAt } : {}),
    ...(endsAt === null || isOver ? {} : { endsAt }),
    ...(open ? { status: 'open' } : {}),
  };
  if (Object.keys(changes).length > 0) demand(await service.call('PATCH', `/voting-events/${id}`, changes, key), 200);
  if (isOver) {
    // As if the clock had passed it: nobody sets an end of an open event that lies behind.
    await moveEnd(service.deps, id, `ends_at = ${endsAt}`);
    service.deps.events.forget(id);
  }
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

/** Casts and confirms ballots for the first two candidates in turn, and moves them into the log; their codes. */
export async function votePolls(
  service: TestService,
  account: TestAccount,
  event: TestEvent,
  ballots: number,
): Promise<string[]> {
  const codes: string[] = [];
  for (let index = 0; index < ballots; index += 1)
    codes.push((await votePoll(service, account, event, votesFor(event, index % 2))).confirmationCode);
  await sealBallots(service, event.id);
  return codes;
}

/** Tends the log of an event, as the recurring job does: a turn that the job has at the same moment is waited for. */
export const tendLog = async (...order: Parameters<typeof sequenceLog>): Promise<void> =>
  untilTrue(() => sequenceLog(...order));

/** Moves waiting ballots into the log now, if at least so many wait, as the recurring job does. */
export async function sealBallots(service: TestService, eventId: string, least = 1): Promise<void> {
  const seal = sealDeps(service.deps);
  await eventually(async () => {
    await sequenceLog(seal, eventId, least);
    // A job that was at the same log has left nothing to this one: then it is tried again, until the job has committed.
    const rows = await service.query<{ waiting: string; opened: boolean }>(
      `SELECT count(*) AS waiting, EXISTS (SELECT 1 FROM ballot_logs WHERE voting_event_id = $1) AS opened
       FROM ballot_queue WHERE voting_event_id = $1`,
      [eventId],
    );
    return rows[0]?.opened === true && Number(rows[0].waiting) < least ? true : undefined;
  });
}

/** Lets an event have closed so long ago that no ballot can come any more, and finishes its log. */
export async function finishEvent(service: TestService, eventId: string): Promise<void> {
  const { $client } = service.deps.db;
  await moveEnd(service.deps, eventId, CLOSED);
  const seal = sealDeps(service.deps);
  await eventually(async () => {
    await sequenceLog(seal, eventId, 1);
    const { rows } = await $client.query(
      "SELECT 1 FROM ballot_logs l JOIN voting_events e ON e.id = l.voting_event_id WHERE e.id = $1 AND l.size = l.closed_size AND (e.type = 'poll' OR l.roll_scattered_at IS NOT NULL)",
      [eventId],
    );
    return rows.length > 0 ? true : undefined;
  });
}
