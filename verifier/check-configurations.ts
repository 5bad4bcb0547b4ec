import { type Check, demand } from './checks.ts';
import { type Fields, fieldsOf, isFields, listOf, numberOf, sortedJson, textOf } from './json.ts';
import { type SignedHead, Unbelievable } from './note.ts';
import { sha256 } from './primitives.ts';
import type { ReadLog } from './read-leaves.ts';
import { type Read, readJson, Unreadable } from './read-service.ts';

/** A part of a configuration: the event, or a row of one of its lists. */
interface Part {
  readonly kind: Kind;
  readonly value: Fields;
  readonly text: string;
}

/** A part as it is from one leaf on; null if that leaf removes it. */
interface ServedPart {
  readonly index: number;
  readonly kind: Kind;
  readonly id: string;
  readonly value: Fields | null;
}

const LISTS = { candidate: 'candidates', group: 'groups', position: 'positions' } as const;
type Kind = keyof typeof LISTS | 'event';
const isKind = (kind: string): kind is Kind => kind === 'event' || Object.hasOwn(LISTS, kind);

/** Fields that may change while people vote; of the event, fields that may not. The first ballot freezes all other fields of a part. */
const FREE = { position: ['description'], candidate: ['description', 'status'], group: ['name', 'description'] };
const FROZEN_OF_EVENT = ['v', 'type', 'voter.requireVoterId', 'voter.saveVoterInfo'];

const isFrozen = (kind: Kind, field: string): boolean =>
  kind === 'event' ? FROZEN_OF_EVENT.includes(field) : !FREE[kind].includes(field);

/** Limits of the data that the service can make the verifier read and hash. */
const MOST_PARTS = 500_000;
const MOST_CHARACTERS = 1_000_000_000;
/** Number of changes that a report names. */
const MOST_NAMED = 12;

async function* readParts(read: Read, base: string): AsyncGenerator<ServedPart> {
  for (let from = 0; ; ) {
    const page = await readJson(read, `${base}/configurations?from=${from}`);
    if (page === undefined) throw new Unreadable('the configurations are kept from this key');
    const { data, nextFrom } = fieldsOf(page);
    for (const one of listOf(data)) yield partOf(fieldsOf(one));
    if (nextFrom === null) return;
    demand(Number.isSafeInteger(nextFrom) && Number(nextFrom) > from, 'the pages of configurations do not lead on');
    from = Number(nextFrom);
    if (from > MOST_PARTS) throw new Unreadable('the configurations have too many parts for this verifier');
  }
}

function partOf({ index, kind, id, value }: Fields): ServedPart {
  const name = textOf(kind);
  if (!Number.isSafeInteger(index) || !isKind(name) || textOf(id) === '' || !(value === null || isFields(value)))
    throw new Unbelievable('the service lists what is no part of a configuration');
  return { index: Number(index), kind: name, id: textOf(id), value: value === null ? null : fieldsOf(value) };
}

/** Writes the configuration in its canonical form: member names sorted, and the rows of each list sorted by ID. */
function textOfAll(parts: ReadonlyMap<string, Part>): string {
  const rows = [...parts].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, part]) => part);
  const list = (kind: Kind): string => `[${rows.flatMap((row) => (row.kind === kind ? row.text : [])).join(',')}]`;
  const members = new Map(Object.entries(eventOf(parts)).map(([name, value]) => [name, sortedJson(value)]));
  for (const kind of ['candidate', 'group', 'position'] as const) members.set(LISTS[kind], list(kind));
  const names = [...members.keys()].toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${members.get(name)}`).join(',')}}`;
}

const eventOf = (parts: ReadonlyMap<string, Part>): Fields =>
  [...parts.values()].find(({ kind }) => kind === 'event')?.value ?? {};

/** The fields in which two values differ. Fields of objects such as `voter` are named by their path. */
function differences(one: Fields, other: Fields, path = ''): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].sort().flatMap((name) => {
    const [before, after] = [one[name], other[name]];
    if (sortedJson(before ?? null) === sortedJson(after ?? null)) return [];
    if (path === '' && isFields(before) && isFields(after)) return differences(before, after, `${name}.`);
    return `${path}${name}`;
  });
}

interface Change {
  readonly words: string;
  readonly frozen: boolean;
}

/** The changes of a part, in words. */
function changesOf(before: Part | undefined, { kind, id, value }: ServedPart): Change[] {
  const known = value ?? before?.value ?? {};
  const name = kind === 'event' ? 'the event' : `${kind} “${textOf(known['name']) || textOf(known['title']) || id}”`;
  if (before === undefined) return [{ words: `${name} came`, frozen: kind === 'position' }];
  if (value === null) return [{ words: `${name} is gone`, frozen: kind !== 'group' }];
  const fields = differences(before.value, value).map((field) => ({
    words: `${field} of ${name}`,
    field: kind === 'event' ? field : (field.split('.')[0] ?? ''),
  }));
  return fields.map(({ words, field }) => ({ words, frozen: isFrozen(kind, field) }));
}

const cut = (words: readonly string[]): string =>
  [...words.slice(0, MOST_NAMED), ...(words.length > MOST_NAMED ? [`and ${words.length - MOST_NAMED} more`] : [])].join(
    '; ',
  );

/** The last configuration in the log, if all configurations were served and are right; and the check that says so. */
export interface Configurations {
  readonly last: Fields | undefined;
  /** By ID of each position with several choices: the fewest candidates that ever stood. */
  readonly fewest: ReadonlyMap<string, number>;
  readonly check: Check;
}

const NAME = 'configurations';

function noteFewest(parts: ReadonlyMap<string, Part>, fewest: Map<string, number>): void {
  const standing = [...parts.values()].filter(({ value }) => value['status'] === 'approved');
  for (const [id, { kind, value }] of parts) {
    if (kind !== 'position' || numberOf(value['minSelections']) < 2) continue;
    const now = standing.filter((candidate) => listOf(candidate.value['positionIds']).includes(id)).length;
    fewest.set(id, Math.min(now, fewest.get(id) ?? now));
  }
}

/**
 * Reads every configuration to which the log commits, and compares each with the one before. The fields on which ballots depend are
 * frozen once a ballot was confirmed; the leaf of the change, or an earlier signed head, shows whether one was.
 */
export async function checkConfigurations(
  read: Read,
  base: string,
  { configurations }: ReadLog,
  earlier: SignedHead | undefined,
): Promise<Configurations> {
  const parts = new Map<string, Part>();
  const fewest = new Map<string, number>();
  const [wrong, changed]: [string[], string[]] = [[], []];
  const served = readParts(read, base);
  let characters = 0;
  try {
    let next = await served.next();
    for (const { index, hash, confirmed } of configurations) {
      const isBound = confirmed > 0 || (earlier !== undefined && earlier.confirmed > 0 && index >= earlier.size);
      const from = parts.size;
      let found = 0;
      for (; next.done !== true && next.value.index <= index; next = await served.next(), found += 1) {
        const part = next.value;
        demand(part.index === index, `leaf ${part.index} records no configuration, and the service serves one`);
        const before = parts.get(part.id);
        demand(before === undefined || before.kind === part.kind, `${part.id} is of another kind in leaf ${index}`);
        const changes = from === 0 ? [] : changesOf(before, part);
        const at = `leaf ${index} (${confirmed} confirmed): `;
        for (const { words, frozen } of changes) (frozen && isBound ? wrong : changed).push(`${at}${words}`);
        if (part.value === null) parts.delete(part.id);
        else parts.set(part.id, { kind: part.kind, value: part.value, text: sortedJson(part.value) });
      }
      if (found === 0) throw new Unreadable(`the configuration of leaf ${index} is not served`);
      const text = textOfAll(parts);
      characters += text.length;
      if (characters > MOST_CHARACTERS) throw new Unreadable('the configurations are too long for this verifier');
      const isOwn = sha256(text).toString('hex') === hash;
      demand(isOwn, `the configuration of leaf ${index} is not the one whose hash is in the log`);
      noteFewest(parts, fewest);
    }
  } catch (fault) {
    const status = fault instanceof Unreadable ? 'left_out' : 'failed';
    if (!(fault instanceof Unreadable || fault instanceof Unbelievable)) throw fault;
    return { last: undefined, fewest, check: { name: NAME, status, detail: fault.message } };
  }
  const lists = Object.entries(LISTS).map(([kind, list]) => [
    list,
    [...parts.values()].flatMap((part) => (part.kind === kind ? part.value : [])),
  ]);
  const last = { ...eventOf(parts), ...Object.fromEntries(lists) };
  if (wrong.length > 0) {
    const detail = `what ballots depend on was changed after a ballot was confirmed: ${cut(wrong)}`;
    return { last, fewest, check: { name: NAME, status: 'failed', detail } };
  }
  const detail =
    changed.length === 0
      ? 'what ballots depend on is as it was at the opening'
      : `what ballots depend on is as it was at the first ballot. Changed: ${cut(changed)}`;
  return { last, fewest, check: { name: NAME, status: 'verified', detail } };
}
