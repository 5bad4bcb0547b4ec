import { expect, test } from 'vitest';
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
