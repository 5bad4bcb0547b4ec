import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { recurringJobs } from '#src/work.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { countElsewhere, createPartitionedDatabase, keepInLastPart } from '#test/harness/partitioned-database.ts';
import { usePaidService } from '#test/harness/payments.ts';
import { LEFT_OUT, listExamples, sendExample } from '#test/harness/send-examples.ts';
import { untilTrue } from '#test/harness/test-service.ts';

/** Operations that name one event and look into others, by the tables, and why. */
const LOOK_ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  deleteVotingEvent: { roll_copies: 'a copy that still takes the voters of the event stands with the new event' },
};
/** Jobs that go through all events, and why. */
const GO_THROUGH_ALL: Readonly<Record<string, string>> = {
  announce_left_ballots: 'a process that dies may leave ballots of an event unannounced',
  announce_timed_events: 'the clock opens and closes events by itself',
  check_all_logs: 'each log is checked once a day',
  check_changed_logs: 'each log is checked that got a checkpoint within two hours',
  disclose_voters: 'a process that dies may leave a step of an event undone',
  drop_expired_ballots: 'a ballot expires by the clock',
  drop_old_letters: 'letters expire by the clock',
  expire_registrations: 'a registration expires by the clock',
  fold_roll_figures: 'whichever event has many changes',
  fold_roll_sums: 'the same',
  forget_roll_imports: 'an import that was given up is forgotten by the clock',
  reconcile_payments: 'a payment is asked for by the clock',
  sequence_service_log: 'one log has the heads of all events',
  sweep_refunds: 'a refund is asked for by the clock',
  tend_ballot_logs: 'a process that dies may leave ballots of an event unsealed',
};

const database = await createPartitionedDatabase();
afterAll(() => database.drop());
const clients = new Set<pg.Client>();
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...sent: unknown[]) {
  if (!clients.has(this)) {
    clients.add(this);
    this.once('end', () => clients.delete(this));
  }
  return Reflect.apply(query, this, sent);
} as typeof query;
afterAll(() => {
  pg.Client.prototype.query = query;
});
const { service } = await usePaidService({ databaseUrl: database.url });
const examples = await listExamples(service);
const ofOneEvent = examples.filter(({ name, route }) => !LEFT_OUT.has(name) && route.path.includes(':idOrCode'));
await withClient(database.url, (client) => keepInLastPart(client, service.deps.ids, 2 * examples.length));

const looking = new pg.Client({ connectionString: database.url });
await looking.connect();
afterAll(() => looking.end());

/** How often tables were touched in other parts, once all that sessions did is in the statistics, and no job is left that is due. */
async function countSettled(): Promise<Map<string, number>> {
  await untilTrue(async () => {
    const due = await service.query(
      'SELECT 1 FROM jobs WHERE held_by IS NOT NULL OR run_at <= now_ms() AND attempts < max_attempts',
    );
    return due.length === 0;
  });
  const known = [...clients].filter((one) => Reflect.get(one, '_ending') !== true);
  // A session that its pool ends at this moment has written its statistics.
  const ended = (fault: Error): void => {
    if (!/Connection terminated/.test(fault.message)) throw fault;
  };
  await Promise.all(known.map((one) => one.query('SELECT pg_stat_force_next_flush()').catch(ended)));
  // Sessions of threads that count write their statistics when they end.
  await looking.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()
     AND backend_type = 'client backend' AND state = 'idle' AND pid <> ALL ($1)`,
    [[looking, ...known].map((one) => Reflect.get(one, 'processID'))],
  );
  return countElsewhere(looking);
}

/** The tables that something touched in other parts. */
async function touchedBy(work: () => Promise<unknown>): Promise<string[]> {
  const before = await countSettled();
  await work();
  const after = await countSettled();
  return [...after].flatMap(([table, times]) => (times === (before.get(table) ?? 0) ? [] : [table])).toSorted();
}

describe('in a database that is parted by events', () => {
  test('an operation on one event, with the jobs that it enqueues, reads and writes in the part of its event alone', async () => {
    const elsewhere: Record<string, string[]> = {};
    for (const example of ofOneEvent) {
      const { target, answer } = await sendExample(service, examples, example, async (send) => {
        let answer: Awaited<ReturnType<typeof send>> | undefined;
        const touched = await touchedBy(async () => {
          answer = await send();
        });
        if (touched.length > 0) elsewhere[example.name] = touched;
        if (answer === undefined) throw new Error('it was not sent');
        return answer;
      });
      expect(answer.status < 400 || answer.status === 402, `${example.name} ${target}`).toBe(true);
    }
    expect(ofOneEvent.length).toBeGreaterThan(70);
    const listed = Object.entries(LOOK_ELSEWHERE).map(([name, tables]) => [name, Object.keys(tables)]);
    expect(elsewhere).toEqual(Object.fromEntries(listed));
  });

  test('a job by the clock goes through all events only where a reason is stated', async () => {
    const elsewhere: string[] = [];
    for (const job of recurringJobs(service.deps)) if ((await touchedBy(job.work)).length > 0) elsewhere.push(job.name);
    expect(elsewhere.toSorted()).toEqual(Object.keys(GO_THROUGH_ALL));
  });
});
