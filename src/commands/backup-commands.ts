import { InvalidArgumentError } from 'commander';
import type { Cli } from './cli.ts';
import { parseFolder, parseLike, parseServerMoment, parseWhole } from './options.ts';
import type { RestoreOptions } from './restore-backup.ts';

const parsePoint = parseLike(/^[\w.:@ -]{1,63}$/, 'must be the name that pg_create_restore_point was given');

function parsePort(text: string): number {
  const port = parseWhole(9)(text);
  if (port > 65_535) throw new InvalidArgumentError('must be a port number');
  return port;
}

const BACKUP_HELP = `
DATABASE_URL names a role that may take backups (deploy/roles.sql makes voting_backup). The folder gets data/, the base
backup, and backup.json, what it is of. The server must archive its write-ahead log: without it, only the moment of the
backup could be given back. The keys of elections are left out, wherever they stand: --keys writes them to a folder of its
own, which may be the same each time, and takes those out of it whose elections are over. Programs
of PostgreSQL are looked for in PG_BIN, PATH and /usr/lib/postgresql.`;

const RESTORE_HELP = `
Neither the backup, nor the archive, nor the production server is written to: the restored server archives nothing. It
listens on 127.0.0.1 only. Without --at and --point, everything that the archive holds is given back.

Exit status: 0 the moment is there, 1 refused or the moment cannot be given back, 2 wrong usage.`;

/** `backup` and `restore`: point-in-time recovery of the database on a separate server (completions 9.3). */
export function addBackupCommands({ program, command, withServer, withDatabase, withPrograms, json }: Cli): void {
  command(
    program,
    'backup',
    'take and check a base backup of the database, or write the keys of elections to a place of their own',
    'backup --to /backups/2026-11-20',
    'backup --keys /key-backups/voting',
  )
    .option('--to <folder>', 'a new folder for the base backup', parseFolder)
    .option(
      '--keys <folder>',
      'a folder for the keys of elections that take ballots: never beside a base backup',
      parseFolder,
    )
    .addHelpText('after', BACKUP_HELP)
    .action((options: { to?: string; keys?: string }, self) => {
      const { to, keys } = options;
      if (keys !== undefined && to === undefined)
        return withDatabase(async (config, _check, url) =>
          (await import('./backup-keys.ts')).backupKeys(config, url, keys),
        );
      if (to === undefined || keys !== undefined)
        return self.error('error: name either --to or --keys: keys and data are never kept together', { exitCode: 2 });
      return withServer(async (config, url, programs) =>
        (await import('./take-backup.ts')).takeBackup({ config, url, programs, json: json() }, to),
      );
    });

  command(
    program,
    'restore',
    'give back a moment, on a new server beside the running one',
    'restore --backup /backups/2026-11-20 --archive /archive --to /restored --at 2026-11-21T09:59:00Z --port 5433',
  )
    .requiredOption('--backup <folder>', 'what `backup` made', parseFolder)
    .requiredOption('--archive <folder>', 'the archived write-ahead log', parseFolder)
    .requiredOption('--to <folder>', 'a new folder for the database', parseFolder)
    .option('--at <time>', 'the last moment that is to be there, with its time zone', parseServerMoment)
    .option('--point <name>', 'the named moment that is to be there (pg_create_restore_point)', parsePoint)
    .option('--timeline <number>', 'of production, where the archive holds several', parseWhole(9))
    .option('--keys <folder>', 'the keys of elections, as `backup --keys` wrote them', parseFolder)
    .option('--port <port>', 'where the restored server listens', parsePort, 5433)
    .addHelpText('after', RESTORE_HELP)
    .action((options: RestoreOptions, self) => {
      if (options.at !== undefined && options.point !== undefined)
        self.error('error: name a time or a point, not both', { exitCode: 2 });
      return withPrograms(async (programs) =>
        (await import('./restore-backup.ts')).restoreBackup(options, programs, json()),
      );
    });
}
