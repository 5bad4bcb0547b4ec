import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Cli } from './cli.ts';

const VERIFIER = path.resolve(import.meta.dirname, '../../verifier/main.ts');

interface VerifyOptions {
  readonly baseUrl: string;
  readonly event: string;
  readonly key?: string;
  readonly since?: string;
  readonly save?: string;
  readonly logKey?: string;
  readonly promise?: string;
}

/** `log verify`: runs the outside verifier, which shares no code with the service and reads it over HTTP only. */
export function addLogCommands(
  { command, group, json }: Cli,
  environmentWith: (votingKey: string | undefined) => Readonly<Record<string, string | undefined>>,
): void {
  const log = group('log', 'ballot logs');

  command(
    log,
    'verify',
    'verify the ballot log of an event from the outside, over HTTP only',
    'log verify --base-url https://vote.example.org --event evt_… --save checkpoint.txt',
    'log verify --base-url https://vote.example.org --event evt_… --since checkpoint.txt',
  )
    .requiredOption('--base-url <url>', 'address of the service')
    .requiredOption('--event <id>', 'the event')
    .option('--key <key>', 'an observe or vote key; better in the environment as VOTING_KEY')
    .option('--since <file>', 'a checkpoint that was saved before')
    .option('--save <file>', 'where to save the checkpoint for the next time')
    .option('--log-key <text>', 'the key that signs, as known from elsewhere')
    .option('--promise <file>', 'the logPromise that a voter was given')
    .addHelpText(
      'after',
      '\nExit status: 0 everything checked is right, 1 a check failed, 2 wrong usage or the service cannot be read.',
    )
    .action(async ({ key, ...options }: VerifyOptions) => {
      const printing = json() ? ['--json'] : [];
      const named = Object.entries({
        ...{ 'base-url': options.baseUrl, event: options.event, since: options.since, save: options.save },
        ...{ 'log-key': options.logKey, promise: options.promise },
      }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
      // A key that stands in an argument is seen by everybody on the machine: it is passed on in the environment.
      const child = spawn(process.execPath, [VERIFIER, ...named, ...printing], {
        stdio: 'inherit',
        env: environmentWith(key),
      });
      const [code]: unknown[] = await once(child, 'exit');
      process.exitCode = typeof code === 'number' ? code : 2;
    });
}
