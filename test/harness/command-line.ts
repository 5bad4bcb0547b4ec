import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { programFile } from './programs.ts';
import type { TestService } from './test-service.ts';

export interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a process must have of ours to work on a service's database; nothing of the test's own environment. */
function environmentOf(service: TestService | undefined): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  if (service === undefined) return { PATH, HOME };
  const { databaseUrl, secretKey, deps } = service;
  const { dataDir, ballotKeysDir = '', ballotKeysCopies } = deps.config;
  const keys = { BALLOT_KEYS_DIR: ballotKeysDir, BALLOT_KEYS_COPIES: ballotKeysCopies.join() };
  return { PATH, HOME, DATABASE_URL: databaseUrl, SECRET_KEY: secretKey, DATA_DIR: dataDir, ...keys };
}

/** Starts one of the operator's commands as a process of its own, on the database of a test service. */
export function startCommand(
  service: TestService | undefined,
  words: readonly string[],
  more: Readonly<Record<string, string>> = {},
) {
  const child = spawn(process.execPath, [programFile('src/cli.ts'), ...words], {
    env: { ...environmentOf(service), ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
    ([stdout, stderr, [code]]): CommandEnd => ({ code: typeof code === 'number' ? code : null, stdout, stderr }),
  );
  return { child, end };
}

export function runCommand(
  service: TestService | undefined,
  words: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<CommandEnd> {
  return startCommand(service, words, more).end;
}
