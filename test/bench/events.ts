import { randomBytes } from 'node:crypto';
import { sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import type { Bench } from './bench-service.ts';
import { type BenchLine, type Figure, figureOf } from './line.ts';
import { ProcessorMeter } from './processor-meter.ts';
import { alternate } from './windows.ts';

const EVENTS = 10_000;
const ROUNDS = 5;
/** Events that are made or closed at the same time. */
const TOGETHER = 4;

interface Poll {
  readonly id: string;
  readonly vote: Readonly<Record<string, unknown>>;
}

/** An open poll of two candidates, as one file. */
async function openPoll(bench: Bench): Promise<Poll> {
  const { id } = await bench.organize('POST', '/voting-events/definition', {
    version: 1,
    event: { title: 'A poll of the bench', type: 'poll' },
    ...{ groups: [], sponsors: [], positions: [{ id: 'q', title: 'Which', votingMethod: 'plurality' }] },
    candidates: ['Ada', 'Bea'].map((name) => ({ id: name, name, positionIds: ['q'] })),
  });
  await bench.organize('PATCH', `/voting-events/${id}`, { status: 'open' });
  const { rows } = await bench.pool.query<{ candidate: string; position: string }>(
    'SELECT id AS candidate, position_ids[1] AS position FROM candidates WHERE voting_event_id = $1 LIMIT 1',
    [id],
  );
  return { id: String(id), vote: { positionId: rows[0]?.position, candidateId: rows[0]?.candidate } };
}

/** Goes through some things, a few at the same time. @returns how many there were, as a meter takes it */
async function goThrough<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>) {
  const left = [...items];
  const one = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: TOGETHER }, one));
  return { answered: items.length };
}

/**
 * Votes in events of their own beside votes in one event, one after the other, so that each takes statements of its own on both sides:
 * what an event costs by itself. Opening, sealing and closing are measured apart.
 */
export const events: BenchLine = async (bench) => {
  const count = Math.max(ROUNDS, Math.round(EVENTS * bench.scale));
  // Without jobs: what is confirmed is sealed afterwards.
  const server = await bench.serve('web');
  const post = async (path: string, body: unknown, status: number) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { Authorization: `Bearer ${bench.vote}`, 'Content-Type': 'application/json' },
    });
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`POST ${path} answered ${answer.status}: ${text}`);
    return (JSON.parse(text) as { data: { confirmationCode: string } }).data;
  };
  const voteIn = async ({ id, vote }: Poll): Promise<void> => {
    const at = `/public/voting-events/${id}/ballot`;
    const ballot = { visitorId: `vi_${randomBytes(16).toString('hex')}`, votes: [vote] };
    const { confirmationCode } = await post(`${at}/cast`, ballot, 201);
    await post(`${at}/confirm`, { confirmationCode }, 200);
  };
  /** Microseconds of a core for each of them, in the service and the database together. */
  const micros = async (pid: number | undefined, work: () => Promise<{ answered: number }>): Promise<number> => {
    const meter = new ProcessorMeter(bench, pid);
    await meter.measure(work);
    const { service, database } = meter.micros();
    return service + database;
  };
  const figureFor = async (pid: number | undefined, work: () => Promise<{ answered: number }>): Promise<Figure> =>
    figureOf([await micros(pid, work)]);

  const polls: Poll[] = [];
  const opening = await figureFor(bench.server.pid, () =>
    goThrough(Array.from({ length: count }).keys().toArray(), async () => polls.push(await openPoll(bench))),
  );
  const one = await openPoll(bench);
  const window = Math.floor(count / ROUNDS);
  const votes = async (some: readonly Poll[]) => {
    for (const poll of some) await voteIn(poll);
    return { answered: some.length };
  };
  await votes(Array.from({ length: Math.min(window, 200) }, () => one));
  let from = 0;
  const seen = await alternate(bench, ROUNDS, {
    many: () => {
      const some = polls.slice(from, from + window);
      from = from + 2 * window > polls.length ? 0 : from + window;
      return micros(server.pid, () => votes(some));
    },
    single: () => micros(server.pid, () => votes(Array.from({ length: window }, () => one))),
  });
  await server.stop();
  const sealing = await figureFor(process.pid, async () => {
    await sequenceLogs(sealDeps(bench.deps));
    return { answered: count };
  });
  const closing = await figureFor(bench.server.pid, () =>
    goThrough(polls, ({ id }) => bench.organize('PATCH', `/voting-events/${id}`, { status: 'closed' })),
  );
  const told = [opening, sealing, closing].map(({ median }) => Math.round(median));
  return [
    {
      ...{ work: `a vote in each of ${count} polls, one after the other`, unit: ' µs' },
      ...{ reference: `as many votes in one poll`, ours: seen.many, theirs: seen.single, goal: { atMost: 1.2 } },
      limit: `The first vote of an event reads its rules and ballot, which later ones find in memory. Processor time of service and database; beside it an event took ${told[0]} µs to be made and opened, ${told[1]} to be sealed and ${told[2]} to be closed.`,
    },
  ];
};
