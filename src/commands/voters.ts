import type { Cli } from './cli.ts';
import type { Notification, NotifyOptions } from './notify-voters.ts';
import { parseChoice, parseEvent } from './options.ts';
import type { PrintOptions } from './print-letters.ts';
import type { ImportOptions } from './send-roll.ts';

const AUDIENCES: readonly Notification['audience'][] = ['all', 'not_invited', 'not_voted'];
const KINDS: readonly Notification['kind'][] = ['key', 'reminder'];

const HELP = `
The first line of the file names its columns: name, and email or voterId or both; group (its name) or groupId, weight
and status where wanted. Commas, semicolons and tabs are understood; with semicolons, weights may be written 2,5. A
heading of another name is said with --map "E-Mail=email"; --ignore-columns passes over the rest. The rules are those of
POST …/voters/batch. UTF-8.

Lines that are not right are left out, shown, and written beside the file with the reason, ready to be mended and imported.
A run that was cut off goes on where it was when the same file is imported again: nothing twice, nothing lost.

A run that was cut off is taken up within a day. With VOTING_API_KEY the file goes to the service at VOTING_API over HTTP,
and no database is needed. Without it, the database of the operator's own service is written to.`;

const NOTIFY_HELP = `
Needs VOTING_API_KEY, and VOTING_API where the service is not on this machine. Nobody gets two mails of one kind within 24
hours (reminders: 6), so that running it twice does no harm. The mails go out in the background, also when this command ends.`;

const LETTERS_HELP = `
Needs VOTING_API_KEY, and VOTING_API where the service is not on this machine. The files can be downloaded once: whoever has a
letter can vote, so keep them to yourself and delete them when they are printed. New letters end the keys of those before.`;

interface ImportArguments extends Omit<ImportOptions, 'file'> {
  readonly file?: string;
}

/** `voters import`: a roll of any length in constant memory (completions 9.3, 10.3); `voters notify` (10.2); `voters letters` (10.9). */
export function addVoterCommands(cli: Cli): void {
  const voters = cli.group('voters', 'the roll of an event');
  const importing = cli
    .command(
      voters,
      'import',
      'import voters from a CSV file',
      'voters import roll.csv --event CODE --dry-run',
      'voters import roll.csv --event CODE',
    )
    .argument('[file]', 'a CSV file')
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .option('--file <file>', 'the same file')
    .option('--map <pair...>', '"Heading=column": what a column of the file is')
    .option('--ignore-columns', 'pass over columns that are none of these')
    .option('--dry-run', 'say what would happen, and store nothing')
    .option('--skip-existing', 'pass over voters that the event has already, instead of rejecting their lines')
    .option('--again', 'begin with the first line, although the file was imported before')
    .option('--rejected <file>', 'where rejected lines are written; beside the file unless set')
    .addHelpText('after', HELP)
    .action(async (named: string | undefined, { file = named, ...rest }: ImportArguments) => {
      if (file === undefined) return importing.error("error: missing argument 'file'", { exitCode: 1 });
      const options: ImportOptions = { ...rest, file };
      const { sendRoll } = await import('./send-roll.ts');
      await ((await cli.hasApiKey())
        ? cli.withApi((...clients) => sendRoll(cli, clients, options))
        : cli.withOwnService(options.event, (client, patient, isReplayed, requireRoom) =>
            sendRoll(cli, [client, patient, isReplayed], options, requireRoom),
          ));
    });

  cli
    .command(
      voters,
      'notify',
      'mail voter keys or reminders to many voters',
      'voters notify --event CODE',
      'voters notify --event CODE --kind reminder',
    )
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .option('--kind <kind>', 'key (the invitation) or reminder', parseChoice(KINDS), 'key')
    .option(
      '--audience <audience>',
      'all, not_invited (for keys unless set) or not_voted (for reminders)',
      parseChoice(AUDIENCES),
    )
    .option('--before-opening', 'mail them although the event, which is scheduled and ready, is not open yet')
    .option('--no-wait', 'do not wait until all mails are sent')
    .addHelpText('after', NOTIFY_HELP)
    .action((options: NotifyOptions) =>
      cli.withApi(async (client, patient) =>
        (await import('./notify-voters.ts')).notifyVoters(cli, [client, patient], options),
      ),
    );

  cli
    .command(
      voters,
      'letters',
      'print letters with voter keys, for voters without an e-mail address',
      'voters letters --event CODE',
      'voters letters --event CODE --audience all --paper letter',
    )
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .option('--audience <audience>', 'without_email or all', parseChoice(['without_email', 'all']), 'without_email')
    .option('--paper <paper>', 'a4 or letter', parseChoice(['a4', 'letter']), 'a4')
    .option('--before-opening', 'print them although the event, which is scheduled and ready, is not open yet')
    .option('--folder <folder>', 'where the files go, made where it is not there; here unless set')
    .addHelpText('after', LETTERS_HELP)
    .action((options: PrintOptions) =>
      cli.withApi(async (client, patient) =>
        (await import('./print-letters.ts')).printLetters(cli, [client, patient], options),
      ),
    );
}
