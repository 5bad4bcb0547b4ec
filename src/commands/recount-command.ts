import { InvalidArgumentError } from 'commander';
import { conflict } from '#src/platform/errors.ts';
import type { Cli } from './cli.ts';

interface RecountOptions {
  readonly event: string;
  readonly baseUrl?: string;
  readonly key?: string;
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('must be an address such as https://vote.example.org');
  return /^.*[^/]/s.exec(text)?.[0] ?? '';
}

const HELP = `
The count is held against the roll (who voted), the signed log with each ballot's leaf, and after the end against the
result that the log bears. With --base-url it is compared with what the running service answers at the same moment; the
key comes from the environment as VOTING_KEY.

Exit status: 0 everything agrees, 1 something differs (the last table says what), 2 wrong usage.`;

/** `recount`: counts from the first ballot on, and compares (completions 9.3; trust I9). */
export function addRecountCommand(cli: Cli): void {
  cli
    .command(
      cli.program,
      'recount',
      'count the box of an event from the first ballot on, and compare',
      'recount --event CODE',
      'recount --event CODE --base-url https://vote.example.org',
    )
    .requiredOption('--event <idOrCode>', 'the event')
    .option('--base-url <url>', 'address of the running service to compare with', parseUrl)
    .option('--key <key>', 'a read key of the event’s account; better in the environment as VOTING_KEY')
    .addHelpText('after', HELP)
    .action((options: RecountOptions) =>
      cli.withDeps(async (deps) => {
        const { recount } = await import('./recount.ts');
        const { baseUrl } = options;
        if (baseUrl === undefined) return recount(deps, options, undefined);
        const key = await cli.votingKey(options.key);
        if (key === undefined) throw conflict('no_key', 'set VOTING_KEY to a read key of the event’s account.');
        return recount(deps, options, { baseUrl, key });
      }),
    );
}
