import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { setEventIn } from '#test/harness/genuine-rows.ts';
import { type EventSize, fillBox } from '#test/harness/largest-event.ts';
import { CLOSED } from '#test/harness/move-end.ts';
import { measureRequests } from './requests.ts';
import { measureSilence } from './silence.ts';
import { openEvent, readWhole, residentBytes, show, timed, type World, withWorld } from './world.ts';

/**
 * Builds the largest event that the caps allow, reads, closes and exports it, and shows each figure beside its bound:
 *   npm run limits -- [positions] [candidates] [ballots …]
 * or makes each kind of costly request without a pause, and shows what another customer’s requests took meanwhile:
 *   npm run limits -- requests [a word of the kinds to make]
 * or lets the database fall silent, and shows how long requests wait for their refusal:
 *   npm run limits -- silence
 * A bound that is passed is marked, and ends the program with 1. Bounds of time hold for a machine with two free cores.
 */
const BOUNDS = {
  resultsMs: 120_000,
  answerBytes: 40 * 1024 * 1024,
  residentBytes: 2 * 1024 * 1024 * 1024,
  closeMs: 300_000,
  /** As long as an answer may be written at all: ten million contests have gigabytes. */
  cvrMs: TIME_LIMITS.answerMs,
  otherCloseMs: 120_000,
};
async function waitForFinal(world: World, id: string): Promise<void> {
  await setEventIn(world.deps.db, world.deps.secrets, id, sql.raw(`${CLOSED}, paper_version = paper_version + 1`));
  // No reader of the log is asked here: the leaf that says so may lack.
  await world.pool.query(
    'UPDATE ballot_logs l SET ends_at = e.closed_at FROM voting_events e WHERE e.id = $1 AND l.voting_event_id = e.id',
    [id],
  );
  for (;;) {
    const { rows } = await world.pool.query(
      'SELECT 1 FROM ballot_logs WHERE voting_event_id = $1 AND closed_size IS NOT NULL',
      [id],
    );
    if (rows.length > 0) return;
    await delay(200);
  }
}

async function measure(world: World, size: EventSize, ballots: number): Promise<void> {
  const name = `${size.positions} × ${size.candidates} candidates, ${ballots} ballots`;
  process.stdout.write(`\n${name}\n`);
  const id = await openEvent(world, size);
  const other = await openEvent(world, { positions: 1, candidates: 3 });
  await fillBox(world.deps, id, size, ballots, ballots < 1_000 ? 40 : 5);
  let bytes = 0;
  const results = `/voting-events/${id}/results`;
  await timed(world, 'results, counted from the first ballot', BOUNDS.resultsMs, async () => {
    bytes = await readWhole(world, results);
  });
  show('  the answer', bytes, BOUNDS.answerBytes, 'MB');
  await timed(world, 'results again, ten at once', BOUNDS.resultsMs, () =>
    Promise.all(Array.from({ length: 10 }, () => readWhole(world, results))),
  );
  await timed(world, 'the figures', BOUNDS.resultsMs, () => readWhole(world, `/voting-events/${id}/stats`));
  await timed(world, 'a page of rounds', BOUNDS.resultsMs, () =>
    readWhole(world, `${results}/rounds?positionId=pos_l_1`),
  );
  for (const kind of ['csv', 'json', 'pdf'])
    await timed(world, `the ${kind} export`, BOUNDS.resultsMs, () => readWhole(world, `${results}/${kind}`));
  await timed(world, 'the close', BOUNDS.closeMs, () => waitForFinal(world, id));
  await timed(world, 'the close of a small event beside it', BOUNDS.otherCloseMs, () => waitForFinal(world, other));
  await timed(world, 'every cast vote record (cvr export)', BOUNDS.cvrMs, async () => {
    bytes = await readWhole(world, `${results}/cvr`);
  });
  process.stdout.write(`         the file had ${(bytes / 2 ** 20).toFixed(0)} MB\n`);
  show('memory of the server at most', await residentBytes(world), BOUNDS.residentBytes, 'MB');
}

const [positions = 100, candidates = 1_000, ...counts] = process.argv.slice(2).map(Number);
const largest = async (world: World): Promise<void> => {
  for (const ballots of counts.length > 0 ? counts : [2, 100_000])
    await measure(world, { positions, candidates }, ballots);
};
if (process.argv[2] === 'silence') await measureSilence();
else
  await withWorld((world) =>
    process.argv[2] === 'requests' ? measureRequests(world, process.argv[3]) : largest(world),
  );
