import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(path.join(ROOT, 'docs/contract-sections.md'), 'utf8');

/** All sources, each comment on one line: a citation may go on in the next one. */
const sources = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(ts|sql)$/.test(file))
  .map((file) => readFileSync(path.join(ROOT, 'src', file), 'utf8').replaceAll(/\n\s*(?:\*|\/\/|--) ?/g, ' '));

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
