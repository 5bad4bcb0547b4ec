import { afterEach, expect, test, vi } from 'vitest';
import { runJobs } from '#src/jobs/run-jobs.ts';
import { MailFault } from '#src/mail/mailer.ts';
import { madeAt } from '#src/platform/ids.ts';
import type { EventType } from '#src/webhooks/record-event.ts';
import { allJobs } from '#src/work.ts';
import { demand, PLURALITY } from '#test/harness/elections.ts';
import { loseCommitAfter } from '#test/harness/lose-commit.ts';
import { type Requests, type TestAccount, untilTrue, useService } from '#test/harness/test-service.ts';

const service = await useService({ worker: false });
const { deps, query } = service;

afterEach(() => vi.restoreAllMocks());

/** Runs jobs until none is left: all, as if their time had come, or only those that are due. */
async function work(all = true): Promise<void> {
  const left = all ? 'true' : 'run_at <= now_ms() + 1000';
  const runner = await runJobs(deps.jobDatabases.deletions, deps.log, allJobs(deps), []);
  await untilTrue(async () => {
    if (all) await query('UPDATE jobs SET run_at = now_ms() WHERE held_by IS NULL AND run_at > now_ms()');
    runner.wake();
    return (await query(`SELECT FROM jobs WHERE attempts < max_attempts AND ${left}`)).length === 0;
  });
  await runner.stop();
}

/** How many messages of a type the receivers of an account are sent. */
const messages = async ({ id }: TestAccount, type: EventType): Promise<number> =>
  (
    await query(
      `SELECT DISTINCT d.message_id FROM webhook_deliveries d
       JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE e.account_id = $1 AND d.event_type = $2`,
      [id, type],
    )
  ).length;

interface Scene {
  readonly account: TestAccount;
  readonly own: Requests;
  readonly eventId: string;
  readonly voterId: string;
}

const refuseMails = () =>
  vi.spyOn(deps.mailer, 'send').mockRejectedValue(new MailFault('recipient_refused', 'EENVELOPE', '550 to RCPT TO'));

/** What makes the service tell each of them, by a job. */
const CAUSES: readonly [string, EventType, (scene: Scene) => Promise<void>][] = [
  [
    'an end a day ahead',
    'voting_event.closing',
    async ({ account, own }) => {
      await query('UPDATE accounts SET contact_email = $2 WHERE id = $1', [account.id, 'owner@club.example']);
      await own.change('', { endsAt: Date.now() + 23 * 3_600_000 });
    },
  ],
  [
    'the approval of a voter by a first key',
    'voter.updated',
    async ({ eventId, voterId }) => {
      const payload = JSON.stringify({ eventId, voterIds: [voterId] });
      await query(`SELECT add_job('announce_approved_voters', $1::json)`, [payload]);
    },
  ],
  [
    'a key whose mail was refused',
    'voter.mail_failed',
    async ({ own, voterId }) => {
      refuseMails();
      demand(await own.post(`/voters/${voterId}/voter-key`), 202);
    },
  ],
  [
    'a reminder that was refused',
    'voter.mail_failed',
    async ({ own }) => {
      refuseMails();
      demand(await own.post('/voters/notify', { audience: 'all', kind: 'reminder' }), 202);
    },
  ],
];

test.each(CAUSES)(
  'receivers and the owner are told of %s once, although the answer to the COMMIT was lost (%s)',
  async (_what, type, cause) => {
    const account = await service.account();
    const { id: eventId } = await account.event({ type: 'election' }, PLURALITY, true);
    const own = account.of({ id: eventId });
    const { id: voterId } = await own.make('/voters', { name: 'Vera', email: 'vera@club.example' });
    await work();
    await account.make('/webhook-endpoints', { url: 'https://hooks.example/votes', eventTypes: [type] });
    const [mailed, startedAt] = [service.mails().length, Date.now() - 60_000];
    await cause({ account, own, eventId, voterId });
    const isLost = loseCommitAfter(/record_webhook_events/);
    await work();
    expect(isLost()).toBe(true);
    expect(await messages(account, type)).toBe(1);
    // IDs sort by creation (completions 1.7).
    const [sent] = await query('SELECT message_id FROM webhook_deliveries WHERE event_type = $1', [type]);
    expect(madeAt(sent?.message_id)).toBeGreaterThan(startedAt);
    expect(service.mails(mailed)).toHaveLength(type === 'voting_event.closing' ? 1 : 0);
  },
);

// Completions 3, rule 2, and 10.5: a mistaken close can be undone, and a rehearsal does not change when the event closes.
test.each([
  ['closed by mistake', true, ['closed'], 'open'],
  ['rehearsed, in a round that is closed', false, ['rehearsal', 'closed'], 'draft'],
] as const)('an end is announced a day ahead although its event is %s then', async (_what, isOpen, changes, back) => {
  const account = await service.account();
  const HOUR_MS = 3_600_000;
  const times = { ...(isOpen ? {} : { startsAt: Date.now() + HOUR_MS }), endsAt: Date.now() + 23 * HOUR_MS };
  const own = account.of(await account.event({ type: 'election', ...times }, PLURALITY, isOpen));
  await account.make('/webhook-endpoints', {
    url: 'https://hooks.example/votes',
    eventTypes: ['voting_event.closing'],
  });
  for (const status of changes) await own.change('', { status });
  await work(false);
  await own.change('', { status: back });
  await work();
  expect(await messages(account, 'voting_event.closing')).toBe(1);
});
