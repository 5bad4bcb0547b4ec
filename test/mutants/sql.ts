import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { Draw } from '#test/bench/seed.ts';
import { changed, type Mutant } from './copy-project.ts';

/** The tests that hold the rules of a file of SQL, the likeliest first: a mutant is dead at the first that fails. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  'accounts/account-changes.sql': ['faults/account-cache', 'api/sharing'],
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
  'voting-events/delete-event.sql': ['api/organizer', 'faults/deleted', 'races/plan-limits'],
  'voting-events/event-changes.sql': ['races/event-cache', 'races/stale-event'],
  'voting-events/event-status.sql': ['unit/database/event-status', 'api/event-life', 'api/log-end'],
  'voting-events/rehearsal.sql': ['api/rehearsal', 'races/rehearsal'],
  'webhooks/webhook-events.sql': ['api/webhook-events', 'api/webhooks'],
};

const ROOT = path.resolve(import.meta.dirname, '../..');

/** The files of tests whose path begins so; of a folder all that are in it. */
function filesOf(name: string): string[] {
  const folder = path.dirname(path.join('test', name, name.includes('/') ? '' : 'any'));
  return readdirSync(path.join(ROOT, folder))
    .map((file) => path.join(folder, file))
    .filter((file) => file.startsWith(path.join('test', name)) && file.endsWith('.test.ts'));
}

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

interface Slip {
  readonly at: number;
  readonly find: string;
  readonly replace: string;
}

/** One sign or word for another, each on its own. */
const SWAPS: readonly (readonly [RegExp, (found: string) => string])[] = [
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
  const slips: Slip[] = [];
  for (const [pattern, change] of SWAPS)
    for (const { 0: find, index } of text.matchAll(pattern)) slips.push({ at: index, find, replace: change(find) });
  for (const { 0: find, index } of text.matchAll(STATEMENT)) slips.push({ at: index, find, replace: '  NULL;' });
  for (const { 0: word, index } of text.matchAll(/\b(?:AND|WHERE) /g)) {
    const begin = index + word.length;
    const find = text.slice(index, endOfCondition(text, begin));
    // The half of a BETWEEN, and what is only asked for a plan, decide nothing.
    if (/BETWEEN \S+ $/.test(text.slice(Math.max(0, index - 80), index)) || find.includes('BETWEEN')) continue;
    if (word === 'AND ') slips.push({ at: index, find, replace: '' });
    else slips.push({ at: index, find, replace: 'WHERE true ' });
  }
  return slips.filter(({ find, replace }) => find !== replace);
}

const withoutComments = (text: string): string => text.replace(/--[^\n]*/g, (comment) => ' '.repeat(comment.length));

/** Every mutant of the functions of the database, in the order of files and places. */
function allMutants(): Mutant[] {
  return Object.entries(TESTS).flatMap(([name, tests]) => {
    const file = path.join('src', name);
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    return slipsOf(withoutComments(text))
      .sort((one, other) => one.at - other.at)
      .map((slip) => {
        const [find, replace] = [slip.find.trim().replace(/\s+/g, ' ').slice(0, 90), slip.replace.trim()];
        const line = text.slice(0, slip.at).split('\n').length;
        return { name: `${name}:${line} ${find} → ${replace}`, file, ...slip, tests: tests.map(filesOf) };
      });
  });
}

/** Whether PostgreSQL takes the functions of the file at all: what it refuses is no wrong rule. */
async function isTaken(client: pg.Client, mutant: Mutant): Promise<boolean> {
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

/**
 * Mutants of the functions of the database that PostgreSQL takes, whose names hold a text: some of them, drawn by a seed, or all.
 * @param url a migrated database
 */
export async function sqlMutants(url: string, part: string, sample: number, seed: number): Promise<Mutant[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const named = allMutants().filter(({ name }) => name.includes(part));
    const taken: Mutant[] = [];
    for (const mutant of new Draw(seed).shuffled(named)) {
      if (taken.length === sample) break;
      if (await isTaken(client, mutant)) taken.push(mutant);
    }
    return taken;
  } finally {
    await client.end();
  }
}
