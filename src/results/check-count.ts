import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { type CheckDeps, checkLog } from '#src/ballot-log/check-log.ts';
import type { CloseOpening } from '#src/ballot-log/close-opening.ts';
import { closeCommitment, hashOfJson } from '#src/ballot-log/leaf.ts';
import { countParticipants } from '#src/ballot-log/record-roll.ts';
import { findHead, readLeaves } from '#src/ballot-log/repository.ts';
import { microToDecimal } from '#src/platform/decimal.ts';
import type { EventResults } from './event-results.ts';
import { readElectorateTwice } from './repository.ts';

/** One comparison of a recount with stored data; `left_out` if there are no data to compare. */
export interface CountCheck {
  readonly check: string;
  readonly status: 'agrees' | 'differs' | 'left_out';
  readonly detail: string;
}

const judged = (check: string, agrees: boolean, right: string, wrong: string): CountCheck => ({
  check,
  status: agrees ? 'agrees' : 'differs',
  detail: agrees ? right : wrong,
});

const leftOut = (check: string, detail: string): CountCheck => ({ check, status: 'left_out', detail });

/** The value as an API client reads it: without members that are `undefined`, which JSON drops. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Counts the ballots, and compares the result with roll, electorate, signed log and `close` leaf (trust I1, I9). */
export async function checkCount(deps: CheckDeps, definition: BallotDefinition, count: () => Promise<EventResults>) {
  const before = await countParticipants(deps.db, definition.event.id);
  const results = await count();
  const roll = checkRoll(definition, results, before, await countParticipants(deps.db, definition.event.id));
  const others = [
    await checkElectorate(deps, definition),
    await checkSignedLog(deps, definition),
    await checkClose(deps, results),
  ];
  return { results, checks: [roll, ...others] };
}

/** @param before number of voters who had voted when the count began @param after when it ended: votes may arrive meanwhile */
function checkRoll({ event }: BallotDefinition, { stats }: EventResults, before: number, after: number): CountCheck {
  if (event.type !== 'election')
    return leftOut('roll', 'a poll has no roll: one participant may stand in several rows');
  const words = `${after} voters took part, ${stats.ballots} ballots were counted`;
  return judged('roll', before <= stats.ballots && stats.ballots <= after, words, words);
}

async function checkElectorate({ db }: CheckDeps, { event }: BallotDefinition): Promise<CountCheck> {
  if (event.type !== 'election') return leftOut('electorate', 'a poll has no electorate');
  const { summed, counted } = await readElectorateTwice(db, event.id);
  const words = `weight ${microToDecimal(summed)} as kept, ${microToDecimal(counted)} on the roll`;
  return judged('electorate', summed === counted, words, words);
}

async function checkSignedLog(deps: CheckDeps, { event }: BallotDefinition): Promise<CountCheck> {
  const fault = await checkLog(deps, event.id);
  return judged('log', fault === undefined, 'every leaf, tile, checkpoint and ballot is what was signed', fault ?? '');
}

async function checkClose({ db }: CheckDeps, results: EventResults): Promise<CountCheck> {
  // After the close leaf, there may be `void` leaves of payments that were reversed.
  const last = ((await findHead(db, results.votingEventId))?.closedSize ?? results.log.size) - 1;
  const [data] = last < 0 ? [] : await readLeaves(db, results.votingEventId, last, last + 1);
  const leaf: { t?: unknown; c?: unknown } = data === undefined ? {} : JSON.parse(data.toString('utf8'));
  if (leaf.t !== 'close') return leftOut('close', 'the log does not bear a result yet: the event has not ended');
  const { close } = results.log;
  const own = hashOfJson(asJson(results.positions));
  return judged(
    'close',
    close !== null && leaf.c === commitmentOfClose(close) && close.result === own,
    'the result is the one that the log commits to',
    'the log commits to another result',
  );
}

const commitmentOfClose = ({ salt, ...content }: CloseOpening): string =>
  closeCommitment(Buffer.from(salt, 'base64'), content).toString('hex');
