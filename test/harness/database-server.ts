import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { findHome } from './find-home.ts';

interface DatabaseServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** A server in a temporary folder, which goes with it. */
export async function startServer(): Promise<DatabaseServer> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'voting-tests-'));
  // As root, PostgreSQL runs as another user, who has to pass.
  await chmod(dataDir, 0o711);
  async function removeFolder(): Promise<void> {
    const home = await findHome(dataDir);
    if (home !== undefined) await rm(home, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  }
  try {
    const server = await startEmbeddedDatabase({ dataDir, durable: false, log: () => undefined });
    return { url: server.url, stop: () => server.stop().finally(removeFolder) };
  } catch (fault) {
    await removeFolder();
    throw fault;
  }
}
