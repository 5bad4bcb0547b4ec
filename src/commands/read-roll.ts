import { stat } from 'node:fs/promises';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import type { z } from 'zod';
import { nameKeyOf } from '#src/ballot-definition/group.ts';
import { issuesOf } from '#src/http/validation.ts';
import { guardFormulas } from '#src/platform/csv.ts';
import type { Issue } from '#src/platform/errors.ts';
import { normaliseText, rawTextFault } from '#src/platform/text.ts';
import { createVoterBody, type VoterInput } from '#src/voters/voter.ts';
import { quoted } from './cli.ts';
import { type FileLine, FileRefused, MAX_LINE_LENGTH, readLines } from './read-lines.ts';

/** Names of a roll's columns; a heading may differ in case and have spaces, dashes or underscores between words. */
const COLUMNS = ['name', 'email', 'voterId', 'groupId', 'group', 'weight', 'status'] as const;
type RollColumn = (typeof COLUMNS)[number];

/** Columns that a report of rejected lines adds. The import ignores them, so that a corrected report can be imported unchanged. */
const ADDED = ['line', 'reason'];

type Values = Readonly<Record<string, unknown>>;

/** The IDs of an event's groups, by name. */
type Groups = ReadonlyMap<string, string>;

const folded = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '');

interface RollHead {
  /** The column of each cell in a row; null for cells to ignore. */
  readonly columns: readonly (RollColumn | null)[];
  /** Whether the file is a report of rejected lines, whose cells `guardFormulas` may have changed. */
  readonly isReport: boolean;
}

export interface RollReading {
  /** `Heading=column`: the column that a heading of the file stands for. */
  readonly map?: readonly string[];
  readonly ignoreColumns?: boolean;
}

/** Parses `--map` into columns by heading. @throws FileRefused */
function readMap(map: readonly string[]): ReadonlyMap<string, RollColumn> {
  return new Map(
    map.map((pair) => {
      const at = pair.lastIndexOf('=');
      const column = COLUMNS.find((name) => name.toLowerCase() === folded(pair.slice(at + 1)));
      if (at < 1 || column === undefined)
        throw new FileRefused(
          `--map takes "Heading=column", such as "E-Mail=email"; columns are ${COLUMNS.join(', ')}`,
        );
      return [folded(pair.slice(0, at)), column];
    }),
  );
}

/** Reads the first line of the file. @returns the head, or a text that says what is wrong */
function readHead(cells: readonly string[], { map = [], ignoreColumns }: RollReading): RollHead | string {
  const columns: (RollColumn | null)[] = [];
  const mapped = readMap(map);
  const strange = [...mapped.keys()].filter((heading) => !cells.some((cell) => folded(cell) === heading));
  if (strange.length > 0) return `--map names what the first line does not have: ${strange.join(', ')}`;
  const unknown: { readonly text: string; readonly column: number }[] = [];
  for (const [index, cell] of cells.entries()) {
    const column = mapped.get(folded(cell)) ?? COLUMNS.find((name) => name.toLowerCase() === folded(cell));
    if (column === undefined && ignoreColumns !== true && !ADDED.includes(folded(cell)))
      unknown.push({ text: cell.trim(), column: index + 1 });
    if (column !== undefined && columns.includes(column)) return `there are two columns ${column}`;
    columns.push(column ?? null);
  }
  if (unknown.length > 0) {
    const found = unknown.map(({ text, column }) => `column ${column} is called “${text.slice(0, 60)}”`).join(', ');
    const maps = unknown.flatMap(({ text }) => (text === '' ? [] : [` --map ${quoted(`${text}=column`)}`])).join('');
    return `${found}; columns are ${COLUMNS.join(', ')}. Say which is which, and pass over what is left:${maps} --ignore-columns`;
  }
  if (!columns.includes('name')) return 'there is no column name; the first line must name the columns';
  if (!columns.includes('email') && !columns.includes('voterId')) return 'there is neither a column email nor voterId';
  if (columns.includes('group') && columns.includes('groupId'))
    return 'there may be a column group or groupId, not both';
  return { columns, isReport: ADDED.every((name) => cells.some((cell) => folded(cell) === name)) };
}

interface RowValues {
  readonly values: Values;
  readonly issues: readonly Issue[];
}

const withGroup = (values: Values, group: string, groups: Groups): RowValues => {
  const groupId = rawTextFault(group, 200) === undefined ? groups.get(nameKeyOf(normaliseText(group))) : undefined;
  return groupId === undefined
    ? { values, issues: [{ field: 'group', message: `there is no group “${group.slice(0, 60)}” in this event` }] }
    : { values: { ...values, groupId }, issues: [] };
};

/** The values of a row without its empty cells; undefined if all cells are empty. */
function valuesOfCells(
  cells: readonly string[],
  head: RollHead,
  delimiter: string,
  groups: Groups,
): RowValues | undefined {
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
    // With semicolons between the cells, a comma is the decimal sign.
    else if (delimiter === ';' && /^\d{1,10},\d+$/.test(text)) values[column] = Number(text.replace(',', '.'));
    else issues.push({ field: 'weight', message: 'must be a number such as 1 or 2.5' });
  }
  if (group === undefined && issues.length === 0 && Object.keys(values).length === 0) return undefined;
  if (group === undefined) return { values, issues };
  const grouped = withGroup(values, group, groups);
  return { values: grouped.values, issues: [...issues, ...grouped.issues] };
}

/** Undoes `guardFormulas` on a cell, so that a corrected report can be imported unchanged. */
const withoutGuard = (cell: string): string => (guardFormulas(unguarded(cell)) === cell ? unguarded(cell) : cell);
const unguarded = (cell: string): string => cell.replace(/(^|[,;|\t\r\n])'/g, '$1');

/** What `scanRoll` found out about a file of voters before the import begins. */
export interface Roll {
  readonly file: string;
  /** Number of lines, including the head and empty lines. */
  readonly lines: number;
  readonly head: RollHead;
  readonly headCells: readonly string[];
  readonly delimiter: string;
}

/** A line of the roll: `input` holds the valid voter, or `issues` lists the errors. */
export interface RollLine {
  readonly line: number;
  readonly input: VoterInput | undefined;
  /** The voter in the API's fields, before the schema parsed it into `input`. */
  readonly values: Values | undefined;
  readonly issues: readonly Issue[];
  /** The original cells, for the report of rejected lines; undefined if unreadable. */
  readonly cells: readonly string[] | undefined;
  readonly text: string | undefined;
}

const DELIMITERS = [',', ';', '\t'];

function splitLine(text: string, delimiter: string): string[] {
  return parse(text, { delimiter, relax_column_count: true, record_delimiter: '\n' })[0] ?? [];
}

function readFirstLine(
  file: string,
  text: string,
  reading: RollReading,
): Pick<Roll, 'head' | 'headCells' | 'delimiter'> {
  const most = (one: string, other: string): string =>
    text.split(other).length > text.split(one).length ? other : one;
  const delimiter = DELIMITERS.reduce(most);
  let headCells: string[];
  try {
    headCells = splitLine(text, delimiter);
  } catch {
    throw new FileRefused(`${file}: the first line, which names the columns, has a quotation mark that is not closed`);
  }
  const head = readHead(headCells, reading);
  if (typeof head === 'string') throw new FileRefused(`${file}: ${head}`);
  return { head, headCells, delimiter };
}

/** Reads a file once to check that it is readable, and to find its head and length. Keeps no voters in memory. */
export async function scanRoll(file: string, reading: RollReading): Promise<Roll> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) throw new FileRefused(`there is no file ${file}`);
  let lines = 0;
  let first: FileLine | undefined;
  for await (const some of readLines(file)) {
    first ??= some[0];
    lines = some.at(-1)?.line ?? lines;
  }
  if (first === undefined) throw new FileRefused(`${file} is empty`);
  return { file, lines, ...readFirstLine(file, first.text ?? '', reading) };
}

/** Lines per request: a partial import commits them together. */
const BATCH = 500;

export interface RollBatch {
  readonly lastLine: number;
  readonly lines: readonly RollLine[];
}

/** Yields the voters' lines of a roll in batches, without blank lines. */
export async function* readRoll(roll: Roll, groups: Groups): AsyncGenerator<RollBatch> {
  let waiting: FileLine[] = [];
  for await (const some of readLines(roll.file)) {
    waiting.push(...some.filter(({ line }) => line > 1));
    while (waiting.length >= BATCH) {
      const batch = waiting.slice(0, BATCH);
      waiting = waiting.slice(BATCH);
      yield { lastLine: batch.at(-1)?.line ?? 1, lines: readBatch(roll, batch, groups) };
    }
  }
  const last = waiting.at(-1);
  if (last !== undefined) yield { lastLine: last.line, lines: readBatch(roll, waiting, groups) };
}

function readBatch(roll: Roll, lines: readonly FileLine[], groups: Groups): RollLine[] {
  const filled = lines.filter(({ text }) => text === undefined || text.trim() !== '');
  const records = parseTogether(roll, filled);
  return filled.flatMap((one, index) => readLine(one, records[index] ?? 'could not be read', roll, groups) ?? []);
}

/** The cells of each line, or what is wrong with the line. No value of a voter may contain a line break, so each line is a row. */
function parseTogether(roll: Roll, lines: readonly FileLine[]): (string[] | string)[] {
  const options = { delimiter: roll.delimiter, relax_column_count: true, record_delimiter: '\n' };
  try {
    const records = parse(lines.map(({ text }) => text ?? '-').join('\n'), options);
    if (records.length === lines.length) return records;
  } catch (fault) {
    if (!(fault instanceof CsvError)) throw fault;
  }
  // Parses each line alone, so that a broken quotation mark rejects only its own line.
  return lines.map(({ text = '-' }) => {
    try {
      return splitLine(text, roll.delimiter);
    } catch (fault) {
      if (!(fault instanceof CsvError)) throw fault;
      return fault.code === 'CSV_QUOTE_NOT_CLOSED'
        ? 'a quotation mark is opened and not closed on this line'
        : 'a quotation mark stands where none may: write "" for one inside of quotation marks';
    }
  });
}

const TOO_LONG: Issue = { field: '', message: `is longer than ${MAX_LINE_LENGTH} characters` };
const unreadable = ({ line, text }: FileLine, issue: Issue): RollLine => ({
  line,
  text,
  input: undefined,
  values: undefined,
  issues: [issue],
  cells: undefined,
});

function readLine(
  from: FileLine,
  cells: readonly string[] | string,
  { head, delimiter }: Roll,
  groups: Groups,
): RollLine | undefined {
  if (from.text === undefined) return unreadable(from, TOO_LONG);
  if (typeof cells === 'string') return unreadable(from, { field: '', message: cells });
  const width = head.columns.length;
  // Spreadsheets leave out empty cells at the end of a row, or add some.
  if (cells.slice(width).some((cell) => cell.trim() !== ''))
    return unreadable(from, { field: '', message: `has ${cells.length} cells, the first line names ${width} columns` });
  const read = valuesOfCells(cells, head, delimiter, groups);
  return read === undefined ? undefined : { ...from, ...judge(read), cells: cells.slice(0, width) };
}

/** Validates a row with the schema of `POST …/voters/batch`. */
function judge({ values, issues }: RowValues): Pick<RollLine, 'input' | 'values' | 'issues'> {
  const parsed: z.ZodSafeParseResult<VoterInput> = createVoterBody.safeParse(values, { reportInput: true });
  const all = [...issues, ...(parsed.success ? [] : issuesOf(parsed.error))];
  return { input: all.length === 0 ? parsed.data : undefined, values, issues: all };
}
