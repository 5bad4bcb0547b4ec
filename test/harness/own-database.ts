import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { findHome } from './find-home.ts';

/**
 * An embedded database of its own in a fresh folder, for programs beside the tests. `stop` leaves nothing behind.
 * @param durable whether it loses nothing in a power cut
 */
export async function startOwnDatabase(name: string, durable: boolean) {
  const dataDir = await mkdtemp(path.join(tmpdir(), `voting-${name}-`));
  // As root, PostgreSQL runs as another user, who has to pass.
  await chmod(dataDir, 0o711);
  const tidy = async (): Promise<void> => {
    const home = await findHome(dataDir);
    if (home !== undefined) await rm(home, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const server = await startEmbeddedDatabase({ dataDir, durable });
    return { url: server.url, dataDir, stop: () => server.stop().finally(tidy) };
  } catch (fault) {
    await tidy();
    throw fault;
  }
}
