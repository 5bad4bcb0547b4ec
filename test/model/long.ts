/** The long run: where it stands is kept in a file, what it came to in docs/reliability.md. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface Standing {
  seed: number;
  /** Histories of this seed that are over. */
  histories: number;
  operations: number;
  /** Answers that were compared. */
  requests: number;
  differences: number;
}
/** So many histories make one line of the table. */
export const LONG_BATCH = 500;
const TABLE = path.join(import.meta.dirname, '../../docs/reliability.md');
const HEAD = '| Day | Seed | Histories | Operations | Compared answers | Differences |';
const SECTION = `
## Long runs of the model

\`npm run model -- --long FILE\` goes on where it was stopped and adds a line for every ${LONG_BATCH} histories.

${HEAD}
|---|---|---|---|---|---|
`;
export const freshSeed = (): number => randomInt(1, 1_000_000);
export const begin = (seed: number): Standing => ({ seed, histories: 0, operations: 0, requests: 0, differences: 0 });

export function readStanding(file: string): Standing {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Standing) : begin(freshSeed());
}
export const keepStanding = (file: string, standing: Standing): void =>
  writeFileSync(file, `${JSON.stringify(standing)}\n`);

/** A line below the last one of the table, wherever in the page the table stands. */
export function addToTable({ seed, histories, operations, requests, differences }: Standing): void {
  const before = existsSync(TABLE) ? readFileSync(TABLE, 'utf8') : '# Reliability\n';
  const lines = (before.includes(HEAD) ? before : `${before.trimEnd()}\n${SECTION}`).trimEnd().split('\n');
  let last = lines.indexOf(HEAD);
  while (lines[last + 1]?.startsWith('|') === true) last += 1;
  const day = new Date().toISOString().slice(0, 10);
  lines.splice(last + 1, 0, `| ${day} | ${seed} | ${histories} | ${operations} | ${requests} | ${differences} |`);
  writeFileSync(TABLE, `${lines.join('\n')}\n`);
}
