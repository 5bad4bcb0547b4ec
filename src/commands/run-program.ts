import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { conflict } from '#src/platform/errors.ts';

type ProgramEnd = Awaited<ReturnType<typeof runProgram>>;

interface ProgramOptions {
  /** Environment variables of the program, besides PATH, LC_ALL and TZ. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  readonly onText?: (text: string) => void;
  /** Ends the program, and `runProgram` throws an `AbortError`. */
  readonly signal?: AbortSignal;
}

/** Runs a program of PostgreSQL to its end, with English messages, which callers parse. */
export async function runProgram(
  file: string,
  words: readonly string[],
  { environment = {}, user, onText, signal }: ProgramOptions = {},
) {
  const child = spawn(file, words, {
    ...user,
    ...(signal && { signal }),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => {
    err.push(chunk.toString());
    onText?.(chunk.toString());
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: out.join(''), stderr: err.join('') };
}

function reasonIn({ stderr, stdout }: ProgramEnd): string {
  const lines = `${stdout}\n${stderr}`.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  const faults = lines.filter((line) => /error|fatal/i.test(line));
  return (faults.at(-1) ?? lines.at(-1) ?? 'no reason given').replace(/^\S+: (error|fatal): /, '').trim();
}

/** @throws ApiError 409 with the program's own message if it failed */
export function requireDone(end: ProgramEnd, reason: string, what: string): ProgramEnd {
  if (end.code === 0) return end;
  throw conflict(reason, `${what}: ${reasonIn(end)}.`);
}

/** Values of `pg_controldata`, in the order of `names`. @throws ApiError 409 if it cannot read `data` */
export async function readControlData(
  folder: string,
  data: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const end = requireDone(
    await runProgram(`${folder}/pg_controldata`, ['-D', data]),
    'unreadable',
    `${data} cannot be read`,
  );
  const figures = new Map(
    end.stdout.split('\n').map((line) => [line.split(':')[0]?.trim(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return names.map((name) => {
    const figure = figures.get(name);
    if (figure === undefined) throw new Error(`pg_controldata says nothing of ${name}`);
    return figure;
  });
}
