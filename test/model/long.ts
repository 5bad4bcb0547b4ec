/** The long run: where it stands is kept in a file, what it came to in docs/reliability.md. */
import { randomInt } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface Standing {
  seed: number;
  /** Histories of this seed that are over. */
  histories: number;
  operations: number;
  requests: number;
  differences: number;
}
/** So many histories make one line of the table. */
export const LONG_BATCH = 500;
const TABLE = path.join(import.meta.dirname, '../../docs/reliability.md');
const HEAD = `# Reliability

## Histories against the model

Machine-made histories, each compared answer by answer with a second program that was written from the contract alone
(\`test/model\`). \`npm run model -- --long FILE\` goes on where it was stopped and adds a line for every ${LONG_BATCH} histories.

| Day | Seed | Histories | Operations | Requests | Differences |
|---|---|---|---|---|---|
`;
export const freshSeed = (): number => randomInt(1, 1_000_000);
export const begin = (seed: number): Standing => ({ seed, histories: 0, operations: 0, requests: 0, differences: 0 });

export function readStanding(file: string): Standing {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Standing) : begin(freshSeed());
}
export const keepStanding = (file: string, standing: Standing): void =>
  writeFileSync(file, `${JSON.stringify(standing)}\n`);

export function addToTable({ seed, histories, operations, requests, differences }: Standing): void {
  if (!existsSync(TABLE)) writeFileSync(TABLE, HEAD);
  const day = new Date().toISOString().slice(0, 10);
  appendFileSync(TABLE, `| ${day} | ${seed} | ${histories} | ${operations} | ${requests} | ${differences} |\n`);
}
