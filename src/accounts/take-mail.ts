import { sql } from 'drizzle-orm';
import type { Database, Executor } from '#src/database/client.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import type { Deps } from '#src/deps.ts';
import { enqueue, type JobRun, type Queued } from '#src/jobs/queue.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '#src/platform/clock.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { PlanName } from './plans.ts';

/** Mails per account and day, by plan (completions 10.2). */
export const MAILS_A_DAY: Readonly<Record<PlanName, number>> = { free: 500, pro: 200_000, enterprise: 20_000_000 };
/** Mails of any kind per hour to one voter (completions 4.3). A voter is one address in one event. */
export const MAILS_AN_HOUR = 5;
const PER_DAY = 20;
/** Mails to one address from one account, over all its events: a meeting may vote in several events on one day. */
const PER_HOUR_FROM_ACCOUNT = 30;
const PER_DAY_FROM_ACCOUNT = 100;
/** Mails per hour to one address from all accounts together; twice the limit of one account, so that no account alone can exhaust it. */
const PER_HOUR_FROM_ALL = 60;

interface CountedMail {
  readonly to: string;
  /** The owner of the event that the mail is about. */
  readonly accountId: string;
  readonly votingEventId: string;
  /** Number of the rehearsal, whose mails are counted separately (completions 10.5); null outside of a rehearsal. */
  readonly rehearsal?: number | null;
}

export interface MailLimit {
  /** When this limit allows the mail, Unix ms; another limit may still refuse it. */
  readonly until: number;
  /** Whether this is the plan's daily limit, which stops all mails of the account until `until`. */
  readonly isOfPlan: boolean;
}

interface Quota {
  readonly name: Buffer;
  readonly windowMs: number;
  readonly max: number;
}

function quotasOf(
  secrets: Secrets,
  { to, accountId, votingEventId, rehearsal = null }: CountedMail,
  plan: PlanName,
): Quota[] {
  const name = (...words: string[]): Buffer =>
    secrets.mac('identity', JSON.stringify(['mail', ...words])).subarray(0, 16);
  const address = emailKey(to);
  const voter = name('voter', accountId, votingEventId, address, ...(rehearsal === null ? [] : [String(rehearsal)]));
  return [
    { name: name('account', accountId), windowMs: DAY_MS, max: MAILS_A_DAY[plan] },
    { name: voter, windowMs: HOUR_MS, max: MAILS_AN_HOUR },
    { name: voter, windowMs: DAY_MS, max: PER_DAY },
    { name: name('address', accountId, address), windowMs: HOUR_MS, max: PER_HOUR_FROM_ACCOUNT },
    { name: name('address', accountId, address), windowMs: DAY_MS, max: PER_DAY_FROM_ACCOUNT },
    { name: name('address', address), windowMs: HOUR_MS, max: PER_HOUR_FROM_ALL },
  ];
}

/** Counts a mail against a limit. @returns the end of the window (Unix ms) if the limit is used up; otherwise undefined */
async function takeOne(executor: Executor, { name, windowMs, max }: Quota): Promise<number | undefined> {
  const { rows } = await executor.execute(sql`
    INSERT INTO mail_quotas AS q (name, window_ms, began_at, mails) VALUES (${name}, ${windowMs}, now_ms(), 1)
    ON CONFLICT (name, window_ms) DO UPDATE SET
      mails = CASE WHEN q.began_at > now_ms() - ${windowMs}::bigint THEN q.mails + 1 ELSE 1 END,
      began_at = CASE WHEN q.began_at > now_ms() - ${windowMs}::bigint THEN q.began_at ELSE now_ms() END
      WHERE q.mails < ${max} OR q.began_at <= now_ms() - ${windowMs}::bigint
    RETURNING mails`);
  if (rows.length === 1) return undefined;
  const { rows: used } = await executor.execute<{ until: string }>(
    sql`SELECT began_at + ${windowMs}::bigint AS until FROM mail_quotas WHERE name = ${name} AND window_ms = ${windowMs}`,
  );
  return Number(used[0]?.until ?? 0);
}

/** Counts a mail against its limits in turn; returns the first exhausted limit, if any. The counts stay if the mail is not sent. */
export async function takeMail(db: Database, secrets: Secrets, mail: CountedMail): Promise<MailLimit | undefined> {
  const { rows } = await db.execute<{ plan: PlanName }>(sql`SELECT plan FROM accounts WHERE id = ${mail.accountId}`);
  const plan = rows[0]?.plan;
  if (plan === undefined) return { until: 0, isOfPlan: false };
  const [ofPlan, ...others] = quotasOf(secrets, mail, plan);
  for (const quota of [ofPlan, ...others]) {
    const until = quota === undefined ? undefined : await takeOne(db, quota);
    if (until !== undefined) return { until, isOfPlan: quota === ofPlan };
  }
  return undefined;
}

interface MailedEvent {
  readonly id: string;
  readonly accountId: string;
  readonly rehearsalSince: number | null;
  readonly rehearsalNumber: number;
}

type TakeDeps = Pick<Deps, 'db' | 'secrets'>;

/** Whether limits allow a job to send a mail about an event. Counts only the job's first attempt; later attempts are allowed. */
export const takeMailOnce = async (
  deps: TakeDeps,
  run: Pick<JobRun, 'attempt'>,
  event: MailedEvent,
  to: string,
): Promise<boolean> => (await findMailLimit(deps, run, event, to)) === undefined;

/**
 * As `takeMailOnce`, for a mail that must not be lost: its job comes again once the limit allows the mail.
 * @param again the job of the mail, its payload, and the key under which it was enqueued: the job that runs is then not tried again
 */
export async function takeMailOrWait<Payload>(
  deps: TakeDeps,
  run: Pick<JobRun, 'attempt'>,
  event: MailedEvent,
  to: string,
  [job, payload, key]: readonly [Queued<Payload>, Payload, string],
): Promise<boolean> {
  const limit = await findMailLimit(deps, run, event, to);
  if (limit !== undefined) await enqueue(deps.db, job, payload, { runAtMs: limit.until + SECOND_MS, key });
  return limit === undefined;
}

export async function findMailLimit(
  { db, secrets }: TakeDeps,
  run: Pick<JobRun, 'attempt'>,
  event: MailedEvent,
  to: string,
): Promise<MailLimit | undefined> {
  if (run.attempt > 1) return undefined;
  const rehearsal = event.rehearsalSince === null ? null : event.rehearsalNumber;
  return takeMail(db, secrets, { to, accountId: event.accountId, votingEventId: event.id, rehearsal });
}

export async function forgetMailQuotas(db: Database): Promise<void> {
  await deleteInChunks(db, 'mail_quotas', sql`began_at <= now_ms() - window_ms`);
}
