import { deserialize, serialize } from 'node:v8';
import { eq, sql } from 'drizzle-orm';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
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

function sealOf({ secrets }: SnapshotDeps, definition: BallotDefinition, state: Uint8Array): Buffer {
  const { id, definitionVersion, rehearsalSince } = definition.event;
  // A count of rehearsed ballots is none of the election's.
  const about = `${FORMAT} ${id} ${definitionVersion} ${rehearsalSince} `;
  return secrets.mac('count-snapshot', Buffer.concat([Buffer.from(about), state]));
}

/** Keeps a count of the box for the processes that start later. A count of too many different ballots is not kept. */
export async function saveSnapshot(
  deps: SnapshotDeps,
  definition: BallotDefinition,
  count: RunningCount,
  nowMs: number,
): Promise<void> {
  const saved = count.save();
  if (saved === undefined) return;
  const state = serialize(saved);
  const row = {
    definitionVersion: BigInt(definition.event.definitionVersion),
    lastLeaf: saved.lastLeaf,
    state,
    seal: sealOf(deps, definition, state),
    savedAt: nowMs,
  };
  await deps.db
    .insert(countSnapshots)
    .values({ votingEventId: definition.event.id, ...row })
    .onConflictDoUpdate({
      target: countSnapshots.votingEventId,
      set: row,
      // Another process may be further already.
      setWhere: sql`(${countSnapshots.definitionVersion}, ${countSnapshots.lastLeaf}) < (excluded.paper_version, excluded.last_leaf)`,
    });
}

/** The count that was kept under this version of the definition; undefined where there is none to be trusted. */
export async function loadSnapshot(
  deps: SnapshotDeps,
  definition: BallotDefinition,
): Promise<RunningCount | undefined> {
  const [row] = await deps.db
    .select()
    .from(countSnapshots)
    .where(eq(countSnapshots.votingEventId, definition.event.id));
  if (row === undefined || row.definitionVersion !== BigInt(definition.event.definitionVersion)) return undefined;
  if (!equalSecrets(row.seal, sealOf(deps, definition, row.state))) return undefined;
  // Sealed by this service under this format: no one else can have written it.
  return new RunningCount(definition, deserialize(row.state) as SavedRunningCount);
}
