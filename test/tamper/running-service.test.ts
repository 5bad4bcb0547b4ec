import { afterAll, expect, test } from 'vitest';
import { createTestEvent, PLURALITY, votePolls } from '#test/harness/elections.ts';
import { startTestService } from '#test/harness/test-service.ts';
import {
  type Election,
  findTampering,
  holdElection,
  RECORDED,
  readOutcome,
  STAGES,
  type Stage,
} from './tampered-election.ts';
import { keepRows, listReplays, listTamperings, type Tampering, tamper } from './ways.ts';

/** `npm run tamper` goes through all of them, `TAMPER=voters.weight npx vitest …` through those of this name; otherwise each so many, beginning with another one at each stage. */
const WANTED = process.env['TAMPER'];
const EVERY = WANTED === undefined ? 60 : 1;
const HOUR_MS = 3_600_000;

const service = await startTestService({ worker: false });
const { met } = service;
const target = { service, account: await service.account() };
afterAll(() => target.service.stop());

type End = 'no rows' | 'refused' | 'found' | 'recorded' | 'withheld' | 'harmless' | 'NOT FOUND';

const { $client } = target.service.deps.db;
const keepEarlier = (eventId: string): Promise<void> => keepRows($client, 'earlier', eventId);

/** @param held the election of each stage that nothing was written to: the next tampering is tried on it */
async function tryOne(
  stage: Stage,
  tampering: Tampering,
  truth: unknown,
  held: Map<Stage, Election>,
  keep?: typeof keepEarlier,
): Promise<{ end: End; by: string }> {
  const election = held.get(stage) ?? (await holdElection(target, stage, keep));
  held.set(stage, election);
  const touched = await tamper($client, tampering, election.event.id);
  if (touched === undefined) return { end: 'refused', by: 'the database' };
  if (touched === 0) return { end: 'no rows', by: '' };
  held.delete(stage);
  target.service.deps.events.forgetAll();
  const [by] = await findTampering(target, election);
  if (by !== undefined && !by.startsWith(RECORDED)) return { end: 'found', by };
  const outcome = await readOutcome(target, election);
  // Whoever runs the database can always show nothing: everybody sees that.
  if (typeof outcome === 'number') return { end: 'withheld', by: `the results answer ${outcome}` };
  const isSame = JSON.stringify(outcome) === JSON.stringify(truth);
  const isHeldUp = JSON.stringify({ ...Object(outcome), final: true }) === JSON.stringify(truth);
  if (isHeldUp && !isSame) return { end: 'withheld', by: 'the result does not become final' };
  if (isSame) return { end: 'harmless', by: 'the result is the same' };
  return by === undefined ? { end: 'NOT FOUND', by: JSON.stringify(outcome) } : { end: 'recorded', by };
}

/** Tries every so many of some ways at each stage, and expects that none changes a result unseen. */
async function tryAll(tamperings: readonly Tampering[], every: number, keep?: typeof keepEarlier): Promise<void> {
  const honest = await holdElection(target, 'final');
  expect(await findTampering(target, honest)).toEqual([]);
  const truth = await readOutcome(target, honest);
  const ends = new Map<End, number>();
  const notFound: string[] = [];
  const held = new Map<Stage, Election>();
  for (const [place, stage] of STAGES.entries())
    for (const [index, tampering] of tamperings.entries()) {
      if (index % every !== (place * 7) % every) continue;
      const { table, column, way } = tampering;
      const name = `${stage}: ${way} ${table}${column === null ? '' : `.${column}`}`;
      if (WANTED !== undefined && WANTED !== 'all' && !name.includes(WANTED)) continue;
      const { end, by } = await tryOne(stage, tampering, truth, held, keep);
      ends.set(end, (ends.get(end) ?? 0) + 1);
      if (end !== 'no rows' && EVERY === 1) console.info(`${end.padEnd(10)} ${name.padEnd(60)} ${by}`);
      if (end === 'NOT FOUND') notFound.push(`${name} ${by}`);
    }
  console.info([...ends].map(([end, count]) => `${count} ${end}`).join(', '));
  expect(notFound).toEqual([]);
  expect(ends.get('found') ?? 0).toBeGreaterThan(0);
}

test('whoever writes to the database of a running election is found, or changes no result', {
  timeout: HOUR_MS,
}, async () => {
  await tryAll(await listTamperings($client), EVERY);
});

test('whole rows of an earlier moment, of another election or of a poll are found, or change no result', {
  timeout: HOUR_MS,
}, async () => {
  const other = await holdElection(target, 'waiting');
  await keepRows($client, 'election', other.event.id);
  const poll = await createTestEvent(target.service, target.account, {}, PLURALITY);
  await votePolls(target.service, target.account, poll, 3);
  await keepRows($client, 'poll', poll.id);
  await keepEarlier(other.event.id);
  await tryAll(await listReplays($client), WANTED === undefined ? 20 : 1, keepEarlier);
});

test('what it met, and what it never does', () => {
  console.info(met.confess('tamper'));
  if (WANTED === undefined || WANTED === 'all') expect(met.faults('tamper', { operations: 9 })).toEqual([]);
});
