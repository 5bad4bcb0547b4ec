import { conflict } from '#src/platform/errors.ts';
import type { Answer, Cli } from './cli.ts';
import { commandLine } from './cli.ts';
import { parseEvent } from './options.ts';

const HELP = `
A waiting ballot is set back where its row is not as the service wrote it: somebody else wrote to the database. It counts nowhere, and
its event is disputed and not final as long as it is there. Find out first who wrote, and whether a backup holds the row as it was.`;

/** `ballots set-back list|drop` (completions 6.7, 9.3). */
export function addSetBackCommands({ command, group, withDeps }: Cli): void {
  const setBack = group('ballots', 'confirmed ballots on their way to the log')
    .command('set-back')
    .description('waiting ballots whose rows the service did not write')
    .exitOverride();

  command(setBack, 'list', 'list them, at most 1,000', 'ballots set-back list --event CODE')
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .addHelpText('after', HELP)
    .action(({ event: reference }: { event: string }) =>
      withDeps(async ({ db }): Promise<Answer> => {
        const { listSetBack } = await import('#src/ballot-log/set-back.ts');
        const { findAnyEvent } = await import('#src/voting-events/access.ts');
        const event = await findAnyEvent(db, reference);
        const ballots = (await listSetBack(db, event.id)).map((id) => ({ ballot: id }));
        return {
          value: { votingEventId: event.id, ballots },
          shown: ballots,
          next: ballots.length === 0 ? [] : [commandLine(`ballots set-back drop --event ${event.code}`)],
        };
      }),
    );

  command(setBack, 'drop', 'drop them for good; the log says how many', 'ballots set-back drop --event CODE')
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .addHelpText('after', HELP)
    .action(({ event: reference }: { event: string }) =>
      withDeps(async (deps): Promise<Answer> => {
        const { dropSetBack } = await import('#src/ballot-log/set-back.ts');
        const { findAnyEvent } = await import('#src/voting-events/access.ts');
        const event = await findAnyEvent(deps.db, reference);
        const dropped = await dropSetBack(deps, event.id);
        if (dropped === undefined) throw conflict('no_log', 'the event has no log yet, and no ballot waits.');
        const verify = commandLine(`log verify --base-url https://vote.example.org --event ${event.code}`);
        return { value: { votingEventId: event.id, ...dropped }, next: [verify] };
      }),
    );
}
