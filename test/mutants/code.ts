import type { Mutant } from './copy-project.ts';
import { allMutants, type Rules, type Slip, type Swap, swapsOf } from './slips.ts';

const TALLY = [
  ...['ballot-sums', 'bit-counts', 'earlier-rounds', 'exact', 'highest-sums', 'instant-runoff', 'margin', 'mark-check'],
  ...['pairwise', 'piles', 'position-result', 'ranked-choice', 'ranked-count', 'rankings', 'referendum', 'round-log'],
  ...['single-transferable-vote', 'start-count', 'ties'],
];
const LOG = ['leaf', 'merkle-tree', 'signed-note', 'tiles'];

const TESTS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(TALLY.map((name) => [`tally/${name}.ts`, ['unit/tally', 'unit/verifier/recount']])),
  ...Object.fromEntries(LOG.map((name) => [`ballot-log/${name}.ts`, ['unit/ballot-log', 'unit/verifier']])),
  'ballots/ballot-rules.ts': ['unit/ballots', 'api/voting', 'api/participants', 'api/paid-for'],
  'platform/decimal.ts': ['unit/tally', 'api/roll', 'api/voting'],
  'voters/eligibility.ts': ['unit/voting-events', 'api/participants', 'api/voting', 'api/registrations'],
  'voting-events/lifecycle.ts': ['unit/voting-events', 'unit/database/event-status', 'api/event-life', 'api/rehearsal'],
  'voting-events/opening.ts': ['unit/voting-events', 'api/event-life', 'api/organizer', 'api/rehearsal'],
};

/** Line by line, as the formatter writes them: a sign between blanks is no generic and no arrow. */
const SWAPS: readonly Swap[] = [
  [/ (?:<=|>=) /g, (sign) => sign.replace('=', '')],
  [/ [<>] /g, (sign) => `${sign.trimEnd()}= `],
  [/ [!=]== /g, (sign) => (sign.startsWith(' !') ? ' === ' : ' !== ')],
  [/ && /g, () => ' || '],
  [/ \|\| /g, () => ' && '],
  [/ \+ /g, () => ' - '],
  [/ - /g, () => ' + '],
  [/ [*/] /g, (sign) => (sign === ' * ' ? ' / ' : ' * ')],
  [/(?<=[\s(])!(?=[\w(])/g, () => ''],
  [/\b(?:true|false)\b(?=[;,)\s])/g, (word) => String(word === 'false')],
  [/\.(?:some|every)(?=\()/g, (word) => (word === '.some' ? '.every' : '.some')],
  [/\bMath\.(?:min|max)(?=\()/g, (word) => (word === 'Math.min' ? 'Math.max' : 'Math.min')],
  // What stands for a place that no list lacks is never read.
  [
    /(?<=[\s([-])(?<!\?\? )\d+n?(?=[\s,;)\]])/g,
    (number) => number.replace(/\d+/, (digits) => String(Number(digits) + 1)),
  ],
  [/^ +(?:if|for|while) \(.*\) (?:break|continue|return);$/gm, () => ''],
  // A statement for its effect: a call, an assignment, a count.
  [/^ +(?!return|const|let|throw|case|type)[\w.#[\]]+(?:\(.*\)|(?:\+\+|--)| [-+*]?= .*);$/gm, () => ''],
];

/** Comments and texts; a text with parts of its own stays as it is, for what stands in it is code. */
const NO_RULE = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'/g;

const RULES: Rules = {
  tests: TESTS,
  blank: (text) => text.replace(NO_RULE, (found) => found.replace(/[^\n]/g, ' ')),
  slips: (text): Slip[] => swapsOf(text, SWAPS),
};

/** The mutants of rules in TypeScript. What they do to types is left out of the count: the tests run without them. */
export const codeMutants = (): Mutant[] => allMutants(RULES);
