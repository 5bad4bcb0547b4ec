import { InvalidArgumentError } from 'commander';
import type { Cli } from './cli.ts';
import type { ImportOptions } from './import-voters.ts';
import type { RollFormat } from './read-roll.ts';

function parseFormat(text: string): RollFormat {
  if (text === 'csv' || text === 'jsonl') return text;
  throw new InvalidArgumentError('must be csv or jsonl');
}

const HELP = `
The first line of a CSV file names its columns: name, and email or voterId or both; group (its name) or groupId, weight
and status where wanted. Commas, semicolons and tabs are understood. A .jsonl file holds one such object a line, as in
POST …/voters/batch, whose rules are applied. UTF-8.

Lines that are not right are left out, shown, and written beside the file with the reason, ready to be mended and imported.
A run that was cut off goes on where it was when the same file is imported again: nothing twice, nothing lost.`;

/** `voters import`: a roll of any length, with memory that does not grow with it (completions 9.3). */
export function addVoterCommands(cli: Cli): void {
  const voters = cli.group('voters', 'the roll of an event');
  cli
    .command(
      voters,
      'import',
      'import voters from a CSV or JSON-lines file',
      'voters import --event CODE --file roll.csv --dry-run',
      'voters import --event CODE --file roll.csv',
    )
    .requiredOption('--event <idOrCode>', 'the event')
    .requiredOption('--file <file>', 'a CSV file, or .jsonl with one JSON object a line')
    .option('--format <format>', 'csv or jsonl, where the name does not tell', parseFormat)
    .option('--dry-run', 'say what would happen, and store nothing')
    .option('--skip-existing', 'pass over voters that the event has already, instead of rejecting their lines')
    .option('--again', 'begin with the first line, although the file was imported before')
    .option('--rejected <file>', 'where rejected lines are written; beside the file unless set')
    .addHelpText('after', HELP)
    .action((options: ImportOptions) =>
      cli.withDeps(async (deps) => (await import('./import-voters.ts')).importRoll(cli, deps, options)),
    );
}
