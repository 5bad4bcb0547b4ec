import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { changed, type Mutant, ROOT } from './copy-project.ts';
import { allMutants, type Rules, type Slip, type Swap, swapsOf } from './slips.ts';

/** The tests that hold the rules of a file of SQL, the likeliest first: a mutant is dead at the first that fails. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  'accounts/account-changes.sql': ['api/sharing', 'api/admission', 'races/plan-limits'],
  'ballot-log/log-guards.sql': ['faults/ballot-log-guards'],
  'ballot-log/scatter-roll.sql': ['races/mixed-roll', 'faults/dead-rows', 'secrecy'],
  'ballot-log/tend-log.sql': ['api/log-end', 'api/ballot-log', 'faults/ballot-log-guards'],
  'ballots/announce.sql': ['api/ballot-announcements', 'api/webhook-events'],
  'ballots/box.sql': ['api/ballot-log', 'api/large-box', 'api/reversals', 'faults/ballot-log-guards', 'tamper'],
  'ballots/cast.sql': ['api/voting', 'api/participants', 'api/paid-for', 'races', 'unit/ballots', 'api/payments'],
  'ballots/confirm.sql': ['api/voting', 'api/participants', 'api/paid-for', 'races', 'api/log-promises', 'tamper'],
  'ballots/pending-ballot.sql': ['api/voting', 'api/paid-for', 'api/payments-end', 'races'],
  'credits/credits.sql': ['api/paid-for', 'api/payments', 'api/reversals', 'races/payments', 'api/voting'],
  'http/idempotency.sql': ['api/requests', 'api/conventions', 'races', 'faults/restarts'],
  'jobs/jobs.sql': ['unit/jobs', 'faults/job'],
  'payments/give-back.sql': ['api/paid-for', 'api/refunds', 'api/payments-end', 'api/payments'],
  'voters/disclosure.sql': ['api/disclosure', 'secrecy'],
  'voters/judge-cast.sql': ['api/participants', 'api/voting', 'api/registrations', 'api/paid-for', 'tamper', 'races'],
  'voters/participation.sql': ['api/participants', 'api/voting'],
  'voters/roll-figures.sql': ['api/roll', 'api/results', 'tamper'],
  'voters/voter-key.sql': ['api/participants', 'api/change-places', 'api/letters', 'api/voter-mails'],
  'voting-events/delete-event.sql': ['api/organizer', 'faults/clean-up', 'races/plan-limits'],
  'voting-events/event-changes.sql': ['races/event-cache', 'races/stale-event'],
  'voting-events/event-status.sql': ['unit/database/event-status', 'api/event-life', 'api/log-end'],
  'voting-events/rehearsal.sql': ['api/rehearsal', 'races/rehearsal'],
  'webhooks/webhook-events.sql': ['api/webhook-events', 'api/webhooks'],
};

/** A word or sign that ends a condition which stands at the same depth of brackets. */
const END_OF_CONDITION =
  /^(?:AND|OR|THEN|GROUP|ORDER|RETURNING|LIMIT|FOR|LOOP|UNION|OFFSET|ON|LEFT|JOIN|WHERE|HAVING|SET|WITH|WINDOW)\b|^[;)]/;

/** The place behind a condition that begins here: at the next word of the statement, outside of brackets and texts. */
function endOfCondition(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "'") {
      at = text.indexOf("'", at + 1);
      if (at < 0) return text.length;
    } else if (sign === '(') depth += 1;
    else if (depth === 0 && (at === from || /[\s)]/.test(text[at - 1] ?? '') || /[;)]/.test(sign ?? ''))) {
      if (END_OF_CONDITION.test(text.slice(at, at + 12))) return at;
    } else if (sign === ')') depth -= 1;
  }
  return text.length;
}

/** One sign or word for another, each on its own. */
const SWAPS: readonly Swap[] = [
  [/ (?:<=|>=) /g, (sign) => sign.replace('=', '')],
  [/ [<>] /g, (sign) => `${sign.trimEnd()}= `],
  [/ <> /g, () => ' = '],
  [/\bNOT EXISTS\b/g, () => 'EXISTS'],
  [/(?<!NOT )\bEXISTS\b(?= ?\()/g, () => 'NOT EXISTS'],
  [/\bIS NOT NULL\b/g, () => 'IS NULL'],
  [/\bIS NULL\b/g, () => 'IS NOT NULL'],
  [/ FOR (?:NO KEY UPDATE|KEY SHARE|UPDATE|SHARE)(?: OF \w+)?(?=[\s;)])/g, () => ''],
  [/ \+ (?=[a-z(])/g, () => ' - '],
  [/ - (?=[a-z(])/g, () => ' + '],
  [/\bleast\(/g, () => 'greatest('],
  [/\bgreatest\(/g, () => 'least('],
  [/\bDISTINCT /g, () => ''],
];

/** Statements of a function that can be left out whole. */
const STATEMENT = /^ +(?:PERFORM|DELETE FROM|UPDATE|INSERT INTO)\b[^;]*;/gm;

function slipsOf(text: string): Slip[] {
  const slips = swapsOf(text, SWAPS);
  for (const { 0: find, index } of text.matchAll(STATEMENT)) slips.push({ at: index, find, replace: '  NULL;' });
  for (const { 0: word, index } of text.matchAll(/\b(?:AND|WHERE) /g)) {
    const begin = index + word.length;
    const find = text.slice(index, endOfCondition(text, begin));
    // The half of a BETWEEN, and what is only asked for a plan, decide nothing.
    if (/BETWEEN \S+ $/.test(text.slice(Math.max(0, index - 80), index)) || find.includes('BETWEEN')) continue;
    if (word === 'AND ') slips.push({ at: index, find, replace: '' });
    else slips.push({ at: index, find, replace: 'WHERE true ' });
  }
  return slips;
}

const RULES: Rules = {
  tests: TESTS,
  blank: (text) => text.replace(/--[^\n]*/g, (comment) => ' '.repeat(comment.length)),
  slips: slipsOf,
};

/** Every mutant of the functions of the database, in the order of files and places. */
export const sqlMutants = (): Mutant[] => allMutants(RULES);

/** Whether PostgreSQL takes the functions of the file at all: what it refuses is no wrong rule. @param client of a migrated database */
export async function isTaken(client: pg.Client, mutant: Mutant): Promise<boolean> {
  const text = changed(readFileSync(path.join(ROOT, mutant.file), 'utf8'), mutant);
  await client.query('BEGIN');
  try {
    await client.query(text);
    return true;
  } catch (fault) {
    if (fault instanceof pg.DatabaseError) return false;
    throw fault;
  } finally {
    await client.query('ROLLBACK');
  }
}
