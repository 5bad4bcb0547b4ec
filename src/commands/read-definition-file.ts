import { readFile, stat } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { load, YAMLException } from 'js-yaml';
import { FileRefused } from './file-refused.ts';
import { parseMoment } from './options.ts';

export const KINDS = ['groups', 'positions', 'candidates', 'sponsors'] as const;
export type Kind = (typeof KINDS)[number];

type Values = Readonly<Record<string, unknown>>;
/** A row of a file, with the ID by which others name it. */
export type FileRow = Values & { readonly id: unknown };

/** An election as a file (completions 10.6), as far as it is read here: the service judges the rest. */
export interface DefinitionFile extends Readonly<Record<Kind, readonly FileRow[]>> {
  readonly version: unknown;
  readonly event: Values;
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parse(file: string, text: string): unknown {
  try {
    return file.endsWith('.json') ? JSON.parse(text) : load(text, { filename: file });
  } catch (fault) {
    if (fault instanceof YAMLException) {
      const { reason, mark } = fault;
      throw new FileRefused(
        `${file} is no YAML${mark === undefined ? '' : `, line ${mark.line + 1}, column ${mark.column + 1}`}: ${reason}`,
      );
    }
    if (fault instanceof SyntaxError) throw new FileRefused(`${file} is no JSON: ${fault.message}`);
    throw fault;
  }
}

/** `2027-03-01T09:00:00+01:00` becomes Unix milliseconds; what is no text stays as it is. */
function readMoment(file: string, name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseMoment(value);
  } catch (fault) {
    if (fault instanceof InvalidArgumentError)
      throw new FileRefused(`${file}`, [{ field: `event.${name}`, message: fault.message }]);
    throw fault;
  }
}

function rowsOf(file: string, kind: Kind, value: unknown): FileRow[] {
  if (!Array.isArray(value) || !value.every(isObject))
    throw new FileRefused(`${file} is not as it should be:`, [
      { field: kind, message: 'must be a list of rows; an empty one is []' },
    ]);
  // Rows that no other row names need no ID.
  return value.map((row, index) => ({ ...row, id: row['id'] ?? `${kind}-${index + 1}` }));
}

/** Reads an election as a file, in YAML or JSON. @throws FileRefused with what is wrong and where; faults of files */
export async function readDefinitionFile(file: string): Promise<DefinitionFile> {
  const found = await stat(file).catch(() => undefined);
  // A pipe is as good as a file.
  if (found === undefined || found.isDirectory()) throw new FileRefused(`there is no file ${file}.`);
  const value = parse(file, await readFile(file, 'utf8'));
  // An answer of the API that was saved as it came.
  const read = isObject(value) && isObject(value['data']) ? value['data'] : value;
  const event = isObject(read) ? read['event'] : undefined;
  if (!isObject(read) || !isObject(event))
    throw new FileRefused(`${file} is no election as a file: it must begin with version: 1 and event:`);
  const { groups = [], positions, candidates, sponsors = [] } = read;
  const moments = ['startsAt', 'endsAt'].filter((name) => name in event);
  return {
    ...read,
    version: read['version'],
    event: { ...event, ...Object.fromEntries(moments.map((name) => [name, readMoment(file, name, event[name])])) },
    groups: rowsOf(file, 'groups', groups),
    positions: rowsOf(file, 'positions', positions),
    candidates: rowsOf(file, 'candidates', candidates),
    sponsors: rowsOf(file, 'sponsors', sponsors),
  };
}
