import type { EventResults } from './event-results.ts';
import { writeCsv } from './write-csv.ts';
import { writeJson } from './write-json.ts';
import { writeTable } from './write-table.ts';

/** Files that are written from the results alone. */
export const FILES = { csv: writeCsv, table: writeTable, json: writeJson } as const satisfies Record<
  string,
  (results: EventResults) => Iterable<string>
>;
export type FileKind = keyof typeof FILES;
