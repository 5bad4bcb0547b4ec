import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '#src/database/migrate.ts';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { hasPostgresTools, startOwnServer } from '#test/harness/own-server.ts';
import { addStandby, loseServer, promote, signalServer } from '#test/harness/standby.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';

/** The server that takes the writes; each of its faults waits for the one before. */
export interface ChaosDatabase {
  /** Where it takes writes now. */
  readonly url: string;
  /** Kills all its processes; it is back when the promise resolves. */
  kill(): Promise<void>;
  /** Loses it with its disk, and promotes its synchronous standby after a while. @param led leads everybody there */
  failOver(noticedMs: number, led: () => void): Promise<void>;
  stop(): Promise<void>;
}

const CONNECTIONS = 'max_connections = 300';

/** PostgreSQL of this machine with a standby, or the embedded one, which has none. */
async function startServers(folder: string): Promise<ChaosDatabase> {
  if (!hasPostgresTools) return startAlone(folder);
  let writer = await startOwnServer(path.join(folder, 'server-0'), [CONNECTIONS]);
  let standby = await addStandby(writer, path.join(folder, 'server-1'));
  let servers = 2;
  let last: Promise<void> = Promise.resolve();
  const afterOthers = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work);
    return last;
  };
  return {
    get url() {
      return writer.url;
    },
    kill: () =>
      afterOthers(async () => {
        signalServer(writer, 'KILL');
        // The killed process stays in the process table until its parent has noticed: PostgreSQL would take it for a running server.
        rmSync(path.join(writer.data, 'postmaster.pid'));
        writer.start();
      }),
    failOver: (noticedMs, led) =>
      afterOthers(async () => {
        loseServer(writer);
        await delay(noticedMs);
        promote(standby);
        writer = standby;
        led();
        standby = await addStandby(writer, path.join(folder, `server-${servers}`));
        servers += 1;
      }),
    async stop() {
      await last;
      for (const server of [standby, writer]) server.stop();
    },
  };
}

async function startAlone(folder: string): Promise<ChaosDatabase> {
  const server = await startEmbeddedDatabase({ dataDir: folder });
  await runStatements(server.url, ['CREATE DATABASE voting']);
  const url = withDatabase(server.url, 'voting');
  const begun = (): Promise<number | undefined> =>
    withClient(url, async (client) => {
      const { rows } = await client.query('SELECT pg_postmaster_start_time() AS at');
      return rows[0]?.at.getTime();
    }).catch(() => undefined);
  return {
    url,
    async kill() {
      const before = await begun();
      process.kill(
        Number(readFileSync(path.join(folder, 'postgres/cluster/postmaster.pid'), 'utf8').split('\n')[0]),
        'SIGKILL',
      );
      // Its children answer for a moment longer than it lives.
      for (let now = before; now === undefined || now === before; now = await begun()) await delay(100);
    },
    failOver: () => Promise.reject(new Error('the embedded server has no standby')),
    stop: () => server.stop(),
  };
}

/** @param isLossy whether it acknowledges what is not on its disk yet: the control, in which a kill must lose votes */
export async function startDatabase(folder: string, isLossy: boolean): Promise<ChaosDatabase> {
  const database = await startServers(folder);
  if (isLossy) await runStatements(database.url, ['ALTER DATABASE voting SET synchronous_commit = off']);
  await migrate(database.url);
  return database;
}
