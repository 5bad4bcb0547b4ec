import { Pauses } from '#src/platform/loop-turns.ts';
import type { EventDefinition } from './definition-schema.ts';
import { nameKeyOf } from './group.ts';
import type { CAPS } from './record-ballot-change.ts';
import type { listParts } from './repository.ts';

/** The parts of a document that are rows. */
export type Kind = keyof typeof CAPS;
type Named = { readonly id: string };

/**
 * Finds the event's row for each row of a document: the row with the same ID, otherwise a row that shares a key and whose ID the document
 * does not contain. Linear in the number of keys, even if many rows share one.
 * @returns the ID of the event's row, by the ID of the document's row
 */
async function matchRows<Row extends Named, Stored extends Named>(
  rows: readonly Row[],
  stored: readonly Stored[],
  keysOf: (row: Row) => readonly string[],
  storedKeysOf: (row: Stored) => readonly string[],
): Promise<Map<string, string>> {
  const pauses = new Pauses();
  const free = new Map(stored.map((row) => [row.id, row]));
  const ids = new Map<string, string>();
  for (const { id } of rows) if (free.delete(id)) ids.set(id, id);
  const others = rows.filter(({ id }) => !ids.has(id));
  if (others.length === 0) return ids;
  // In reverse, because `pop` takes the last.
  const byKey = new Map<string, string[]>();
  for (const row of [...free.values()].toReversed()) {
    for (const key of storedKeysOf(row)) byKey.getOrInsertComputed(key, () => []).push(row.id);
    await pauses.take();
  }
  const takeFree = (same: string[] = []): string | undefined => {
    for (let id = same.pop(); id !== undefined; id = same.pop()) if (free.delete(id)) return id;
    return undefined;
  };
  for (const row of others) {
    for (const key of keysOf(row)) {
      const same = takeFree(byKey.get(key));
      if (same === undefined) continue;
      ids.set(row.id, same);
      break;
    }
    await pauses.take();
  }
  return ids;
}

/** Matches rows by ID, then by name: a document that is sent again with its own IDs changes the rows that it created the first time. */
export async function matchDefinition(
  definition: EventDefinition,
  stored: Awaited<ReturnType<typeof listParts>>,
): Promise<Record<Kind, Map<string, string>>> {
  const byName = ({ name }: { readonly name: string }) => [nameKeyOf(name)];
  const byTitle = ({ title }: { readonly title: string }) => [nameKeyOf(title)];
  const positions = await matchRows(definition.positions, stored.positions, byTitle, byTitle);
  // Candidates of one name may be different people, unless they stand for the same position.
  const byPlace = (name: string, positionIds: readonly string[]) => positionIds.map((id) => `${id} ${nameKeyOf(name)}`);
  return {
    groups: await matchRows(definition.groups, stored.groups, byName, byName),
    positions,
    candidates: await matchRows(
      definition.candidates,
      stored.candidates,
      ({ name, positionIds }) =>
        byPlace(
          name,
          positionIds.map((id) => positions.get(id) ?? id),
        ),
      ({ name, positionIds }) => byPlace(name, positionIds),
    ),
    sponsors: await matchRows(definition.sponsors, stored.sponsors, byName, byName),
  };
}
