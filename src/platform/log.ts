import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

function textOf(fault: object, key: string): string | undefined {
  const value: unknown = Reflect.get(fault, key);
  return typeof value === 'string' ? value : undefined;
}

/** The frames of a stack, without its first line, which repeats the message. */
function framesOf(error: Error): string | undefined {
  return error.stack
    ?.split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 8)
    .join('\n');
}

/**
 * Summarises a fault for the log: class, database code, constraint, reply of a mail server (code and command) and frames, but not
 * the message, which may contain secrets or the parameters of a statement.
 */
export function summariseFault(fault: unknown) {
  if (!(fault instanceof Error)) return { name: typeof fault };
  const inner = fault.cause instanceof Error ? fault.cause : fault;
  // JSON leaves undefined fields out.
  const [code, constraint, reply] = ['code', 'constraint', 'reply'].map((key) => textOf(inner, key));
  return { name: inner.name, code, constraint, reply, stack: framesOf(fault) };
}

type AlarmListener = (name: string) => void;
const alarmListeners = new WeakMap<Log, Set<AlarmListener>>();

/** Calls the listener for each log line with the field `alarm`: a problem that a person must look at and metrics count. */
export function onAlarm(log: Log, listener: AlarmListener): void {
  alarmListeners.get(log)?.add(listener);
}

/** Lines that wait while the disk of standard output is full: the newest ones beyond are left out. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024;

/** Writes lines to standard output. Where that is a file on a full disk, lines wait, and the process lives on. */
function openOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: false, maxLength: MOST_WAITING_BYTES });
  let isRefused = false;
  // Lines that were refused are written with a later one. Without this listener, the error would end the process.
  output.on('error', () => {
    isRefused = true;
  });
  output.on('write', () => {
    isRefused = false;
  });
  const flush = output.flushSync.bind(output);
  // Called at the exit of the process, which would wait until the disk has room.
  output.flushSync = () => {
    if (!isRefused) flush();
  };
  return output;
}

/** JSON lines; on a terminal time, level, message, fields in one line. Callers pass only allow-listed fields: nothing needs redaction. */
export function createLog(
  level: string,
  destination: DestinationStream = process.stdout.isTTY
    ? pretty({ translateTime: 'SYS:HH:MM:ss', singleLine: true, sync: true })
    : openOutput(),
): Log {
  const listeners = new Set<AlarmListener>();
  const { [level]: shownFrom = Number.POSITIVE_INFINITY, error = 0 } = pino.levels.values;
  const options: LoggerOptions = {
    // A level that is off does not call the hook that counts alarms. So `error` stays on, even if it is not written.
    level: shownFrom > error ? 'error' : level,
    base: null,
    timestamp: () => `,"time":${Date.now()}`,
    hooks: {
      logMethod(line, method, severity) {
        const name = typeof line[0] === 'object' && line[0] !== null ? textOf(line[0], 'alarm') : undefined;
        if (name !== undefined) for (const listener of listeners) listener(name);
        if (severity >= shownFrom) method.apply(this, line);
      },
    },
  };
  const log = pino(options, destination);
  alarmListeners.set(log, listeners);
  return log;
}
