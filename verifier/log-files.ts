import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { address, WIDTH } from './read-leaves.ts';
import { MOST_BYTES, type Read, type Reply, readOverHttp, requireBytes, Unreadable } from './read-service.ts';

/**
 * The file for a path of the service, in a folder of answers about one event. File servers ignore the text after a `?`, so it becomes
 * part of the file's path. Below `log/`, checkpoint and tiles have the names of C2SP tlog-tiles.
 */
function fileOf(asked: string, event: string): string {
  if (asked === '/.well-known/voting-log-key') return 'log-key';
  const own = `/public/voting-events/${encodeURIComponent(event)}/`;
  const named = asked.replace('?', '/');
  return named.startsWith(own) ? named.slice(own.length) : `service${named}`;
}

const isCheckpoint = (asked: string): boolean => asked.startsWith('/public/') && asked.endsWith('/log/checkpoint');
const isTile = (asked: string): boolean => asked.includes('/tile/');
/** Full tiles never change, so the next export reads them from the folder. */
const isFullTile = (asked: string): boolean => isTile(asked) && !asked.includes('.p/');

/** Writes a file completely or not at all. @throws Unreadable if it cannot, because a full disk says nothing against the log */
function save(file: string, content: string | Uint8Array): void {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(`${file}.part`, content);
    renameSync(`${file}.part`, file);
  } catch (fault) {
    throw new Unreadable(`${file} cannot be written`, { cause: fault });
  }
}

/** @throws Unreadable if the folder has another log, by its checkpoint's first line: the other's tiles would be taken for this log's */
function requireSameLog(folder: string, file: string, checkpoint: Buffer): void {
  const [saved] = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const [origin] = checkpoint.toString('utf8').split('\n');
  if (saved !== undefined && saved !== origin) throw new Unreadable(`${folder} holds another log: ${saved}`);
}

/** Saves every answer in a folder, except the checkpoint: `finishExport` writes it once the files on which it depends are there. */
export function savingTo(folder: string, event: string, read: Read): Read {
  return async (asked, maxBytes) => {
    const file = path.join(folder, fileOf(asked, event));
    if (isFullTile(asked) && existsSync(file)) return { status: 200, bytes: readFileSync(file) };
    const reply = await read(asked, maxBytes);
    if (isCheckpoint(asked)) requireSameLog(folder, file, reply.bytes);
    else if (reply.status === 200) save(file, reply.bytes);
    return reply;
  };
}

/**
 * Saves the tiles of hashes above the leaves, from which proofs are made and which no verification reads. Then saves the checkpoint.
 * @param saving made by `savingTo`
 */
export async function finishExport(
  folder: string,
  event: string,
  saving: Read,
  { checkpoint, size }: { readonly checkpoint: string; readonly size: number },
): Promise<void> {
  const base = `/public/voting-events/${encodeURIComponent(event)}/log`;
  let hashes = Math.floor(size / WIDTH);
  for (let level = 1; hashes > 0; level += 1) {
    for (let from = 0; from < hashes; from += WIDTH) {
      const tile = address(level, from / WIDTH, Math.min(WIDTH, hashes - from));
      await requireBytes(saving, `${base}/${tile}`, MOST_BYTES.tile);
    }
    hashes = Math.floor(hashes / WIDTH);
  }
  save(path.join(folder, 'log/checkpoint'), checkpoint);
}

/** Reads an export in place of the service. @param place a folder, or the URL of a file server (http:// or https://) */
export function readFrom(place: string, event: string): Read {
  const read = /^https?:/.test(place) ? readOverHttp(place, undefined) : readFolder(place);
  return async (asked, maxBytes) => {
    const reply = await read(`/${fileOf(asked, event)}`, maxBytes);
    const isPartOfLog = isTile(asked) || isCheckpoint(asked) || asked.startsWith('/.well-known/');
    // The service did not show results and openings to the key of the export, so their files are missing.
    return reply.status === 404 && !isPartOfLog ? { ...reply, status: 403 } : reply;
  };
}

function readFolder(folder: string): (file: string) => Promise<Reply> {
  return async (file) => {
    const whole = path.join(folder, file);
    return existsSync(whole) ? { status: 200, bytes: readFileSync(whole) } : { status: 404, bytes: Buffer.alloc(0) };
  };
}
