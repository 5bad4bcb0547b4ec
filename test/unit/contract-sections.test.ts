import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readSources } from '#test/harness/read-sources.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(path.join(ROOT, 'docs/contract-sections.md'), 'utf8');

/** All sources, each comment on one line: a citation may go on in the next one. */
const sources = readSources('src', /\.(ts|sql)$/).map(({ text }) => text.replaceAll(/\n\s*(?:\*|\/\/|--) ?/g, ' '));

const cited = (citation: RegExp): string[] =>
  [...new Set(sources.flatMap((text) => [...text.matchAll(citation)].map(([, section = '']) => section)))].toSorted();

test('every section that a comment cites has a row in docs/contract-sections.md', () => {
  const rows = PAGE.split('\n').flatMap((line) => /^\| ([^|]+) \|/.exec(line)?.[1] ?? []);
  const completions = cited(/\bcompletions (\d+(?:\.\d+)?)/gi);
  const contract = cited(/\bcontract, ("[^"]+")/g).map((section) => section.replace(', poll"', '"'));
  expect(completions.length).toBeGreaterThan(40);
  expect(contract.length).toBeGreaterThan(15);
  expect([...completions, ...contract].filter((section) => !rows.includes(section))).toEqual([]);
});

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const SECURITY = read('docs/security.md');
/** Tests that a page names and that are not there. */
const notThere = (page: string): string[] =>
  [...page.matchAll(/`(?:vitest run )?(test\/[\w/.-]+)`/g)]
    .map(([, file = '']) => file)
    .filter((file) => !existsSync(path.join(ROOT, file)));
/** What is advice, what stands in a table of another kind, or begins a list. */
const UNTESTED =
  /^(?:#|For organizers|Rows that decide|\| (?:---|Promise|Who|The |Holder|Observers|Payment)|- \*\*Availability)/;

test('each statement of docs/security.md names a test that is there', () => {
  const statements = SECURITY.split(/\n\n|\n(?=- |\d\. |\| |#)/).filter(
    (text) => text.trim() !== '' && !UNTESTED.test(text),
  );
  expect(statements.length).toBeGreaterThan(50);
  expect(statements.filter((text) => !/`test\/[\w/.-]+`|`npm run tamper`/.test(text))).toEqual([]);
  expect(notThere(SECURITY)).toEqual([]);
});

test('each figure of docs/reliability.md and each fault of docs/track-record.md names a command or a test that is there', () => {
  const [figures, faults] = [read('docs/reliability.md'), read('docs/track-record.md')];
  const rows = (page: string, from: string): string[] =>
    page
      .slice(page.indexOf(from))
      .split('\n')
      .filter((line) => line.startsWith('| ') && !/^\| (?:Never|Attack|Found) \|/.test(line));
  const tried = rows(figures.slice(0, figures.indexOf('## Faults in combination')), '| Never');
  const found = rows(faults, '| Attack');
  expect([tried.length > 10, found.length > 40]).toEqual([true, true]);
  expect(tried.filter((row) => !/`(?:npm run|vitest run) [^`]+`[^|]*\|$/.test(row))).toEqual([]);
  expect(found.filter((row) => !/`test\/[\w/.-]+`[^|]*\|$/.test(row))).toEqual([]);
  expect([...notThere(figures), ...notThere(faults)]).toEqual([]);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
  const commands = [...`${figures}${faults}`.matchAll(/`npm run ([\w:-]+)/g)].map(([, name = '']) => name);
  expect(commands.filter((name) => scripts[name] === undefined)).toEqual([]);
});
