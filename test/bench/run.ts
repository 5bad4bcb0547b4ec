import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { startBenchService } from './bench-service.ts';
import type { BenchLine, Measurement } from './line.ts';
import { webhookDeliveries } from './webhook-deliveries.ts';

const LINES: Readonly<Record<string, BenchLine>> = { webhooks: webhookDeliveries };

function reached({ ours, theirs, goal }: Measurement): boolean {
  const ratio = ours / theirs;
  return 'atLeast' in goal ? ratio >= goal.atLeast : ratio <= goal.atMost;
}

function describe(measured: Measurement): string {
  const { work, reference, unit, ours, theirs, goal, limit } = measured;
  const wanted = 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
  const round = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));
  const verdict = reached(measured) ? 'reached' : `MISSED: ${limit}`;
  return `${work}: ${round(ours)}${unit} — ${reference}: ${round(theirs)}${unit} — ratio ${(ours / theirs).toFixed(2)}, goal ${wanted}, ${verdict}`;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(LINES, name));
if (unknown.length > 0) {
  process.stderr.write(`unknown: ${unknown.join(', ')}. Lines: ${Object.keys(LINES).join(', ')}\n`);
  process.exit(2);
}
const service = await startBenchService();
const measured: Measurement[] = [];
for (const [name, line] of Object.entries(LINES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  process.stderr.write(`${name} `);
  measured.push(...(await line(service)));
  process.stderr.write('\n');
}
await service.stop();
const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, fsync on, synchronous_commit on`;
process.stdout.write(`${machine}\n${measured.map(describe).join('\n')}\n`);
const folder = path.resolve(import.meta.dirname, '../../bench');
mkdirSync(folder, { recursive: true });
writeFileSync(path.join(folder, 'latest.json'), `${JSON.stringify({ machine, measured }, null, 2)}\n`);
