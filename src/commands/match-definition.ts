import { nameKeyOf } from '#src/ballot-definition/group.ts';
import type { DefinitionFile, FileRow, Kind } from './read-definition-file.ts';

const NAMES = { groups: 'name', positions: 'title', candidates: 'name', sponsors: 'name' } as const;

const nameOf = (kind: Kind, row: FileRow): string => {
  const name = row[NAMES[kind]];
  return typeof name === 'string' ? nameKeyOf(name.trim()) : '';
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The row of an event that a row of a file means: that of its ID, or the first of its name that no other row means. */
function matchRows(
  kind: Kind,
  file: readonly FileRow[],
  stored: readonly FileRow[],
  isAlike: (row: FileRow, other: FileRow) => boolean = () => true,
): ReadonlyMap<unknown, unknown> {
  const free = new Map(stored.map((row) => [row.id, row]));
  const found = new Map<unknown, unknown>();
  for (const { id } of file) if (free.delete(id)) found.set(id, id);
  for (const row of file) {
    if (found.has(row.id) || nameOf(kind, row) === '') continue;
    const same = [...free.values()].find((other) => nameOf(kind, other) === nameOf(kind, row) && isAlike(row, other));
    if (same === undefined) continue;
    free.delete(same.id);
    found.set(row.id, same.id);
  }
  return found;
}

/**
 * The file with the IDs of an event's own rows in the place of the file's, so that a file with IDs of its writer's choice can be
 * applied again and again: rows that are there already stay the same rows.
 */
export function matchDefinition(file: DefinitionFile, stored: DefinitionFile): DefinitionFile {
  const groups = matchRows('groups', file.groups, stored.groups);
  const positions = matchRows('positions', file.positions, stored.positions);
  const positionsOf = (row: FileRow): readonly unknown[] =>
    listOf(row['positionIds']).map((id) => positions.get(id) ?? id);
  // Two people of one name may stand for different positions.
  const candidates = matchRows('candidates', file.candidates, stored.candidates, (row, other) =>
    positionsOf(row).some((id) => listOf(other['positionIds']).includes(id)),
  );
  const sponsors = matchRows('sponsors', file.sponsors, stored.sponsors);
  const renamed = (row: FileRow, ids: ReadonlyMap<unknown, unknown>): FileRow => ({
    ...row,
    id: ids.get(row.id) ?? row.id,
    ...('groupId' in row ? { groupId: groups.get(row['groupId']) ?? row['groupId'] } : {}),
  });
  return {
    ...file,
    groups: file.groups.map((row) => renamed(row, groups)),
    positions: file.positions.map((row) => renamed(row, positions)),
    candidates: file.candidates.map((row) => ({
      ...renamed(row, candidates),
      ...(Array.isArray(row['positionIds']) ? { positionIds: positionsOf(row) } : {}),
    })),
    sponsors: file.sponsors.map((row) => renamed(row, sponsors)),
  };
}
