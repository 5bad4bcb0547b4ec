import type pg from 'pg';
import type { Answer, Cli } from './cli.ts';
import { commandLine } from './cli.ts';

/** Commands that re-encrypt values after a rotation of SECRET_KEY, and that mark the folders with the keys of elections. */
export function addSecretCommands({ command, group, withDeps, withDatabase, json }: Cli): void {
  const secrets = group('secrets', 'values that are sealed under SECRET_KEY');

  command(
    secrets,
    'status',
    'count what is sealed under the present secret key, and under earlier ones',
    'secrets status',
  ).action(() =>
    withDeps(async (deps): Promise<Answer> => {
      const { countSealed } = await import('./reseal-secrets.ts');
      const counts = await countSealed(deps.db, deps.secrets);
      const left = counts.filter(({ underEarlierKeys }) => underEarlierKeys > 0);
      return {
        value: counts.map((one) => ({ ...one })),
        next: left.some(({ resealable }) => resealable)
          ? [commandLine('secrets reseal')]
          : left.length > 0
            ? ['What is left goes by itself; until then list the earlier key: SECRET_KEY=new,old.']
            : ['Nothing is left of earlier keys: SECRET_KEY=new is enough.'],
      };
    }),
  );

  command(
    secrets,
    'reseal',
    'seal what earlier keys sealed under the present one, while the service runs',
    'secrets reseal',
  ).action(() =>
    withDeps(async (deps): Promise<Answer> => {
      const { countSealed, resealSecrets } = await import('./reseal-secrets.ts');
      const { showProgress } = await import('./progress.ts');
      const before = await countSealed(deps.db, deps.secrets);
      const total = before.reduce((sum, one) => sum + (one.resealable ? one.underEarlierKeys : 0), 0);
      const progress = json() ? undefined : showProgress(total, 0, 'values');
      let resealed = 0;
      const unreadable = await resealSecrets(deps.db, deps.secrets, (count) => {
        resealed += count;
        progress?.update(resealed, '');
      });
      progress?.stop();
      return {
        value: { resealed, unreadable },
        refused: unreadable > 0,
        next:
          unreadable > 0
            ? [`${unreadable} values open under no listed key: list the one that they were sealed under as well.`]
            : [`${commandLine('secrets status')} shows what is left of the earlier key`],
      };
    }),
  );

  command(
    group('ballot-keys', 'the folders that hold the keys of elections, and the last checkpoints'),
    'init',
    'mark the folders of the settings as those of this service, after the first start',
    'ballot-keys init',
  )
    .option(
      '--accept-loss',
      'even where the key of an election that is not final is missing: the ballots that wait are lost',
    )
    .action(({ acceptLoss }: { acceptLoss?: boolean }) =>
      withDatabase(async (config, _check, url): Promise<Answer> => {
        const { withConnection } = await import('#src/database/check-server.ts');
        const { initPlaces } = await import('#src/voting-events/key-places.ts');
        const urls = [url, ...config.databaseCells.map((cell) => cell.url).filter((other) => other !== url)];
        const mark = (clients: readonly pg.Client[]): Promise<string[]> => {
          const [first, ...others] = clients;
          const next = urls[clients.length];
          if (next !== undefined) return withConnection(next, (client) => mark([...clients, client]));
          if (first === undefined) throw new Error('there is no cell');
          return initPlaces(config, first, acceptLoss === true, others);
        };
        const marked = await mark([]);
        return {
          value: { marked },
          shown: { marked: marked.join(', ') || 'none, all are' },
          next: [commandLine('doctor')],
        };
      }),
    );
}
