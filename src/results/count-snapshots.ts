import { deserialize, serialize } from 'node:v8';
import { eq, sql } from 'drizzle-orm';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Database } from '#src/database/client.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import { RunningCount, type SavedRunningCount } from './running-count.ts';
import { countSnapshots } from './tables.ts';

/** Version of what `serialize` writes here; another version is not read. */
const FORMAT = 2;

interface SnapshotDeps {
  readonly db: Database;
  readonly secrets: Secrets;
}

function sealOf({ secrets }: SnapshotDeps, paper: BallotPaper, state: Uint8Array): Buffer {
  const { id, paperVersion } = paper.event;
  return secrets.mac('count-snapshot', Buffer.concat([Buffer.from(`${FORMAT} ${id} ${paperVersion} `), state]));
}

/** Keeps a count of the box for the processes that start later. A count of too many different ballots is not kept. */
export async function saveSnapshot(
  deps: SnapshotDeps,
  paper: BallotPaper,
  count: RunningCount,
  nowMs: number,
): Promise<void> {
  const saved = count.save();
  if (saved === undefined) return;
  const state = serialize(saved);
  const row = {
    paperVersion: BigInt(paper.event.paperVersion),
    lastLeaf: saved.lastLeaf,
    state,
    seal: sealOf(deps, paper, state),
    savedAt: nowMs,
  };
  await deps.db
    .insert(countSnapshots)
    .values({ votingEventId: paper.event.id, ...row })
    .onConflictDoUpdate({
      target: countSnapshots.votingEventId,
      set: row,
      // Another process may be further already.
      setWhere: sql`(${countSnapshots.paperVersion}, ${countSnapshots.lastLeaf}) < (excluded.paper_version, excluded.last_leaf)`,
    });
}

/** The count that was kept under this version of the paper; undefined where there is none to be trusted. */
export async function loadSnapshot(deps: SnapshotDeps, paper: BallotPaper): Promise<RunningCount | undefined> {
  const [row] = await deps.db.select().from(countSnapshots).where(eq(countSnapshots.votingEventId, paper.event.id));
  if (row === undefined || row.paperVersion !== BigInt(paper.event.paperVersion)) return undefined;
  if (!equalSecrets(row.seal, sealOf(deps, paper, row.state))) return undefined;
  // Sealed by this service under this format: no one else can have written it.
  return new RunningCount(paper, deserialize(row.state) as SavedRunningCount);
}
