import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkSync } from 'recheck';
import { afterAll, describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';
import { StepCounter } from './harness/count-steps.ts';
import { readSources } from './harness/read-sources.ts';

// What comes from outside never costs more than a multiple of its length: one request would hold up all others.

const PROJECT = path.resolve(import.meta.dirname, '..');
const files = ['src', 'verifier', 'sdk/typescript/src', 'sandbox'].flatMap((folder) =>
  readSources(folder, /(?<!\.d)\.(?:ts|js)$/).map(({ name, text }) => ({ name: `${folder}/${name}`, text })),
);

interface Pattern {
  readonly pattern: string;
  readonly flags: string;
}

/** Their patterns read files of the project, and nothing that anybody sends. */
const READ_OWN_FILES = ['src/database/function-sources.ts', 'src/reference/render-markdown.ts'];

function literalsOf(node: unknown): Pattern[] {
  if (typeof node !== 'object' || node === null) return [];
  const regex: unknown = Reflect.get(node, 'regex');
  return typeof regex === 'object' && regex !== null ? [regex as Pattern] : Object.values(node).flatMap(literalsOf);
}

/** Patterns that the project puts together while it runs, with the file that does. */
const made: (Pattern & { readonly name: string })[] = [];
globalThis.RegExp = new Proxy(RegExp, {
  construct(target, [pattern, flags = '']: [string, string?]) {
    const [, name = 'node_modules'] =
      /(?:\(|at )(?:file:\/\/)?(\/[^()]*?):\d+:\d+\)?$/.exec(new Error().stack?.split('\n')[2] ?? '') ?? [];
    if (!name.includes('node_modules')) made.push({ name: path.relative(PROJECT, name), pattern, flags });
    return new target(pattern, flags);
  },
});

const steps = new StepCounter();

const PARTS = '"|\\|\\"|/|[|{"a":|,|;=|&a=|%25|.|-|+|:|@a.|=|{|a b|— a b\n|\'|<|\t|\r|\n'.split('|');
/** Texts of n characters that readers of texts have had trouble with. */
const HOSTILE: readonly (readonly [string, (n: number) => string])[] = [
  ['zeros in a figure', (n) => `0.1${'0'.repeat(n)}1`],
  ['a long word', (n) => 'a'.repeat(n)],
  ['spaces within', (n) => `a${' '.repeat(n)}a`],
  ['marks in a bad order', (n) => `a${'\u0316\u0301'.repeat(n / 2)}`],
  ['characters of two halves', (n) => '\u{1f5f3}\u200d'.repeat(n / 3)],
  ...PARTS.map((part) => [`${JSON.stringify(part)} repeated`, (n: number) => part.repeat(n / part.length)] as const),
];

type Called = (...given: unknown[]) => unknown;
type Taker = (text: string) => unknown;

/** Loaded after the counter was made, or nothing is counted. */
async function load(file: string, name: string): Promise<Called> {
  const module: Record<string, Called> = await import(path.join(PROJECT, file));
  const called = module[name];
  if (called === undefined) throw new Error(`${file} has no ${name}`);
  return called;
}

/** An exported function whose first parameter has such a name reads a text as it came. All are counted, without being listed. */
const TAKES_TEXT =
  /^export (?:async )?(?:const (\w+) = \(|function (\w+)\()(text|note|line|path|address|rawHeaders): (?:readonly )?string/gm;
/** These read the project's own pages. */
const OWN_TEXTS = /^src\/reference\//;

const KEY = (await load('src/ballot-log/signed-note.ts', 'createNoteSigner'))('a', new Uint8Array(32));
const LOG_KEY = (await load('verifier/note.ts', 'readLogKey'))(Reflect.get(Object(KEY), 'verifierKey'));
/** What follows the text in a call. */
const FURTHER: Readonly<Record<string, readonly unknown[]>> = {
  ...{ rawTextFault: [200], textHolds: ['aa'], hasAlready: ['"a"'], valuesOf: ['host'] },
  ...{ openNote: [KEY], openHead: [KEY], openCheckpoint: [KEY], signNote: [KEY], endpointUrlFault: ['public'] },
  ...{ readCosignature: [LOG_KEY], readSignedLines: [LOG_KEY], readServiceHead: [LOG_KEY], readPromise: [LOG_KEY] },
  ...{ readCheckpoint: [LOG_KEY], padTo: [20, 'left'] },
};
const rawTextFault = await load('src/platform/text.ts', 'rawTextFault');
const nameFault = await load('src/platform/text.ts', 'nameFault');
/** What a text was asked before it comes to them. */
const ASKED_BEFORE: Readonly<Record<string, Taker>> = {
  normaliseText: (text) => rawTextFault(text, 5_000),
  normaliseUrl: (text) => rawTextFault(text, 5_000),
  emailKey: (text) => rawTextFault(text, 320),
  splitRuns: nameFault,
};
const HEADERS = ['host', 'content-type', 'content-length', 'transfer-encoding', 'x-request-id', 'if-none-match'];

const bytesOf = (text: string) => new TextEncoder().encode(text);
const wide = <Part>(text: string, part: (character: string, index: number) => Part) => [...text].map(part);
const judge = (schema: unknown, value: unknown) => (schema as { safeParse: Called }).safeParse(value);
const FOLDER = mkdtempSync(path.join(tmpdir(), 'linear-'));
const ROLL = path.join(FOLDER, 'roll.csv');
const scanRoll = await load('src/commands/read-roll.ts', 'scanRoll');
const signatureOf = await load('src/payment-providers/provider-b-webhook.ts', 'signatureOf');

/** Others, whose text stands in something else, such as a body, or came together with many. */
const OTHERS: Readonly<Record<string, readonly ((called: Called, text: string) => unknown)[]>> = {
  'src/http/json/strict-json.ts parseJsonBody': [
    (read, text) => read(bytesOf(text)),
    (read, text) => read(bytesOf(`{"a":${text}}`)),
    (read, text) => read(bytesOf(JSON.stringify({ [text]: [text] }))),
    (read, text) => read(bytesOf(`{${wide(text, () => '"a":1.0').join()}}`)),
  ],
  'src/http/json/large-body.ts putTogether': [
    (put, text) =>
      put(
        Buffer.from(['{"judged":{"value":{"a":[]}}}', ...wide(text, (one) => JSON.stringify(['a', one]))].join('\n')),
      ),
  ],
  'src/http/fields.ts nameField': [(field, text) => judge(field(), text)],
  'src/http/fields.ts descriptionField': [(field, text) => judge(field(), text)],
  'src/http/fields.ts emailField': [(field, text) => judge(field(), `a@${text}`)],
  'src/http/fields.ts httpsUrlField': [(field, text) => judge(field(), `https://${text}`)],
  'src/http/fields.ts countryCodeField': [(field, text) => judge(field(), text)],
  'src/http/cursor.ts cursorField': [(field, text) => judge(field(), text)],
  'src/http/validation.ts parseQuery': [
    (read, text) => read(undefined, [[text, text]]),
    (read, text) =>
      read(
        undefined,
        [...text].map((one, index) => [one + index, '']),
      ),
  ],
  'src/http/sound-parts.ts faultyFields': [
    (list, text) => list(wide(text, (_, at) => ({ field: `votes[${at}].rank` }))),
  ],
  'src/http/authenticate.ts addressOf': [(find, text) => find('127.0.0.1', text, 2)],
  'src/platform/canonical-json.ts canonicalJson': [(write, text) => write({ [text]: [...text], a: { ...[...text] } })],
  'src/voters/voter.ts createVotersBody': [(body, text) => judge(body, { voters: wide(text, (name) => ({ name })) })],
  'src/ballots/ballot.ts castElectionBody': [(body, text) => judge(body, { votes: wide(text, (rank) => ({ rank })) })],
  'src/voting-events/event-mail.ts votingPageUrlField': [(field, text) => judge(field(), `https://a.example/#${text}`)],
  'src/payment-providers/provider-a-webhook.ts verifyWebhookA': [
    (verify, text) => verify({ webhookSecret: 'a' }, bytesOf(text), { get: () => `t=1,${text}` }, 1_000),
  ],
  'src/payment-providers/provider-b-webhook.ts verifyWebhookB': [
    (verify, text) => verify({ secretKey: 'a' }, bytesOf(text), { get: () => signatureOf(bytesOf(text), 'a') }),
  ],
  'src/service-log/cosignature.ts openCosignature': [(open, text) => open(text, text, KEY)],
  'src/results/download-link.ts fileNameHeader': [
    (write, title) => write({ title, code: 'a', rehearsalSince: null }, 'pdf'),
  ],
  'src/mail/compose-mail.ts composeMail': [(write, text) => write({ subject: text, logoUrl: null, parts: [text] })],
  'src/commands/read-roll.ts readRoll': [
    async (read, text) => {
      writeFileSync(ROLL, `name,email\n${text}\n`);
      return Array.fromAsync(read(await scanRoll(ROLL, 'csv'), new Map()) as AsyncIterable<unknown>);
    },
  ],
  'verifier/json.ts sortedJson': [(write, text) => write({ [text]: [...text] })],
  'sdk/typescript/src/errors.ts errorOf': [(read, text) => read(new Response(null, { status: 500 }), text)],
  'sdk/typescript/src/webhooks.ts webhooks': [
    (webhooks, text) => Reflect.get(webhooks, 'verify')(text, new Headers({ 'webhook-id': text.trim() }), 'whsec_YWE='),
  ],
};
afterAll(() => {
  steps.stop();
  rmSync(FOLDER, { recursive: true });
});

/** Code that goes over a text by hand. */
const WALKS =
  /\bcharCodeAt\((?!0\))|\bcodePointAt\(|\.lastIndex = |indexOf\([^()]+, |\bfor \(const \S+ of (?:text|name)\)/;
const ONLY_NUMBERS = /^src\/tally\//;

const takers: [string, Taker][] = [];
for (const { name: file, text } of files.filter(({ name }) => !OWN_TEXTS.test(name))) {
  for (const [, constant, name = constant ?? '', parameter] of text.matchAll(TAKES_TEXT)) {
    const called = await load(file, name);
    const call = (given: unknown) => called(given, ...(FURTHER[name] ?? []));
    if (parameter === 'rawHeaders') {
      takers.push([`${file} ${name}`, (sent) => call(wide(sent, (one) => [one, one]).flat())]);
      for (const header of HEADERS) takers.push([`${file} ${name} ${header}`, (sent) => call([header, sent])]);
    } else takers.push([`${file} ${name}`, (sent) => ASKED_BEFORE[name]?.(sent) ?? call(sent)]);
  }
}
for (const [place, calls] of Object.entries(OTHERS)) {
  const [file = '', name = ''] = place.split(' ');
  const called = await load(file, name);
  for (const call of calls) takers.push([place, (text) => call(called, text)]);
}

/** Steps for texts of n, 2n and 4n characters. Twice the text may take twice the steps, and a little more. */
async function isLinear(take: Taker, texts: typeof HOSTILE): Promise<boolean> {
  const counts: number[] = [];
  for (const n of [400, 800, 1_600]) {
    const sent = texts.map(([, make]) => make(n));
    counts.push(await steps.count(take, sent));
  }
  const [one = 0, two = 0, four = 0] = counts;
  // A refusal takes steps of its own, however long the text is.
  const spare = 2_000 * texts.length;
  return Number.isFinite(four) && two <= 2.2 * one + spare && four <= 2.2 * two + spare;
}

describe('a function over texts from outside', () => {
  test('takes a number of steps that grows with its text, and not faster', async () => {
    const slow: string[] = [];
    for (const [name, take] of takers) {
      if (await isLinear(take, HOSTILE)) continue;
      // One after the other, to the first that shows it.
      let one = 0;
      while (one < HOSTILE.length - 1 && (await isLinear(take, HOSTILE.slice(one, one + 1)))) one += 1;
      slow.push(`${name}: ${HOSTILE[one]?.[0]}`);
    }
    expect(slow).toEqual([]);
    expect(takers.length).toBeGreaterThan(90);
  });

  test('is counted wherever code goes over a text by hand', () => {
    const counted = new Set(takers.map(([name]) => name.split(' ')[0]));
    const uncounted = files.filter(
      ({ name, text }) => WALKS.test(text) && !counted.has(name) && !ONLY_NUMBERS.test(name),
    );
    expect(uncounted.map(({ name }) => name)).toEqual([]);
  });
});

/** What looks ahead is tried out with many texts, in an order that is always the same: no automaton stands for it. */
function judgePattern(pattern: string, flags: string): string {
  const { status } = checkSync(pattern, flags, { checker: 'automaton' });
  return status === 'unknown' ? checkSync(pattern, flags, { checker: 'fuzz' }).status : status;
}

describe('a regular expression', () => {
  test('takes a number of steps that grows with its text, and not faster', () => {
    const literals = files.flatMap(({ name, text }) =>
      literalsOf(parseAst(text, { lang: name.endsWith('.js') ? 'js' : 'ts' })).map((one) => ({ name, ...one })),
    );
    const judged = new Map<string, string>();
    const slow = [...literals, ...made].flatMap(({ name, pattern, flags }) => {
      const key = `/${pattern}/${flags}`;
      const status = judged.get(key) ?? judgePattern(pattern, flags);
      judged.set(key, status);
      const isSound = status === 'safe' || READ_OWN_FILES.includes(name);
      return isSound ? [] : [`${name}: ${key} is ${status}`];
    });
    expect(slow).toEqual([]);
    expect(judged.size).toBeGreaterThan(200);
    const makers = files.filter(({ text }) => text.includes('new RegExp(')).map(({ name }) => name);
    expect([...new Set(made.map(({ name }) => name))].toSorted()).toEqual(makers.toSorted());
  });
});
