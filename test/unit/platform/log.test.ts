import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { createLog, onAlarm } from '#src/platform/log.ts';

test.each([
  ['error', ['error', 'fatal']],
  ['fatal', ['fatal']],
  ['silent', []],
])('at LOG_LEVEL=%s every alarm is counted, and lines below the level are not written', (level, shown) => {
  const [written, alarms]: [string[], string[]] = [[], []];
  const log = createLog(level, { write: (line) => void written.push(JSON.parse(line).msg) });
  onAlarm(log, (name) => alarms.push(name));
  for (const severity of ['warn', 'error', 'fatal'] as const) log[severity]({ alarm: severity }, severity);
  expect(alarms).toEqual(expect.arrayContaining(['error', 'fatal']));
  expect(written).toEqual(shown);
});

/** Starts a program with a log whose lines go to an open file. @param isLast whether no further program gets the file */
function logTo(output: number, program: string, isLast = true) {
  const script = `const { createLog } = await import('#src/platform/log.ts'); const log = createLog('info'); ${program}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', output, 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (isLast) closeSync(output);
  const { stderr } = child;
  if (stderr === null) throw new Error('the program has no standard error');
  return { ended: once(child, 'exit'), stderr };
}

// Completions 1.6: the process lives on.
test('a process whose log goes to a full disk lives on, and ends when it is asked to', async () => {
  const program = `for (let n = 0; n < 50; n += 1) log.info('a request');
    setTimeout(() => { log.info('later'); process.stderr.write('alive'); process.exit(0); }, 300);`;
  const { ended, stderr } = logTo(openSync('/dev/full', 'w'), program);
  const [words, [status]] = await Promise.all([text(stderr), ended]);
  expect([words, status]).toEqual(['alive', 0]);
});

/** Opens a pipe for writing. @param isRead whether it has a reader, who takes nothing yet */
function openPipe(isRead: boolean) {
  const folder = mkdtempSync(path.join(tmpdir(), 'log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pipe = path.join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const keeper = openSync(pipe, 'r+');
  const output = openSync(pipe, 'w');
  if (!isRead) closeSync(keeper);
  return { output, read: () => createInterface({ input: createReadStream(pipe) }), leave: () => closeSync(keeper) };
}

test('lines that were not taken are written in order when there is room again, and lines beyond a bound are counted', async () => {
  // A pipe without a reader takes nothing, as a full disk, and takes lines again once there is a reader.
  const { output, read } = openPipe(false);
  const program = `for (let n = 0; n < 60_000; n += 1) log.info({ n }, 'x'.repeat(100));
    setTimeout(() => { process.stderr.write('written'); setTimeout(() => log.info('the end'), 3_000); }, 300);`;
  await once(logTo(output, program).stderr, 'data');
  const seen: { n?: number; lines?: number; msg: string }[] = [];
  for await (const line of read()) seen.push(JSON.parse(line));
  const [end, lost] = [seen.pop(), seen.pop()];
  expect(end?.msg).toBe('the end');
  expect(seen.map(({ n }) => n)).toEqual(seen.map((_, index) => index));
  expect(seen.length).toBeGreaterThan(10_000);
  expect(seen.length + (lost?.lines ?? 0)).toBe(60_000);
});

// docs/operations.md: every request writes one line. The processes of a container share one pipe.
test('lines of two processes stay whole in a pipe whose reader is slow', async () => {
  const { output, read, leave } = openPipe(true);
  const program = `for (let n = 0; n < 5_000; n += 1) log.info({ n }, 'x'.repeat(100));
    setTimeout(() => process.stderr.write('written'), 300); setTimeout(() => undefined, 3_000);`;
  const programs = [logTo(output, program, false), logTo(output, program)];
  await Promise.all(programs.map(({ stderr }) => once(stderr, 'data')));
  const lines = read();
  leave();
  let whole = 0;
  for await (const line of lines) whole += JSON.parse(line).n >= 0 ? 1 : 0;
  expect(whole).toBe(10_000);
});

test('a process that exits in the middle of its lines has written all of them', async () => {
  const { output, read, leave } = openPipe(true);
  const program = `for (let n = 0; n < 2_000; n += 1) log.info({ n }, 'x'.repeat(100));
    setTimeout(() => process.exit(0), 1);`;
  const lines = read();
  const { ended } = logTo(output, program);
  ended.then(leave);
  const seen: number[] = [];
  for await (const line of lines) seen.push(JSON.parse(line).n);
  // Those whose write was under way may come last.
  expect(seen.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
});
