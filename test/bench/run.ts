import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ballot } from './ballot.ts';
import { ballotLog } from './ballot-log.ts';
import { type Bench, startBench } from './bench-service.ts';
import { cast, castManyEntries, castVoters } from './cast.ts';
import { castCpu } from './cast-cpu.ts';
import { concurrency } from './concurrency.ts';
import { confirm } from './confirm.ts';
import { events } from './events.ts';
import { growth } from './growth.ts';
import { castLatency } from './latency.ts';
import { type BenchLine, isMeasured, type Line } from './line.ts';
import { memory } from './memory.ts';
import { overload } from './overload.ts';
import { paidVotes } from './paid.ts';
import { instantRunoff, results } from './results.ts';
import { describeLines, jsonOf, summarise } from './show-lines.ts';
import { start } from './start.ts';
import { voterBatches, voterPages } from './voter-lists.ts';
import { webhookDeliveries } from './webhook-deliveries.ts';

/** In the order in which they are measured: what fills the database comes last. */
const LINES: Readonly<Record<string, BenchLine>> = {
  cast,
  entries: castManyEntries,
  latency: castLatency,
  voters: castVoters,
  cpu: castCpu,
  confirm,
  concurrency,
  overload,
  paid: paidVotes,
  ballot,
  batches: voterBatches,
  events,
  webhooks: webhookDeliveries,
  pages: voterPages,
  results,
  runoff: instantRunoff,
  log: ballotLog,
  growth,
  memory,
  start,
};

const USAGE = `npm run bench -- [--json] [--scale SHARE] [--seed NUMBER] [--profile FOLDER] [line …]

  --json            prints JSON instead of a table; the same is kept in bench/latest.json
  --scale SHARE     the share of the full number of rows, such as 0.01, for trying a line out
  --seed NUMBER     what sizes and mixes are drawn from; without it, another one each time, printed with the table
  --profile FOLDER  leaves CPU profiles of the servers in a folder

Lines: ${Object.keys(LINES).join(', ')}. Without any, all are measured.
`;

async function measureAll(bench: Bench, names: readonly string[]): Promise<Line[]> {
  const measured: Line[] = [];
  for (const name of names) {
    const line = LINES[name];
    if (line === undefined) continue;
    const [begin, before] = [performance.now(), measured.length];
    process.stderr.write(`${name} `);
    try {
      measured.push(...(await line(bench)));
    } catch (fault) {
      // The other lines are measured all the same; this one is shown as what it is.
      measured.push({
        work: name,
        missing: `It failed: ${fault instanceof Error ? fault.message : String(fault)}`,
        failed: true,
      });
    }
    process.stderr.write(` ${((performance.now() - begin) / 1_000).toFixed(0)} s\n`);
    // A run that is cut off has shown what it measured.
    for (const one of measured.slice(before)) process.stderr.write(`  ${summarise(one)}\n`);
  }
  return measured;
}

/** What the figures depend on besides the program. */
async function describeMachine(bench: Bench): Promise<string> {
  const { rows } = await bench.pool.query<{ settings: string }>(
    `SELECT 'PostgreSQL ' || current_setting('server_version') || ', ' || string_agg(name || ' ' || setting, ', ' ORDER BY name) AS settings
     FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes')`,
  );
  const [first] = cpus();
  return `${cpus().length} cores (${first?.model.trim() ?? 'unknown'}), Node ${process.version}, ${rows[0]?.settings}, seed ${bench.seed}`;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      scale: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      profile: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const unknown = positionals.filter((name) => !Object.hasOwn(LINES, name));
  if (values.help === true || unknown.length > 0) {
    process.stderr.write(unknown.length > 0 ? `There is no line ${unknown.join(', ')}.\n\n${USAGE}` : USAGE);
    return values.help === true ? 0 : 2;
  }
  const bench = await startBench({
    ...{ scale: Number(values.scale), seed: Number(values.seed), profileFolder: values.profile },
  });
  try {
    const machine = await describeMachine(bench);
    const measured = await measureAll(bench, positionals.length > 0 ? positionals : Object.keys(LINES));
    const json = jsonOf(machine, measured);
    process.stdout.write(values.json === true ? json : describeLines(machine, measured));
    const folder = path.resolve(import.meta.dirname, '../../bench');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'latest.json'), json);
    return measured.some((line) => !isMeasured(line) && line.failed === true) ? 1 : 0;
  } finally {
    await bench.stop();
  }
}

process.exitCode = await main();
