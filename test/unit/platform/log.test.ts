import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createLog, onAlarm } from '#src/platform/log.ts';
import { useFolder } from '#test/harness/use.ts';

const folder = useFolder('voting-log-');

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

// Completions 1.6: the process lives on. A limit on the length of files stands for the full disk.
test.each([
  ['ends without the lines', false, []],
  ['writes the lines once there is room', true, [1, 2, 3]],
])('a process whose output is on a full disk lives on, and %s', (_what, hasRoom, written) => {
  const file = path.join(folder, `${hasRoom}.log`);
  const room = `execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])`;
  const program = `
    import { execFileSync } from 'node:child_process';
    import { setTimeout } from 'node:timers/promises';
    import { createLog } from ${JSON.stringify(path.resolve(import.meta.dirname, '../../../src/platform/log.ts'))};
    const log = createLog('info');
    for (const n of [1, 2]) { log.info({ n }); await setTimeout(50); }
    ${hasRoom ? room : ''};
    log.info({ n: 3 });
    await setTimeout(50);`;
  const words = ['-c', `ulimit -S -f 0; exec "$0" --input-type=module -e "$1" > "$2"`, process.execPath, program, file];
  expect(spawnSync('sh', words, { encoding: 'utf8', timeout: 60_000 })).toMatchObject({ status: 0, stderr: '' });
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  expect(lines.map((line) => JSON.parse(line).n)).toEqual(written);
});
