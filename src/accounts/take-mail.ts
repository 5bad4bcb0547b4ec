import { sql } from 'drizzle-orm';
import { type Database, isTrue } from '#src/database/client.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import type { Deps } from '#src/deps.ts';
import { GivenUp, isOfRun, type JobRun, PutOff } from '#src/jobs/queue.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '#src/platform/clock.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { PlanName } from './plans.ts';
import { findAccount } from './repository.ts';

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
  // Counted under each listed secret key, so that a step of a rotation goes on with the counts of the step before.
  const limit = (words: readonly string[], windowMs: number, max: number): Quota[] =>
    secrets
      .macs('identity', JSON.stringify(['mail', ...words]))
      .map((mac) => ({ name: mac.subarray(0, 16), windowMs, max }));
  const address = emailKey(to);
  const voter = ['voter', accountId, votingEventId, address, ...(rehearsal === null ? [] : [String(rehearsal)])];
  return [
    limit(['account', accountId], DAY_MS, MAILS_A_DAY[plan]),
    limit(voter, HOUR_MS, MAILS_AN_HOUR),
    limit(voter, DAY_MS, PER_DAY),
    limit(['address', accountId, address], HOUR_MS, PER_HOUR_FROM_ACCOUNT),
    limit(['address', accountId, address], DAY_MS, PER_DAY_FROM_ACCOUNT),
    limit(['address', address], HOUR_MS, PER_HOUR_FROM_ALL),
  ].flat();
}

/**
 * Counts a mail against all its limits, or against none if one limit is exhausted. The counts stay even if the mail is not sent.
 * @param run the job that sends the mail: the same statement marks the job's row as counted
 * @returns the limit that allows the mail last, or the plan's limit if that is exhausted; undefined if the mail may be sent
 */
export async function takeMail(
  db: Database,
  secrets: Secrets,
  mail: CountedMail,
  run?: Pick<JobRun, 'id'>,
): Promise<MailLimit | undefined> {
  const account = await findAccount(db, mail.accountId);
  if (account === undefined) throw new GivenUp('the account is gone');
  const quotas = quotasOf(secrets, mail, account.plan);
  const column = (name: keyof Quota) => sql.param(quotas.map((quota) => quota[name]));
  for (;;) {
    const { rows } = await db.execute<{ taken: string; until: string | null; is_of_plan: boolean | null }>(sql`
      WITH asked AS (
        SELECT * FROM unnest(${column('name')}::bytea[], ${column('windowMs')}::bigint[], ${column('max')}::bigint[])
          WITH ORDINALITY AS a (name, window_ms, most, place)
      ), exhausted AS (
        SELECT q.began_at + q.window_ms AS until, a.place <= ${secrets.count}::bigint AS is_of_plan FROM asked a JOIN mail_quotas q USING (name, window_ms)
        WHERE q.mails >= a.most AND q.began_at > now_ms() - q.window_ms ORDER BY is_of_plan DESC, until DESC LIMIT 1
      ), taken AS (
        INSERT INTO mail_quotas AS q (name, window_ms, began_at, mails)
        SELECT a.name, a.window_ms, now_ms(), 1 FROM asked a WHERE NOT EXISTS (SELECT FROM exhausted) ORDER BY a.name, a.window_ms
        ON CONFLICT (name, window_ms) DO UPDATE SET
          mails = CASE WHEN q.began_at > now_ms() - q.window_ms THEN q.mails + 1 ELSE 1 END,
          began_at = CASE WHEN q.began_at > now_ms() - q.window_ms THEN q.began_at ELSE now_ms() END
          WHERE q.began_at <= now_ms() - q.window_ms
            OR q.mails < (SELECT a.most FROM asked a WHERE a.name = q.name AND a.window_ms = q.window_ms)
        RETURNING 1
      ), marked AS (
        UPDATE jobs j SET counted = true WHERE ${run === undefined ? sql`false` : isOfRun(run)}
          AND (SELECT count(*) FROM taken) = ${quotas.length}::bigint
      )
      SELECT (SELECT count(*) FROM taken) AS taken, e.until, e.is_of_plan FROM (VALUES (1)) AS one LEFT JOIN exhausted e ON true`);
    const [counted] = rows;
    if (counted?.until != null) return { until: Number(counted.until), isOfPlan: counted.is_of_plan === true };
    if (Number(counted?.taken) === quotas.length) return undefined;
    // A concurrent mail used up a limit after this statement's snapshot was taken. The next statement sees it.
  }
}

interface MailedEvent {
  readonly id: string;
  readonly accountId: string;
  readonly rehearsalSince: number | null;
  readonly rehearsalNumber: number;
}

type TakeDeps = Pick<Deps, 'db' | 'secrets'>;

/** As `findMailLimit`, for a mail that must not be lost. @throws PutOff until the limit allows it */
export async function takeMailOrWait(
  deps: TakeDeps,
  run: Pick<JobRun, 'id' | 'attempt'>,
  event: MailedEvent,
  to: string,
): Promise<void> {
  const limit = await findMailLimit(deps, run, event, to);
  if (limit !== undefined) throw new PutOff(limit.until + SECOND_MS);
}

/** The limit that keeps a job from sending a mail about an event, if any. A job is counted once; attempts after that are allowed. */
export async function findMailLimit(
  { db, secrets }: TakeDeps,
  run: Pick<JobRun, 'id' | 'attempt'>,
  event: MailedEvent,
  to: string,
): Promise<MailLimit | undefined> {
  // The process of an earlier attempt may have died before it counted.
  if (run.attempt > 1 && (await isTrue(db, sql`SELECT j.counted FROM jobs j WHERE ${isOfRun(run)}`))) return undefined;
  const rehearsal = event.rehearsalSince === null ? null : event.rehearsalNumber;
  return takeMail(db, secrets, { to, accountId: event.accountId, votingEventId: event.id, rehearsal }, run);
}

export async function forgetMailQuotas(db: Database): Promise<void> {
  await deleteInChunks(db, 'mail_quotas', sql`began_at <= now_ms() - window_ms`);
}
