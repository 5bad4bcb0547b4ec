import { NotFoundError } from '#sdk/errors.ts';
import type { Input, PathClient, Resources } from '#sdk/index.ts';
import { linkIssues } from '#src/ballot-definition/definition-links.ts';
import { definitionBody } from '#src/ballot-definition/definition-schema.ts';
import { issuesOf } from '#src/http/validation.ts';
import { type Answer, commandLine, commandOf, quoted, type Row } from './cli.ts';
import { isReference } from './options.ts';
import { type DefinitionFile, type FileRow, KINDS, readDefinitionFile } from './read-definition-file.ts';
import { FileRefused } from './read-lines.ts';

interface ApplyOptions {
  readonly file: string;
  readonly event?: string;
  readonly dryRun?: boolean;
  readonly verbose?: boolean;
}

type Body = Input<'post', '/voting-events/definition'>['body'];
type Difference = Resources['DefinitionDifference'];

/** The request body. The cast is unchecked, because the service validates the file and reports all issues. */
const bodyOf = (file: DefinitionFile): Body => file as unknown as Body;

function referenceOf({ file, event }: ApplyOptions, definition: DefinitionFile): string {
  const code = definition.event['code'];
  if (event !== undefined) return event;
  if (typeof code === 'string' && isReference(code.trim())) return code.trim();
  throw new FileRefused(
    `${file} names no event. Give it a code of its own (event.code: letters and digits, in quotes where they are a number), or name a draft with --event: applying the file again then changes the same event.`,
  );
}

/** The definition of an event; undefined if the event does not exist and the file may create it. */
async function findDefinition(client: PathClient, options: ApplyOptions, reference: string) {
  try {
    const { data } = await client.get('/voting-events/{idOrCode}/definition', { path: { idOrCode: reference } });
    return data as unknown as DefinitionFile;
  } catch (fault) {
    if (fault instanceof NotFoundError && options.event === undefined) return undefined;
    throw fault;
  }
}

/** Validates a file locally, because the service cannot check it in a dry run before the event exists. @throws FileRefused */
function requireSound({ file }: ApplyOptions, definition: DefinitionFile): void {
  const parsed = definitionBody.safeParse(definition, { reportInput: true });
  const issues = parsed.success ? linkIssues(parsed.data) : issuesOf(parsed.error);
  if (issues.length > 0) throw new FileRefused(`${file} is not as it should be:`, issues);
}

const titleOf = (row: Row): string => String(row['title'] ?? row['name'] ?? '');

function shortly(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/** The changed fields as text, such as `title: "Chair" → "Head"`. */
const changesOf = ({ before, after, action }: Difference): string =>
  action !== 'updated'
    ? ''
    : Object.keys({ ...before, ...after })
        .map((name) => `${name}: ${shortly(before?.[name])} → ${shortly(after?.[name])}`)
        .join('; ');

function namesOf(...files: readonly DefinitionFile[]): ReadonlyMap<unknown, string> {
  const rows = files.flatMap((file) => KINDS.flatMap((kind): readonly FileRow[] => file[kind]));
  return new Map(rows.map((row) => [row.id, titleOf(row)]));
}

interface Applied {
  readonly options: ApplyOptions;
  readonly code: string;
  readonly votingEventId: string | null;
  readonly action: 'created' | 'updated' | 'unchanged';
  readonly changes: readonly Row[];
  readonly shown: readonly Row[];
  /** What the event lacks before it can open; empty in a dry run. */
  readonly missing?: readonly Resources['MissingPart'][];
}

/** Most rows that a terminal shows one by one. */
const MOST_SHOWN = 20;

/** Returns a few rows unchanged; replaces many rows by their number per kind and action. */
function briefly(rows: readonly Row[]): readonly Row[] {
  if (rows.length <= MOST_SHOWN) return rows;
  const kinds = Map.groupBy(rows, ({ kind, action }) => JSON.stringify([kind, action]));
  return [...kinds.values()].map((same): Row => {
    const { kind, action } = same[0] ?? {};
    return { kind, action, rows: same.length };
  });
}

function answerOf({ options, code, votingEventId, action, changes, shown, missing = [] }: Applied): Answer {
  const again = commandOf(`event apply ${quoted(options.file)}`, { event: options.event });
  const dryRun = options.dryRun === true;
  const hasMore = shown.length > MOST_SHOWN && options.verbose !== true;
  return {
    value: { votingEventId, code, action, dryRun, changes, missing },
    shown: { votingEventId, code, action, dryRun, changes: changes.length },
    ...(shown.length === 0 ? {} : { also: options.verbose === true ? shown : briefly(shown) }),
    next: [
      ...(hasMore ? [`Every row: ${again}${dryRun ? ' --dry-run' : ''} --verbose`] : []),
      ...missing.map(
        ({ title, message }) => `Missing before it can open: ${title === null ? '' : `${title}: `}${message}`,
      ),
      ...(dryRun && action !== 'unchanged' ? [`Nothing was changed. To apply the file: ${again}`] : []),
      ...(dryRun && action === 'created' ? ['Codes and limits of the plan are checked when it is made.'] : []),
      ...(!dryRun && action === 'created' ? [commandLine(`voters import roll.csv --event ${code} --dry-run`)] : []),
    ],
  };
}

const createdRows = (definition: DefinitionFile): Row[] => [
  { kind: 'event', action: 'created', name: titleOf(definition.event), changes: '' },
  ...KINDS.flatMap((kind) =>
    definition[kind].map((row) => ({ kind: kind.slice(0, -1), action: 'created', name: titleOf(row), changes: '' })),
  ),
];

async function create(client: PathClient, options: ApplyOptions, definition: DefinitionFile): Promise<Answer> {
  requireSound(options, definition);
  const rows = createdRows(definition);
  const changes = rows.map(({ kind, action, name }) => ({ kind, action, name }));
  const made = { options, action: 'created', changes, shown: rows } as const;
  if (options.dryRun === true)
    return answerOf({ ...made, code: referenceOf(options, definition), votingEventId: null });
  const { data } = await client.post('/voting-events/definition', { body: bodyOf(definition) });
  return answerOf({ ...made, code: data.code, votingEventId: data.id, missing: data.missing ?? [] });
}

/**
 * Creates a draft from a file, changes a draft to the file's content, or lists what would change (completions 10.6).
 * @throws FileRefused; VotingServiceError such as 409 `not_a_draft` or 422 with all issues
 */
export async function applyEvent(client: PathClient, options: ApplyOptions): Promise<Answer> {
  const file = await readDefinitionFile(options.file);
  const reference = referenceOf(options, file);
  const stored = await findDefinition(client, options, reference);
  if (stored === undefined) return create(client, options, file);
  const { data: event } = await client.get('/voting-events/{idOrCode}', { path: { idOrCode: reference } });
  const code = String(file.event['code'] ?? event.code);
  // A draft named by --event keeps its code if the file has none.
  const definition = { ...file, event: { ...file.event, code } };
  const path = { idOrCode: event.id };
  const { data: differences } = await client.put('/voting-events/{idOrCode}/definition', {
    path,
    body: bodyOf(definition),
    query: { dryRun: 'true' },
  });
  if (!Array.isArray(differences)) throw new Error('a dry run answers the differences');
  if (options.dryRun !== true && differences.length > 0)
    await client.put('/voting-events/{idOrCode}/definition', { path, body: bodyOf(definition) });
  const { data: now } = await client.get('/voting-events/{idOrCode}', { path });
  const names = namesOf(stored, definition);
  const nameOf = ({ id, kind, before, after }: Difference): string =>
    kind === 'event' ? titleOf(definition.event) : (names.get(id) ?? titleOf(after ?? before ?? {}));
  return answerOf({
    options,
    code,
    votingEventId: event.id,
    missing: options.dryRun === true ? [] : (now.missing ?? []),
    action: differences.length === 0 ? 'unchanged' : 'updated',
    changes: differences.map((difference) => ({ ...difference, name: nameOf(difference) })),
    shown: differences.map((difference): Row => {
      const { kind, action } = difference;
      return { kind, action, name: nameOf(difference), changes: changesOf(difference) };
    }),
  });
}
