import { readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { conflict } from '#src/platform/errors.ts';
import { exists, resolveLinks } from '#src/platform/files.ts';

/** The file that describes a base backup. It is written last: a folder without this file has no complete backup. */
const manifestShape = z.object({
  format: z.literal(1),
  /** When the backup was complete, Unix ms by the database's clock: the earliest moment that can be restored from it. */
  takenAt: z.int(),
  serviceVersion: z.string(),
  serverVersion: z.string(),
  serverMajor: z.int(),
  systemIdentifier: z.string(),
  timeline: z.int(),
  walSegmentBytes: z.int(),
  /** The WAL files with the start and the end of the backup: every restore needs them and all files between them. */
  firstWalFile: z.string(),
  lastWalFile: z.string(),
  database: z.string(),
  /** The server's bootstrap superuser. */
  superuser: z.string(),
  /** IDs of the service's secret keys, not the keys: a text encrypted under a key begins with the 8 hex digits of the key's ID. */
  secretKeyIds: z.array(z.string()),
});
export type BackupManifest = z.output<typeof manifestShape>;

/** Requires a folder that does not exist or is empty; removes an empty folder. @throws ApiError 409 `folder_in_use` */
export async function requireNewFolder(folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined)) === undefined) return;
  await rmdir(folder).catch(() => {
    throw conflict('folder_in_use', `${folder} is there already, and not empty: name a new folder.`);
  });
}

export const dataFolder = (backup: string): string => path.join(backup, 'data');
const manifestFile = (backup: string): string => path.join(backup, 'backup.json');

const isWithin = (inner: string, outer: string): boolean => {
  const way = path.relative(outer, inner);
  return way === '' || !(way === '..' || way.startsWith(`..${path.sep}`) || path.isAbsolute(way));
};

/** Whether a folder, which may have yet to be made, is or lies in one of `others`. Links in their paths are followed. */
export async function liesIn(folder: string, others: readonly string[]): Promise<boolean> {
  const [inner, ...outer] = await Promise.all([folder, ...others].map((one) => resolveLinks(path.resolve(one))));
  return outer.some((one) => isWithin(inner ?? folder, one));
}

/** Whether a folder, or a folder above it, holds a base backup or a server's files. */
export async function isInBackup(folder: string): Promise<boolean> {
  const above = path.dirname(folder);
  // pg_basebackup makes `pg_wal` first: a backup that is under way, or was cut off, has it and no backup.json.
  const marks = [manifestFile(folder), path.join(dataFolder(folder), 'pg_wal'), path.join(folder, 'pg_wal')];
  const found = await Promise.all(marks.map(exists));
  return found.includes(true) || (above !== folder && isInBackup(above));
}

export async function writeManifest(backup: string, manifest: BackupManifest): Promise<void> {
  await writeFile(manifestFile(backup), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
}

/** @throws ApiError 409 for a folder without a complete backup of `cli backup` */
export async function readManifest(backup: string): Promise<BackupManifest> {
  const text = await readFile(manifestFile(backup), 'utf8').catch(() => undefined);
  const parsed = text === undefined ? undefined : manifestShape.safeParse(parseOrNull(text));
  if (parsed?.success === true) return parsed.data;
  throw conflict('no_backup', `${backup} holds no backup.json of a whole backup, as \`backup --to\` writes it.`);
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Text that is not JSON is no manifest.
    return null;
  }
}

function bytesOf(lsn: string): bigint {
  const [high = '0', low = '0'] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

/** The WAL file that contains a position. @param lsn such as `0/3000028` */
export const walFileOf = (timeline: number, lsn: string, segmentBytes: number): string =>
  walFileName(timeline, bytesOf(lsn) / BigInt(segmentBytes), segmentBytes);

/** The WAL file with the byte before a position: the previous file if the position is the first of its file. */
export const walFileBefore = (timeline: number, lsn: string, segmentBytes: number): string =>
  walFileName(timeline, (bytesOf(lsn) - 1n) / BigInt(segmentBytes), segmentBytes);

const hex8 = (value: bigint): string => value.toString(16).toUpperCase().padStart(8, '0');

function walFileName(timeline: number, segment: bigint, segmentBytes: number): string {
  const each = 0x1_0000_0000n / BigInt(segmentBytes);
  return hex8(BigInt(timeline)) + hex8(segment / each) + hex8(segment % each);
}

function segmentOf(file: string, segmentBytes: number) {
  const each = 0x1_0000_0000n / BigInt(segmentBytes);
  return {
    timeline: Number.parseInt(file.slice(0, 8), 16),
    number: BigInt(`0x${file.slice(8, 16)}`) * each + BigInt(`0x${file.slice(16, 24)}`),
  };
}

type Archive = Awaited<ReturnType<typeof readArchive>>;

/** Lists the WAL files in an archive by name; opens only the timelines' history files. */
export async function readArchive(folder: string, segmentBytes: number) {
  const names = await readdir(folder).catch(() => {
    throw conflict('no_archive', `the archive ${folder} cannot be read.`);
  });
  const segments = names.filter((name) => /^[0-9A-F]{24}$/.test(name)).map((name) => segmentOf(name, segmentBytes));
  const ids = new Set(segments.map(({ timeline }) => timeline));
  const histories = new Map<number, ReturnType<typeof parseHistory>>();
  for (const name of names.filter((one) => /^[0-9A-F]{8}\.history$/.test(one))) {
    const id = Number.parseInt(name.slice(0, 8), 16);
    ids.add(id);
    histories.set(id, parseHistory(await readFile(path.join(folder, name), 'utf8')));
  }
  const timelines = [...ids].toSorted((a, b) => a - b).map((id) => ({ id, before: histories.get(id) ?? [] }));
  return { timelines, segments };
}

/** Parses a timeline's history: the timelines before it, oldest first, each with the WAL position where the next timeline branched off. */
function parseHistory(text: string) {
  return text.split('\n').flatMap((line) => {
    const match = /^(\d+)\s+([0-9A-F]+\/[0-9A-F]+)(.*)/i.exec(line.trim());
    return match === null ? [] : [{ id: Number(match[1]), until: match[2] ?? '', reason: match[3]?.trim() ?? '' }];
  });
}

/**
 * The timeline to follow: the backup's own, unless the operator names another. If the archive has a newer timeline, the operator
 * must name one: production uses the newer timeline after a fail-over, but a restored server may also have written it by mistake.
 * @throws ApiError 409
 */
export function chooseTimeline(archive: Archive, manifest: BackupManifest, asked: number | undefined): number {
  const own = manifest.timeline;
  const newer = archive.timelines.filter(({ id }) => id > own);
  if (asked === undefined) {
    if (newer.length === 0) return own;
    const lines = newer.map(({ id, before }) => {
      const last = before.at(-1);
      return last === undefined ? `${id}` : `${id} (left ${last.id} at ${last.until}: ${last.reason})`;
    });
    throw conflict(
      'timeline_unclear',
      `the archive holds a timeline that is newer than the backup's ${own}: ${lines.join(', ')}. Say which one is production's: --timeline ${newer.at(-1)?.id} after a fail-over, --timeline ${own} where a rehearsal wrote into the archive by mistake.`,
    );
  }
  if (asked === own) return own;
  const chosen = newer.find(({ id }) => id === asked);
  const leaves = chosen?.before.find(({ id }) => id === own);
  if (leaves === undefined)
    throw conflict(
      'timeline_unknown',
      `nothing in the archive says that timeline ${asked} begins at the backup's timeline ${own}: ${hex8(BigInt(asked))}.history would. Take a backup of timeline ${asked}, or name ${own}.`,
    );
  if (walFileOf(own, leaves.until, manifest.walSegmentBytes) < manifest.lastWalFile)
    throw conflict(
      'timeline_unknown',
      `timeline ${asked} left timeline ${own} before this backup was complete: take an older backup.`,
    );
  return asked;
}

/**
 * The WAL files to replay: how many, and the name of the last one if the archive has more than the backup.
 * @throws ApiError 409 if one is missing, because the server would silently stop there
 */
export function findSegments(archive: Archive, manifest: BackupManifest, timeline: number) {
  const { walSegmentBytes: bytes } = manifest;
  const left = (archive.timelines.find(({ id }) => id === timeline)?.before ?? []).map(({ id, until }) => ({
    id,
    until: segmentOf(walFileOf(id, until, bytes), bytes).number,
  }));
  // Both timelines have the WAL file with the branching point: the replay uses the next timeline's file.
  const ownerOf = (number: bigint): number => left.find(({ until }) => number < until)?.id ?? timeline;
  const there = new Set(archive.segments.map((one) => `${one.timeline}/${one.number}`));
  const first = segmentOf(manifest.firstWalFile, bytes).number;
  const kept = segmentOf(manifest.lastWalFile, bytes).number;
  const own = archive.segments.filter((one) => one.timeline === timeline).map(({ number }) => number);
  const last = [kept, ...own, ...left.map(({ until }) => until)].reduce((most, one) => (one > most ? one : most));
  // The backup itself contains the WAL up to its end.
  for (let number = kept + 1n; number <= last; number += 1n) {
    const owner = ownerOf(number);
    if (!there.has(`${owner}/${number}`))
      throw conflict(
        'archive_gap',
        `the archive lacks ${walFileName(owner, number, bytes)}, which a later moment needs: nothing behind it can be given back. Find it, or take a newer backup.`,
      );
  }
  return { count: Number(last - first) + 1, last: last > kept ? walFileName(ownerOf(last), last, bytes) : undefined };
}
