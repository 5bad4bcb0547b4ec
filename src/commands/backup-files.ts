import { readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { conflict } from '#src/platform/errors.ts';

/** What stands beside a base backup. Written last: a folder without it holds no whole backup. */
const manifestShape = z.object({
  format: z.literal(1),
  /** When it was complete, Unix milliseconds by the database's clock: the first moment that it can give back. */
  takenAt: z.int(),
  serviceVersion: z.string(),
  serverVersion: z.string(),
  serverMajor: z.int(),
  systemIdentifier: z.string(),
  timeline: z.int(),
  walSegmentBytes: z.int(),
  /** The first file of the write-ahead log that a restore needs, and the last that it needs in any case. */
  firstWalFile: z.string(),
  lastWalFile: z.string(),
  database: z.string(),
  /** The role that the server was set up with. */
  superuser: z.string(),
  /** Names of the secret keys that the service had, never a key: each is the first 8 hex digits of what is sealed under it. */
  secretKeyIds: z.array(z.string()),
});
export type BackupManifest = z.output<typeof manifestShape>;

/** A folder that is not there yet, or is empty: that one may have been made for it, and goes. @throws ApiError 409 `folder_in_use` */
export async function requireNewFolder(folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined)) === undefined) return;
  await rmdir(folder).catch(() => {
    throw conflict('folder_in_use', `${folder} is there already, and not empty: name a new folder.`);
  });
}

export const dataFolder = (backup: string): string => path.join(backup, 'data');
const manifestFile = (backup: string): string => path.join(backup, 'backup.json');

export async function writeManifest(backup: string, manifest: BackupManifest): Promise<void> {
  await writeFile(manifestFile(backup), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
}

/** @throws ApiError 409 for a folder that holds no whole backup of `cli backup` */
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
    // What is no JSON is no manifest.
    return null;
  }
}

function bytesOf(lsn: string): bigint {
  const [high = '0', low = '0'] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

/** The file of the write-ahead log in which a place lies. @param lsn such as `0/3000028` */
export const walFileOf = (timeline: number, lsn: string, segmentBytes: number): string =>
  walFileName(timeline, bytesOf(lsn) / BigInt(segmentBytes), segmentBytes);

/** The file that holds what stands before a place: another one where the place is the first of its file. */
export const walFileBefore = (timeline: number, lsn: string, segmentBytes: number): string =>
  walFileName(timeline, (bytesOf(lsn) - 1n) / BigInt(segmentBytes), segmentBytes);

const hex8 = (value: bigint): string => value.toString(16).toUpperCase().padStart(8, '0');

function walFileName(timeline: number, segment: bigint, segmentBytes: number): string {
  const each = 0x1_0000_0000n / BigInt(segmentBytes);
  return hex8(BigInt(timeline)) + hex8(segment / each) + hex8(segment % each);
}

interface Segment {
  readonly timeline: number;
  readonly number: bigint;
}

function segmentOf(file: string, segmentBytes: number): Segment {
  const each = 0x1_0000_0000n / BigInt(segmentBytes);
  return {
    timeline: Number.parseInt(file.slice(0, 8), 16),
    number: BigInt(`0x${file.slice(8, 16)}`) * each + BigInt(`0x${file.slice(16, 24)}`),
  };
}

/** A timeline that an archive holds, and where it left the one before it. */
interface Timeline {
  readonly id: number;
  /** The timelines before it, oldest first, each with the place in the log at which it was left. */
  readonly before: readonly { readonly id: number; readonly until: string; readonly reason: string }[];
}

interface Archive {
  readonly timelines: readonly Timeline[];
  readonly segments: readonly Segment[];
}

/** Reads what an archive of the write-ahead log holds; only the histories of timelines are opened. */
export async function readArchive(folder: string, segmentBytes: number): Promise<Archive> {
  const names = await readdir(folder).catch(() => {
    throw conflict('no_archive', `the archive ${folder} cannot be read.`);
  });
  const segments = names.filter((name) => /^[0-9A-F]{24}$/.test(name)).map((name) => segmentOf(name, segmentBytes));
  const ids = new Set(segments.map(({ timeline }) => timeline));
  const histories = new Map<number, Timeline['before']>();
  for (const name of names.filter((one) => /^[0-9A-F]{8}\.history$/.test(one))) {
    const id = Number.parseInt(name.slice(0, 8), 16);
    ids.add(id);
    histories.set(id, parseHistory(await readFile(path.join(folder, name), 'utf8')));
  }
  const timelines = [...ids].toSorted((a, b) => a - b).map((id) => ({ id, before: histories.get(id) ?? [] }));
  return { timelines, segments };
}

function parseHistory(text: string): Timeline['before'] {
  return text.split('\n').flatMap((line) => {
    const match = /^(\d+)\s+([0-9A-F]+\/[0-9A-F]+)(.*)/i.exec(line.trim());
    return match === null ? [] : [{ id: Number(match[1]), until: match[2] ?? '', reason: match[3]?.trim() ?? '' }];
  });
}

/**
 * The timeline to follow: the backup's own, unless another was asked for. Where the archive holds a newer one, somebody has to
 * say which one is production's: after a fail-over it is the newer one, and after a stray rehearsal it is not.
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
 * How many files of the log are there to be replayed.
 * @throws ApiError 409 where one is missing among them: the server would stop before it, without an error
 */
export function countSegments(archive: Archive, manifest: BackupManifest, timeline: number): number {
  const { walSegmentBytes: bytes } = manifest;
  const left = (archive.timelines.find(({ id }) => id === timeline)?.before ?? []).map(({ id, until }) => ({
    id,
    until: segmentOf(walFileOf(id, until, bytes), bytes).number,
  }));
  // The file in which a timeline was left stands in the archive once more, as the first of the next one.
  const ownerOf = (number: bigint): number => left.find(({ until }) => number < until)?.id ?? timeline;
  const there = new Set(archive.segments.map((one) => `${one.timeline}/${one.number}`));
  const first = segmentOf(manifest.firstWalFile, bytes).number;
  const kept = segmentOf(manifest.lastWalFile, bytes).number;
  const own = archive.segments.filter((one) => one.timeline === timeline).map(({ number }) => number);
  const last = [kept, ...own, ...left.map(({ until }) => until)].reduce((most, one) => (one > most ? one : most));
  // Up to its end, the backup holds its log itself.
  for (let number = kept + 1n; number <= last; number += 1n) {
    const owner = ownerOf(number);
    if (!there.has(`${owner}/${number}`))
      throw conflict(
        'archive_gap',
        `the archive lacks ${walFileName(owner, number, bytes)}, which a later moment needs: nothing behind it can be given back. Find it, or take a newer backup.`,
      );
  }
  return Number(last - first) + 1;
}
