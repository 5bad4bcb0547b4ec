import { nameKeyOf } from '#src/ballot-definition/group.ts';
import { guardFormulas } from '#src/platform/csv.ts';
import type { Issue } from '#src/platform/errors.ts';
import { normaliseText, rawTextFault } from '#src/platform/text.ts';

/** What a column of a roll may be called, in any case and with spaces, dashes or underscores between the words. */
const COLUMNS = ['name', 'email', 'voterId', 'groupId', 'group', 'weight', 'status'] as const;
type RollColumn = (typeof COLUMNS)[number];

/** What a report of rejected lines adds: passed over, so that a mended report can be imported as it is. */
const ADDED = ['line', 'reason'];

export type Values = Readonly<Record<string, unknown>>;

/** Group names of an event to their IDs. */
export type Groups = ReadonlyMap<string, string>;

const folded = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '');

export interface RollHead {
  /** What each cell of a row is; null is passed over. */
  readonly columns: readonly (RollColumn | null)[];
  /** Whether the file is a report of rejected lines, whose cells may bear a quote against spreadsheets. */
  readonly isReport: boolean;
}

/** Reads the first line of a CSV file; a text says what is wrong with it. */
export function readHead(cells: readonly string[]): RollHead | string {
  const columns: (RollColumn | null)[] = [];
  for (const [index, cell] of cells.entries()) {
    const column = COLUMNS.find((name) => name.toLowerCase() === folded(cell));
    if (column === undefined && !ADDED.includes(folded(cell)))
      return `column ${index + 1} is called “${cell.slice(0, 60)}”; columns are ${COLUMNS.join(', ')}`;
    if (column !== undefined && columns.includes(column)) return `there are two columns ${column}`;
    columns.push(column ?? null);
  }
  if (!columns.includes('name')) return 'there is no column name; the first line must name the columns';
  if (!columns.includes('email') && !columns.includes('voterId')) return 'there is neither a column email nor voterId';
  if (columns.includes('group') && columns.includes('groupId'))
    return 'there may be a column group or groupId, not both';
  return { columns, isReport: ADDED.every((name) => cells.some((cell) => folded(cell) === name)) };
}

/** A row's values by the names that the API gives them, and what is wrong with how they are written. */
export interface RowValues {
  readonly values: Values;
  readonly issues: readonly Issue[];
}

const withGroup = (values: Values, group: string, groups: Groups): RowValues => {
  const groupId = rawTextFault(group, 200) === undefined ? groups.get(nameKeyOf(normaliseText(group))) : undefined;
  return groupId === undefined
    ? { values, issues: [{ field: 'group', message: `there is no group “${group.slice(0, 60)}” in this event` }] }
    : { values: { ...values, groupId }, issues: [] };
};

/** The values of a CSV row: an empty cell says nothing. Undefined where all of them are empty. */
export function valuesOfCells(cells: readonly string[], head: RollHead, groups: Groups): RowValues | undefined {
  const values: Record<string, unknown> = {};
  const issues: Issue[] = [];
  let group: string | undefined;
  for (const [index, column] of head.columns.entries()) {
    const cell = (cells[index] ?? '').trim();
    if (column === null || cell === '') continue;
    const text = head.isReport ? withoutGuard(cell) : cell;
    if (column === 'group') group = text;
    else if (column === 'status') values[column] = text.toLowerCase();
    else if (column !== 'weight') values[column] = text;
    else if (/^\d{1,10}(\.\d+)?$/.test(text)) values[column] = Number(text);
    else issues.push({ field: 'weight', message: 'must be a number such as 1 or 2.5' });
  }
  if (group === undefined && issues.length === 0 && Object.keys(values).length === 0) return undefined;
  if (group === undefined) return { values, issues };
  const grouped = withGroup(values, group, groups);
  return { values: grouped.values, issues: [...issues, ...grouped.issues] };
}

/** The values of a line of JSON: as in the API, or with the name of a group. */
export function valuesOfJson(row: Values, groups: Groups): RowValues {
  const { group, line: _line, reason: _reason, ...values } = row;
  if (group === undefined || group === null) return { values, issues: [] };
  if (typeof group !== 'string')
    return { values, issues: [{ field: 'group', message: 'must be the name of a group' }] };
  return withGroup(values, group, groups);
}

/** What `guardFormulas` made of a cell, as it was: a report that was mended is imported as it is. */
const withoutGuard = (cell: string): string => (guardFormulas(unguarded(cell)) === cell ? unguarded(cell) : cell);
const unguarded = (cell: string): string => cell.replace(/(^|[,;|\t\r\n])'/g, '$1');
