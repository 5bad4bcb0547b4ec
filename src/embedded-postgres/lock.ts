import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { hasCode, unless } from '#src/platform/files.ts';

/** What a process that locks a home (a database's folder) writes into the lock. `port` is missing until its server takes connections. */
const ownerSchema = z.object({
  pid: z.int().positive(),
  purpose: z.enum(['service', 'command']),
  port: z.int().positive().optional(),
});

export type Owner = z.infer<typeof ownerSchema>;

export interface HomeLock {
  /** Writes the port on which the server takes connections into the owner's file. */
  publish(port: number): Promise<void>;
  release(): Promise<void>;
}

function inUseMessage(dataDir: string, owner: Owner | undefined): string {
  if (owner?.purpose === 'command')
    return `a command (process ${owner.pid}) is using the database of ${dataDir}: start again when it has ended`;
  const port = owner?.port === undefined ? '' : `, database port ${owner.port}`;
  const who = owner === undefined ? '' : ` (process ${owner.pid}${port})`;
  return `the service already runs from ${dataDir}${who}: stop it first, or set DATA_DIR to another folder`;
}

/** Another process holds the embedded database of this folder. The message is one line and says what to do. */
export class EmbeddedDatabaseInUse extends Error {
  override readonly name = 'EmbeddedDatabaseInUse';

  constructor(dataDir: string, owner: Owner | undefined) {
    super(inUseMessage(dataDir, owner));
  }
}

const SQLITE_BUSY = 5;
const SQLITE_CANTOPEN = 14;

const sqliteCode = (fault: unknown): number | undefined =>
  fault instanceof Error && 'errcode' in fault && typeof fault.errcode === 'number' ? fault.errcode : undefined;

/** References to the handles: the garbage collector would close an unreferenced handle and so release its lock. */
const heldHandles = new Set<DatabaseSync>();

// SQLite serves only as a file lock. The kernel releases the lock when the process dies, so that no lock is ever stale, and
// of two concurrent processes exactly one gets it. The file stays empty. This process must never open the file by other
// means: closing any descriptor of the file would release the lock.
function lockFile(file: string): DatabaseSync | undefined {
  let handle: DatabaseSync | undefined;
  try {
    handle = new DatabaseSync(file, { timeout: 0 });
    handle.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    heldHandles.add(handle);
    return handle;
  } catch (fault) {
    handle?.close();
    if (sqliteCode(fault) === SQLITE_BUSY) return undefined;
    if (sqliteCode(fault) !== SQLITE_CANTOPEN) throw fault;
    throw new Error(`cannot open ${file}: run this as the user that owns it`, { cause: fault });
  }
}

const ownerFile = (home: string): string => path.join(home, 'owner.json');

async function writeOwner(home: string, owner: Owner): Promise<void> {
  const draft = `${ownerFile(home)}.new`;
  await writeFile(draft, `${JSON.stringify(owner)}\n`);
  await rename(draft, ownerFile(home));
}

/** Takes the lock of a home for this process, or returns undefined at once if another process has it. */
export async function tryLock(home: string, purpose: Owner['purpose']): Promise<HomeLock | undefined> {
  const file = path.join(home, 'lock');
  await unless(writeFile(file, '', { flag: 'wx', mode: 0o600 }), 'EEXIST');
  const handle = lockFile(file);
  if (handle === undefined) return undefined;
  await writeOwner(home, { pid: process.pid, purpose });
  return {
    publish: (port) => writeOwner(home, { pid: process.pid, purpose, port }),
    async release() {
      await rm(ownerFile(home), { force: true });
      heldHandles.delete(handle);
      handle.close();
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return hasCode(fault, 'EPERM');
  }
}

/** The holder of a locked home; undefined until a new holder has overwritten the file that a crashed holder left. */
export async function readOwner(home: string): Promise<Owner | undefined> {
  try {
    const owner = ownerSchema.parse(JSON.parse(await readFile(ownerFile(home), 'utf8')));
    return isAlive(owner.pid) ? owner : undefined;
  } catch (fault) {
    // After a power cut the file may hold anything.
    if (hasCode(fault, 'ENOENT') || fault instanceof SyntaxError || fault instanceof z.ZodError) return undefined;
    throw fault;
  }
}
