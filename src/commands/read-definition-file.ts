import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { load, YAMLException } from 'js-yaml';
import { findJsonFaults } from '#src/http/json/json-fault.ts';
import { parseMoment } from './options.ts';
import { FileRefused } from './read-lines.ts';

export const KINDS = ['groups', 'positions', 'candidates', 'sponsors'] as const;
export type Kind = (typeof KINDS)[number];

/** The service's size limit for a definition. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

type Values = Readonly<Record<string, unknown>>;
/** A row of a file, with the ID by which other rows refer to it. */
export type FileRow = Values & { readonly id: unknown };

/** An election as a file (completions 10.6). Only these fields are read here; the service validates the rest. */
export interface DefinitionFile extends Readonly<Record<Kind, readonly FileRow[]>> {
  readonly version: unknown;
  readonly event: Values;
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parse(file: string, text: string): unknown {
  try {
    return file.endsWith('.json') ? parseJson(file, text) : load(text, { filename: file });
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

/** Parses JSON as strictly as the service parses bodies: a repeated field is an error. */
function parseJson(file: string, text: string): unknown {
  const value: unknown = JSON.parse(text);
  const issues = findJsonFaults(text, Number.POSITIVE_INFINITY).faults;
  if (issues.length > 0) throw new FileRefused(`${file} is not as it should be:`, issues);
  return value;
}

/** @throws FileRefused if the file is too long, or its text is not UTF-8 */
async function readText(file: string): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_FILE_BYTES) throw new FileRefused(`${file} is longer than ${MAX_FILE_BYTES / 1024 / 1024} MiB.`);
    pieces.push(piece);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw new FileRefused(`${file} is not UTF-8. Save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8`);
  }
}

/** Converts text such as `2027-03-01T09:00:00+01:00` into Unix milliseconds; other values stay unchanged. */
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
  // A row without an ID gets one: only rows that other rows refer to need an ID in the file.
  return value.map((row, index) => ({ ...row, id: row['id'] ?? `${kind}-${index + 1}` }));
}

/** Reads an election as a file, in YAML or JSON. @throws FileRefused with what is wrong and where; file system errors */
export async function readDefinitionFile(file: string): Promise<DefinitionFile> {
  const found = await stat(file).catch(() => undefined);
  // Pipes are allowed too.
  if (found === undefined || found.isDirectory()) throw new FileRefused(`there is no file ${file}.`);
  const value = parse(file, await readText(file));
  // The file may be a saved answer of the API, with the definition in `data`.
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
