import { checkLog } from '#src/ballot-log/check-log.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { recount } from '#src/commands/recount.ts';
import { ApiError } from '#src/platform/errors.ts';
import { sealDeps } from '#src/work.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, type TestEvent, tendLog } from '#test/harness/elections.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import type { TestAccount, TestService } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

/** Where the ballots of an election stand when somebody writes to the database. */
export const STAGES = ['cast', 'waiting', 'sealed', 'final'] as const;
export type Stage = (typeof STAGES)[number];

/** Of eight voters six vote: four for Ada, two for Bea. */
const VOTERS = 8;
const CHOICES = [0, 0, 0, 0, 1, 1];

/** An election at a stage, and what people outside hold of it. */
export interface Election {
  readonly event: TestEvent;
  readonly observer: string;
  /** Codes of ballots that are not confirmed yet. */
  readonly codes: readonly string[];
  readonly promises: readonly string[];
  /** What an observer kept; undefined before the log has opened. */
  readonly checkpoint: string | undefined;
}

/** The service that is tampered with, and an account of it. */
export interface Target {
  readonly service: TestService;
  readonly account: TestAccount;
}

/** @param keep is called with the event's ID at the moments before the stage */
export async function holdElection(
  { service, account }: Target,
  stage: Stage,
  keep: (eventId: string) => Promise<void> = async () => undefined,
): Promise<Election> {
  const settings = { type: 'election', results: { visibility: 'live' }, ballot: { opening: 'observer' } };
  const event = await account.event(settings);
  const voters = Array.from({ length: VOTERS }, (_, place) => ({
    name: `Voter ${place}`,
    email: `v${place}@club.example`,
  }));
  const rows: { id: string; email: string }[] = await account.make(`/voting-events/${event.id}/voters/batch`, {
    voters,
  });
  await tendLog(sealDeps(service.deps), event.id, VOTERS);
  const observer = await createObserverKey(service, account, event.id);
  await keep(event.id);
  const codes = await Promise.all(
    CHOICES.map(async (choice, place) => {
      const { id = '', email = '' } = rows[place] ?? {};
      const voterKey = await giveVoterKey(service, event.id, id);
      const [position] = event.positions;
      const votes = [{ positionId: position?.id, candidateId: position?.candidates[choice] }];
      const body = { voterKey, email, votes };
      const path = `/public/voting-events/${event.id}/ballot/cast`;
      return demand(await service.call('POST', path, body, { key: account.vote }), 201).confirmationCode;
    }),
  );
  const promises: string[] = [];
  if (stage === 'waiting') await keep(event.id);
  if (stage !== 'cast')
    for (const code of codes) promises.push(demand(await confirm({ service, account }, event, code), 200).logPromise);
  if (stage === 'sealed' || stage === 'final') await keep(event.id);
  if (stage === 'sealed') await sealBallots(service, event.id);
  if (stage === 'final') await finishEvent(service, event.id);
  // Signs for the ballots that wait, as every minute does.
  else await tendLog(sealDeps(service.deps), event.id, VOTERS);
  const checkpoint = (await new LogReader(service, event.id, observer).get('checkpoint')).body;
  return { event, observer, codes: stage === 'cast' ? codes : [], promises, checkpoint };
}

const confirm = ({ account }: Target, event: TestEvent, confirmationCode: string) =>
  account.page(event, 'ballot/confirm', { confirmationCode });

/** What the organizer reads in the end, whoever else may. */
export async function readOutcome({ account }: Target, { event }: Election): Promise<unknown> {
  const path = `/voting-events/${event.id}/results`;
  const { status, body } = await account.get(path);
  if (status !== 200) return status;
  const { final, title, stats, positions } = body.data;
  const [{ title: position, candidates, winners } = { candidates: [] }] = positions;
  const counted = candidates.map((one: { name: string; weightWon: string }) => [one.name, one.weightWon]);
  return { final, title, position, counted, winners: winners?.length, ballots: stats.ballots, turnout: stats.turnout };
}

/** How a finding begins that is no fault by itself: the organizer may do the same, and everybody reads that it was done. */
export const RECORDED = 'in the log:';

/** Lets the election come to its end, and names each check that finds something wrong on the way. */
export async function findTampering(target: Target, election: Election): Promise<string[]> {
  const { service } = target;
  const { event, codes } = election;
  const found: string[] = [];
  let recorded: string | undefined;
  for (const code of codes) {
    const { status } = await confirm(target, event, code);
    if (status !== 200) found.push(`the voter is refused (${status})`);
  }
  try {
    await endElection(service, event.id);
  } catch (fault) {
    found.push(
      fault instanceof LogSetBack ? `the sequencer stops (${fault.alarm})` : `the sequencer fails (${nameOf(fault)})`,
    );
  }
  const wrong = await checkLog(service.deps, event.id).catch((fault: unknown) => nameOf(fault));
  if (wrong !== undefined) found.push(`the hourly check: ${wrong}`);
  const counted = await recount(service.deps, event.id).catch((fault: unknown) => nameOf(fault));
  if (typeof counted === 'string') found.push(`recount fails (${counted})`);
  else if (counted.refused === true)
    found.push(
      `recount: ${(counted.also ?? []).flatMap(({ check, status }) => (status === 'differs' ? [check] : [])).join(', ')}`,
    );
  for (const promise of [undefined, ...election.promises]) {
    const { verified, checks } = await verifyLog({
      read: readOverHttp(`http://127.0.0.1:${service.port}`, election.observer, { attempts: 1 }),
      event: event.id,
      ...(election.checkpoint === undefined ? {} : { since: election.checkpoint }),
      ...(promise === undefined ? {} : { promise }),
    });
    const leaves = checks.find(({ name }) => name === 'leaves')?.detail ?? '';
    if (leaves.includes('after the opening')) recorded = `${RECORDED} ${leaves}`;
    if (verified === 'no') found.push(`the verifier: ${checks.find(({ status }) => status === 'failed')?.name}`);
    if (found.length > 0) break;
  }
  return found.length > 0 || recorded === undefined ? found : [recorded];
}

async function endElection({ deps }: TestService, eventId: string): Promise<void> {
  await moveEnd(deps, eventId, 'closed_at = coalesce(closed_at, now_ms() - 16 * 60 * 1000)');
  // Ballots, then the close behind them.
  for (let turn = 0; turn < 3; turn += 1) await tendLog(sealDeps(deps), eventId, 1);
}

const nameOf = (fault: unknown): string => {
  if (fault instanceof ApiError) return String(fault.details?.['reason'] ?? fault.code);
  return fault instanceof Error ? fault.constructor.name : String(fault);
};
