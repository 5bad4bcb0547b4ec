import { expect, test } from 'vitest';
import { listNotifiedVotersJob, mailNotifiedVoterJob } from '#src/voters/notify-voters.ts';
import { countWaiting } from '#test/harness/count-waiting.ts';
import { demand, PLURALITY } from '#test/harness/elections.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';

// Without jobs: voters are listed where the test says so, and the rehearsal ends meanwhile.
const { service, account } = await useAccount({ worker: false });
const FIRST = { id: '1', attempt: 1, last: false };

test.each(['draft', 'open'])(
  'the mails of a rehearsal end with it, also those that are being listed (%s)',
  async (status) => {
    const event = await account.event({ type: 'election' }, PLURALITY, false);
    const of = account.of(event);
    const { id: voterId } = await of.make('/voters', { name: 'Vera', email: 'vera@club.example' });
    await of.change('', { status: 'rehearsal' });
    demand(await of.post('/voters/notify', { audience: 'all', kind: 'key' }), 202);
    const payloadOf = async (name: string) =>
      (
        await service.query("SELECT payload FROM jobs WHERE name = $1 AND payload ->> 'eventId' = $2", [name, event.id])
      ).map(({ payload }) => payload);
    const [order] = await payloadOf('list_notified_voters');
    const client = await service.deps.db.$client.connect();
    let ended: Promise<unknown>;
    try {
      // Holds the job between its first and its last statement, as a large roll does.
      await client.query('BEGIN');
      const claim =
        "INSERT INTO notified_voters (voting_event_id, voter_id, kind, notified_at, notification_id) VALUES ($1, $2, 'rehearsal key', 1, '')";
      await client.query(claim, [event.id, voterId]);
      const listed = listNotifiedVotersJob(service.deps.db).work(order, FIRST);
      await untilTrue(async () => (await countWaiting(service)) === 1);
      ended = of.change('', { status });
      await untilTrue(async () => (await countWaiting(service)) === 2);
      await client.query('ROLLBACK');
      await listed;
    } finally {
      client.release();
    }
    await ended;
    expect((await of.show('')).status).toBe(status);
    const mails = service.mails().length;
    for (const mail of await payloadOf('mail_notified_voter'))
      await mailNotifiedVoterJob(service.deps).work(mail, FIRST);
    expect(service.mails().length - mails).toBe(0);
    expect(await of.show('/notifications')).toEqual([]);
    expect(await service.query('SELECT 1 FROM notifications WHERE voting_event_id = $1', [event.id])).toHaveLength(0);
  },
);
