import { logOrigin } from '#src/ballot-log/checkpoint.ts';
import { hashOfJson } from '#src/ballot-log/leaf.ts';
import { hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { signNote } from '#src/ballot-log/signed-note.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { naiveRoot } from '#test/unit/ballot-log/naive-tree.ts';
import {
  configurationOf,
  ENDS,
  EVENT,
  type Fields,
  SIGNER,
  type StoredLog,
  signHead,
  someBallots,
  storeLog,
} from './stored-log.ts';

/** A log that the service itself signed, in a form that there is not, and what a reader of it was given. */
export interface OldForm {
  readonly log: StoredLog;
  readonly promise?: string;
  readonly since?: string;
  /** The check that finds it. */
  readonly fails: string;
}

const BALLOTS = 5;
const ORIGIN = logOrigin(SIGNER.name, EVENT);

const leaf = (fields: Fields): Buffer => Buffer.from(canonicalJson(fields));
const fieldsOf = (entry: Buffer | undefined): Fields => JSON.parse(String(entry));

function honestLog(): StoredLog {
  const below = createRandom(11);
  return storeLog(someBallots(below, BALLOTS));
}
const log = honestLog();

/** The same log with other leaves, signed by the service. */
const withEntries = (entries: Buffer[]): StoredLog => ({ ...log, entries, checkpoint: signHead(entries) });

/** Each leaf of a kind as `change` makes it. */
const rewrite = (change: Readonly<Record<string, (fields: Fields) => Fields>>): OldForm => {
  const entries = log.entries.map((entry) => {
    const fields = fieldsOf(entry);
    return leaf(change[String(fields['t'])]?.(fields) ?? fields);
  });
  return { log: withEntries(entries), fails: 'leaves' };
};

const insert = (at: number, fields: Fields): OldForm => ({
  log: withEntries(log.entries.toSpliced(at, 0, leaf({ e: EVENT, v: 1, ...fields }))),
  fails: 'leaves',
});

/** A note of the service over any lines. */
const signed = (...lines: (string | number)[]): string => signNote(lines.map((line) => `${line}\n`).join(''), SIGNER);

const [first, ballot = Buffer.alloc(0)] = log.entries;
const asFirst = (open: Fields): Fields => ({ ...open, v: 1 });
const openedFirst = (open: Fields): Fields => ({ ...open, v: 1, roll: 0 });
const closedFirst = (): Fields => ({
  ...{ v: 1, t: 'close', e: EVENT, at: 2, ballots: BALLOTS, weight: '9', abstentions: 0, result: '00'.repeat(32) },
});

const head = [ORIGIN, log.entries.length, Buffer.from(naiveRoot(log.entries)).toString('base64')];
const confirmed = `confirmed ${BALLOTS}`;
const promised = [ORIGIN, 'this leaf will be in the log', Buffer.from(hashLeaf(ballot)).toString('base64')];
const until = 'until 2026-11-24T12:00:00.000Z';
const headed = (...lines: (string | number)[]): OldForm => ({
  log: { ...log, checkpoint: signed(...lines) },
  fails: 'signature',
});
const keeping = (...lines: (string | number)[]): OldForm => ({
  log,
  since: signed(...lines),
  fails: 'earlier checkpoint',
});
const promising = (...lines: (string | number)[]): OldForm => ({ log, promise: signed(...lines), fails: 'promise' });

function configured(change: (configuration: Fields) => Fields): OldForm {
  const configuration = change(configurationOf('election'));
  const { log: changed } = rewrite({ open: (open) => ({ ...open, config: hashOfJson(configuration) }) });
  return { log: { ...changed, configurations: [{ index: 0, configuration }] }, fails: 'openings' };
}

/** Right: what the others differ from. */
export const PRESENT_FORM = {
  log: { ...log, checkpoint: signed(...head, confirmed) },
  since: signed(...head, confirmed),
  promise: signed(...promised, until),
};

/** There is one version of every form that is stored or signed: each of these is wrong. */
export const OLD_FORMS: Readonly<Record<string, OldForm>> = {
  'an opening of version 1': rewrite({ open: openedFirst }),
  'an opening that says it is of version 1': rewrite({ open: asFirst }),
  'ballots of version 1': rewrite({ ballot: asFirst }),
  'a config leaf of version 1': insert(1, {
    t: 'config',
    at: 2,
    config: fieldsOf(first)['config'],
    ...ENDS,
    confirmed: 0,
    seq: 1,
  }),
  'a config leaf without what was confirmed': insert(1, {
    ...{ v: 2, t: 'config', at: 2, config: fieldsOf(first)['config'], ...ENDS, seq: 1 },
  }),
  'an opening without an end': rewrite({ open: ({ end: _, ...others }) => others }),
  'an opening without a count of letters': rewrite({ open: ({ letters: _, ...others }) => others }),
  'a letters leaf of version 1': insert(1, { t: 'letters', n: 1 }),
  'a void leaf of version 1': insert(BALLOTS + 1, { t: 'void', h: fieldsOf(ballot)['h'], index: 1 }),
  'a roll leaf of version 1': insert(1, {
    ...{ t: 'roll', at: 2, heads: 9, weight: '9', identityChanges: 0, rollChanges: 0, seq: 1 },
  }),
  'a witness leaf': insert(BALLOTS + 1, {
    ...{ v: 2, t: 'witness', at: 2, checkpoint: `${SIGNER.name}/log\n1\n${'A'.repeat(43)}=\n`, index: 0, hashes: [] },
    cosignatures: ['— witness.example nonsense'],
  }),
  'a close of version 1': rewrite({ close: closedFirst }),
  'a close that says it is of version 1': rewrite({ close: asFirst }),
  'an opening and a close of version 1': rewrite({ open: openedFirst, close: closedFirst }),
  'a head without `confirmed`': headed(...head),
  'a head with another line in its place': headed(...head, 'extension'),
  'a head with `confirmed` on another line': headed(...head, 'extension', confirmed),
  'a head with a line behind it': headed(...head, confirmed, 'extension'),
  'an earlier head without `confirmed`': keeping(...head),
  'an earlier head with a line behind it': keeping(...head, confirmed, 'extension'),
  'a promise without a date': promising(...promised),
  'a promise with a line behind its date': promising(...promised, until, 'more'),
  'a configuration of version 1': configured((all) => ({ ...all, v: 1 })),
  'a configuration of version 3': configured((all) => ({ ...all, v: 3 })),
  'a configuration of version "2"': configured((all) => ({ ...all, v: '2' })),
  'a configuration without a version': configured(({ v: _, ...others }) => others),
};
