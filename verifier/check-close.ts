import { toMicro } from './check-openings.ts';
import { resultHash } from './check-results.ts';
import { type Fields, fieldsOf, isFields, numberOf, sortedJson, textOf } from './json.ts';
import { Unbelievable } from './note.ts';
import { sha256 } from './primitives.ts';
import { droppedSince, type ReadLog } from './read-leaves.ts';
import { MILLION } from './recount.ts';

function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new Unbelievable(otherwise);
}

/** The figures to which a close commits. */
export interface ClosedFigures {
  /** The weight of the ballots that count, as an exact decimal. */
  readonly weight: string;
  /** Weight of the approved voters in millionths; null in polls. */
  readonly electorate: bigint | null;
}

/**
 * Checks the opening of a `close` leaf: salt and content must be those to which the leaf commits, and the content must match the log
 * before the leaf.
 * @param opening as the results or the openings contain it
 */
export function openClose(log: ReadLog, close: Fields, opening: unknown): ClosedFigures {
  demand(isFields(opening), 'nothing opens the close, though the result is published');
  const { salt, ...content } = fieldsOf(opening);
  const own = sha256('close', Buffer.from(textOf(salt), 'base64'), sortedJson(content)).toString('hex');
  demand(own === close['c'], 'what is said to open the close is not what the log commits to');
  demand(content['ballots'] === log.counted, 'the close counts another number of ballots than stand before it');
  demand(content['config'] === log.configHash, 'the close was counted by another configuration than the log has');
  const { electorate, participants } = content;
  demand(
    (electorate === null) === (log.roll === undefined),
    'an election closes with an electorate, and a poll without',
  );
  if (electorate !== null) {
    const dropped = numberOf(participants) - log.ballots;
    const isAccounted = dropped >= 0 && dropped <= droppedSince(log.drops, 0);
    demand(isAccounted, 'another number of voters took part than ballots are in the log');
    demand(numberOf(fieldsOf(electorate)['heads']) >= log.ballots, 'there are more ballots than voters');
    const { heads, weight } = fieldsOf(electorate);
    const { roll } = log;
    const recorded =
      roll?.heads === heads &&
      roll?.weight === weight &&
      roll?.identityChanges === content['identityChanges'] &&
      roll?.rollChanges === content['rollChanges'];
    demand(recorded, 'the close was made by another roll than the log has');
    demand(toMicro(textOf(content['weight'])) <= toMicro(textOf(weight)), 'the ballots weigh more than the roll');
  }
  return {
    weight: textOf(content['weight']),
    electorate: electorate === null ? null : toMicro(textOf(fieldsOf(electorate)['weight'])),
  };
}

/** The names of the fields of results, by part. A missing field would mislead a reader, and an additional one would be unchecked. */
const NAMES = {
  results: 'afterReversals asOf byGroup disputed final log lot positions stats title votingEventId',
  stats:
    'abstentions ballots disclosure electorate entries identityChanges lettersPrinted rollChanges totalVotes turnout',
  log: 'close rootHash size',
  lot: 'root seed seedHash',
};

/**
 * Compares published results with the content that the close fixed. Returns the differences in words; none if all agrees.
 * @param isRehearsal whether the log is of a rehearsal: its results must say so, and no others may
 */
export function compareWithClose(log: ReadLog, results: Fields, isRehearsal: boolean): string[] {
  const fixed = fieldsOf(fieldsOf(results['log'])['close']);
  const wrong = fixed['result'] === resultHash(results) ? [] : ['the positions'];
  if (results['votingEventId'] !== log.open['e']) wrong.push('the event');
  if (results['final'] !== true) wrong.push('that it is final');
  const { seedHash, root } = fieldsOf(results['lot']);
  if (seedHash !== log.open['seed'] || root !== log.rootBeforeClose?.toString('hex')) wrong.push('the lot');
  const { size, rootHash } = fieldsOf(results['log']);
  // After its close, the log of a poll grows by reversals: the results may have been read after a further reversal.
  const isLonger = log.roll === undefined && numberOf(size) > log.size;
  if (!isLonger && log.rootSinceClose.get(numberOf(size))?.toString('base64') !== rootHash) wrong.push('the log');
  const stats = fieldsOf(results['stats']);
  if ((results['rehearsal'] === true) !== isRehearsal) wrong.push('whether it is a rehearsal');
  const { rehearsal: _, ...shownResults } = results;
  for (const [part, names] of Object.entries(NAMES)) {
    const of = part === 'results' ? shownResults : fieldsOf(results[part]);
    if (Object.keys(of).sort().join(' ') !== names) wrong.push(`the fields of \`${part}\``);
  }
  for (const name of ['ballots', 'abstentions', 'identityChanges', 'rollChanges'])
    if (fixed[name] !== stats[name]) wrong.push(`\`${name}\``);
  if (stats['lettersPrinted'] !== log.letters) wrong.push('`lettersPrinted`');
  if (fixed['title'] !== results['title']) wrong.push('the title');
  if (sortedJson(fixed['byGroup']) !== sortedJson(results['byGroup'])) wrong.push('the turnout of the groups');
  const { electorate } = fixed;
  const shown = electorate === null ? null : textOf(fieldsOf(electorate)['weight']);
  if (shown === null ? stats['electorate'] !== null : stats['electorate'] !== Number(shown))
    wrong.push('the electorate');
  if (stats['turnout'] !== (shown === null ? null : shareOf(toMicro(textOf(fixed['weight'])), toMicro(shown))))
    wrong.push('the turnout');
  return wrong;
}

/** A share with six decimals, rounded down. */
function shareOf(part: bigint, whole: bigint): number | null {
  return whole === 0n ? null : Number((part * MILLION) / whole) / 1_000_000;
}
