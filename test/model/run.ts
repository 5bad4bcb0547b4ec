/** Runs machine-made histories against service and model. See README.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ApiContract, type ApiDocument } from '#test/harness/api-document.ts';
import { Met } from '#test/harness/met.ts';
import { generate } from './generate.ts';
import { runHistory } from './history.ts';
import { readKnown } from './known.ts';
import { addToTable, begin, freshSeed, keepStanding, LONG_BATCH, readStanding } from './long.ts';
import { shrink } from './shrink.ts';
import { startDriver } from './start-driver.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '100' },
    seed: { type: 'string' },
    restarts: { type: 'string', default: '0' },
    one: { type: 'string' },
    ops: { type: 'string', default: '120' },
    kind: { type: 'string', default: 'within' },
    known: { type: 'string', default: path.join(import.meta.dirname, 'known.txt') },
    minutes: { type: 'string' },
    shrinks: { type: 'string', default: '40' },
    counts: { type: 'boolean', default: false },
    /** Fails where fewer was met than in the sample of the tests. */
    sample: { type: 'boolean', default: false },
    out: { type: 'string' },
    /** A file that the long run stands in. */
    long: { type: 'string' },
    /** So many histories of a process may differ before it ends with 1: rare ones are printed, and judged by a person. */
    tolerated: { type: 'string', default: '0' },
    /** So many processes share the histories. */
    side: { type: 'string' },
  },
});
/** What the sample meets at least, of this seed and number of histories (test/model/met.test.ts). */
const MET_IN_SAMPLE = { operations: 121, reasons: 18, 'actions in phases': 58, 'settings at bounds': 27 };
const out = (line: string): void => {
  console.log(line);
  if (values.out !== undefined) appendFileSync(values.out, `${line}\n`);
};

/** Each process takes a part of the histories, with a seed of its own. */
async function runSideBySide(processes: number, seed: number): Promise<number> {
  const [histories, restarts] = [Number(values.histories), Number(values.restarts)];
  const share = (of: number, place: number) =>
    Math.floor((of * (place + 1)) / processes) - Math.floor((of * place) / processes);
  const codes = await Promise.all(
    Array.from({ length: processes }, async (_, place) => {
      const given = {
        ...values,
        side: undefined,
        seed: String(seed + place),
        histories: String(share(histories, place)),
        restarts: String(share(restarts, place)),
      };
      const words = Object.entries(given).flatMap(([name, value]) =>
        value === undefined || value === false ? [] : value === true ? [`--${name}`] : [`--${name}`, String(value)],
      );
      const child = spawn(process.execPath, [import.meta.filename, ...words], { stdio: 'inherit' });
      const [code] = (await once(child, 'exit')) as [number | null];
      return code ?? 1;
    }),
  );
  return Math.max(...codes);
}

const first = Number(values.one ?? values.seed ?? freshSeed());
if (values.side !== undefined) {
  out(`seed ${first}: ${values.histories} histories in ${values.side} processes`);
  process.exit(await runSideBySide(Number(values.side), first));
}

const isKnown = readKnown(values.known);
const classes = new Map<string, { count: number; seed: number; line: string }>();
const options = { ops: Number(values.ops), restarts: 0 };
const one = values.one !== undefined;
const total = one ? 1 : values.long !== undefined ? LONG_BATCH : Number(values.histories);
const restartEvery = Number(values.restarts) > 0 ? Math.max(1, Math.floor(total / Number(values.restarts))) : 0;
let standing = values.long === undefined ? begin(first) : readStanding(values.long);

const driver = await startDriver({ kind: values.kind === 'processes' ? 'processes' : 'within' });
const { body: document } = await driver.call({ process: 0, method: 'GET', path: '/openapi.json' });
const met = new Met(new ApiContract(document as ApiDocument));
const began = performance.now();
let [requests, operations, reads] = [0, 0, 0];
/** Histories that showed something that is not known. */
let differing = 0;

/** Tells a difference with the shortest script that still shows it. */
async function tell(
  finding: { readonly kind: string; readonly line: string; readonly op: number },
  seed: number,
  ops: ReturnType<typeof generate>,
  script: readonly string[],
): Promise<void> {
  out(`\nDIFFERENCE ${finding.kind}\n  history seed ${seed}: ${finding.line}`);
  const here = script.findIndex((line) => line.includes(finding.line));
  if (Number(values.shrinks) === 0) {
    for (const line of script.slice(Math.max(0, here - 5), Math.max(here, 0))) out(`      ${line.slice(0, 700)}`);
    return;
  }
  const atEnd = finding.op === -1;
  const small = await shrink(atEnd ? ops : ops.slice(0, finding.op + 1), Number(values.shrinks), async (some) => {
    const again = await runHistory(driver, some, atEnd);
    return again.findings.some((other) => other.kind === finding.kind);
  });
  const last = await runHistory(driver, small, atEnd);
  const told = last.findings.find((other) => other.kind === finding.kind)?.line ?? '';
  const end = last.script.indexOf(`   !! ${told}`);
  for (const [number, line] of (end === -1 ? last.script : last.script.slice(0, end + 1)).entries())
    out(`  ${String(number + 1).padStart(3)} ${line.slice(0, 1200)}`);
}

async function runOne(index: number): Promise<void> {
  const seed = one ? first : standing.seed * 1_000_003 + index;
  const ops = generate(seed, { ...options, restarts: restartEvery > 0 && index % restartEvery === 0 ? 2 : 0 });
  const world = await runHistory(driver, ops, true, met);
  requests += world.requests;
  reads += world.reads;
  operations += ops.length;
  standing.requests += world.requests;
  standing.operations += ops.length;
  if (world.findings.some(({ kind }) => !isKnown(kind))) differing += 1;
  for (const finding of world.findings) {
    const seen = classes.get(finding.kind);
    if (!isKnown(finding.kind)) standing.differences += 1;
    if (seen !== undefined) seen.count += 1;
    else {
      classes.set(finding.kind, { count: 1, seed, line: finding.line });
      if (!isKnown(finding.kind)) await tell(finding, seed, ops, world.script);
    }
  }
  if (one)
    for (const [number, line] of world.script.entries())
      out(`${String(number + 1).padStart(3)} ${line.slice(0, 2000)}`);
}

const enough = () => values.minutes !== undefined && performance.now() - began > Number(values.minutes) * 60_000;
const speed = () => `${(requests / ((performance.now() - began) / 1000)).toFixed(0)}/s`;
while (!enough() && standing.histories < total) {
  await runOne(standing.histories);
  standing.histories += 1;
  if (standing.histories % 50 === 0)
    out(
      `${standing.histories} histories, ${operations} operations, ${requests} compared answers, ${speed()}, ${classes.size} classes of differences`,
    );
  if (values.long === undefined) continue;
  if (standing.histories === LONG_BATCH) {
    addToTable(standing);
    standing = begin(freshSeed());
  }
  keepStanding(values.long, standing);
}
const seconds = (performance.now() - began) / 1000;
await driver.stop();
out(
  `\nseed ${first}: ${operations} operations, ${requests} compared answers (${Math.round((reads * 100) / requests)} % of reads) in ${seconds.toFixed(0)} s (${(requests / seconds).toFixed(0)}/s)`,
);
out(met.confess('model'));
if (values.counts) out(met.answered());
for (const [name, { count, seed }] of [...classes].toSorted(([, a], [, b]) => b.count - a.count))
  out(`${String(count).padStart(6)} × ${isKnown(name) ? '(known) ' : ''}${name} [seed ${seed}]`);
const faults = met.faults('model', values.sample ? MET_IN_SAMPLE : {});
for (const fault of faults) out(fault);
process.exit(differing > Number(values.tolerated) || faults.length > 0 ? 1 : 0);
