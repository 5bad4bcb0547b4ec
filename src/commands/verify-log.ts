import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Answer, Cli } from './cli.ts';

const VERIFIER = path.resolve(import.meta.dirname, '../../verifier/main.ts');

/** Options that are passed to the verifier unchanged, except `key`, which is passed in the environment. */
interface VerifyOptions extends Readonly<Record<string, unknown>> {
  readonly key?: string;
  readonly witness?: string[];
}

const optionOf = (name: string): string =>
  name === 'to' ? '--export' : `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** `log signing-key`, `adopt-key`, and `verify` and `export`, which run the verifier, a program without the service's code. */
export function addLogCommands({ command, group, json, withDatabase, config }: Cli): void {
  const log = group('log', 'ballot logs');

  command(
    log,
    'signing-key',
    'write the key that signs the ballot logs to a file, to be set as LOG_SIGNING_KEY',
    'log signing-key --out log-signing-key.txt',
  )
    .requiredOption('--out <file>', 'a new file, readable by you alone')
    .action(({ out }: { out: string }) =>
      withDatabase(async (config, _check, url): Promise<Answer> => {
        const { readLogSigningKey } = await import('#src/ballot-log/service-identity.ts');
        const key = await readLogSigningKey(config, url);
        writeFileSync(out, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
        return {
          value: { file: out },
          next: ['Set LOG_SIGNING_KEY to what the file holds, and keep it apart from backups.'],
        };
      }),
    );

  command(
    log,
    'adopt-key',
    'go on with the configured LOG_SIGNING_KEY, after the earlier one was lost or leaked; while the service is stopped',
    'log adopt-key',
  ).action(() =>
    withDatabase(async (config, _check, url): Promise<Answer> => {
      const { adoptLogKey } = await import('#src/ballot-log/service-identity.ts');
      const verifierKey = await adoptLogKey(config, url);
      return {
        value: { verifierKey },
        next: ['Give every observer the new verifier key, by another way than the service.'],
      };
    }),
  );

  const verifying = (name: string, description: string, ...examples: readonly string[]) =>
    command(log, name, description, ...examples)
      .requiredOption('--event <event>', 'the event, by its ID or code')
      .option(
        '--key <key>',
        'a log, observe or vote key; better in the environment as VOTING_KEY; none where the log is open',
      )
      .option('--since <file>', 'a checkpoint that was saved before')
      .option('--save <file>', 'where to save the checkpoint for the next time')
      .option('--log-key <text>', 'the key that signs, as known from elsewhere')
      .option(
        '--witness <key>',
        'the verifier key of a witness; several times for several',
        (key: string, keys: string[] = []) => [...keys, key],
      )
      .option('--quorum <n>', 'how many of these witnesses must have cosigned; all unless given')
      .addHelpText(
        'after',
        '\nExit status: 0 everything is right, 1 something is wrong, 2 wrong usage, 3 what was checked is right and something could not be checked.',
      )
      .action(async ({ key, witness = [], ...options }: VerifyOptions) => {
        const printing = json() ? ['--json'] : [];
        const named = Object.entries(options).flatMap(([option, value]) =>
          typeof value === 'string' ? [`${optionOf(option)}=${value}`] : [],
        );
        const witnesses = witness.map((one) => `--witness=${one}`);
        // Every user of the machine can read arguments, so the key is passed in the environment.
        const child = spawn(process.execPath, [VERIFIER, ...named, ...witnesses, ...printing], {
          stdio: 'inherit',
          env: (await config()).verifierEnvironment(key),
        });
        const [code]: unknown[] = await once(child, 'exit');
        process.exitCode = typeof code === 'number' ? code : 2;
      });

  verifying(
    'verify',
    'verify the ballot log of an event from the outside, over HTTP or from exported files',
    'log verify --base-url https://vote.example.org --event evt_… --save checkpoint.txt',
    'log verify --base-url https://vote.example.org --event evt_… --since checkpoint.txt',
    'log verify --files agm-2026 --event evt_…',
  )
    .option('--base-url <url>', 'address of the service')
    .option(
      '--files <place>',
      'in place of a service: a folder of `log export`, or the address where a file server serves it',
    )
    .option('--promise <file>', 'the logPromise that a voter was given')
    .option('--code <file>', 'the confirmation code of a voter: shows that the ballot is in the log');

  verifying(
    'export',
    'verify the ballot log of an event, and save it as files for a file server',
    'log export --base-url https://vote.example.org --event evt_… --to agm-2026',
  )
    .requiredOption('--base-url <url>', 'address of the service')
    .requiredOption('--to <folder>', 'a folder for this event alone; a later export adds what is new');
}
