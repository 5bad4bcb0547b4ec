import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PathClient } from '#sdk/index.ts';
import { writeWhole } from '#src/platform/files.ts';
import { type Answer, type Cli, commandOf } from './cli.ts';
import { nameUnreachable, pageWarnings } from './notify-voters.ts';
import { waitForEnd } from './progress.ts';

export interface PrintOptions {
  readonly event: string;
  readonly audience: 'without_email' | 'all';
  readonly paper: 'a4' | 'letter';
  readonly beforeOpening?: boolean;
  /** The folder for the files; created if it does not exist. */
  readonly folder?: string;
}

const PAUSE_MS = 1_000;
/** File mode of letters: anyone who reads a letter can vote with it, so only the file's owner may read it. */
const PRIVATE = 0o600;
/** More than the network holds of a file that its reader does not take. */
const ROOM_BYTES = 16 * 1024 * 1024;

/** Orders letters as PDF, waits, and saves them (completions 10.9). `client` sends the request; `patient` waits and downloads. */
export async function printLetters(
  cli: Pick<Cli, 'json'>,
  [client, patient]: readonly [PathClient, PathClient],
  options: PrintOptions,
): Promise<Answer> {
  const { event: reference, audience, paper, beforeOpening, folder = '.' } = options;
  const { data: event } = await client.get('/voting-events/{idOrCode}', { path: { idOrCode: reference } });
  const body = { audience, paper, ...(beforeOpening === true ? { beforeOpening } : {}) };
  const place = { idOrCode: event.id };
  // New letters invalidate the keys of earlier letters, so the folder must exist before the letters are ordered.
  await mkdir(folder, { recursive: true });
  const { data: ordered } = await client.post('/voting-events/{idOrCode}/voters/letters', { path: place, body });
  const at = { ...place, id: ordered.id };
  const row = await waitForEnd(
    cli.json(),
    async () => (await patient.get('/voting-events/{idOrCode}/letters/{id}', { path: at })).data,
    { done: ({ done }) => done, unit: 'letters' },
    [PAUSE_MS],
  );
  if (row.finishedAt === null)
    return { value: row, next: [`Not waited for the end. The letters wait for 24 hours under the ID ${row.id}.`] };
  const files: string[] = [];
  for (const { number } of row.files) {
    const file = path.resolve(folder, `${event.code}-letters-${number}.pdf`);
    await requireRoom(file);
    const answer = await patient.fetch('get', '/voting-events/{idOrCode}/letters/{id}/pdf', {
      path: at,
      query: { file: number },
    });
    // Written while it is downloaded, so that a disk that takes no more of it cuts the download off.
    await writeWhole(file, answer.body ?? '', PRIVATE);
    files.push(file);
  }
  return {
    value: { id: row.id, votingEventId: event.id, letters: row.total, files },
    next: [
      ...(files.length === 0
        ? ['No letter was due: nobody is in this audience.']
        : [
            'Print the files, fold each page in three so that the name shows in the window, and delete the files.',
            `Letters that got lost: print all again, which ends the keys of these: ${commandOf('voters letters', { ...options })}`,
          ]),
      ...pageWarnings(event, 'letters'),
      ...(await nameUnreachable(patient, event)),
    ],
  };
}

/** A small file arrives as a whole before its disk refuses it, and is gone at the service then: so the room is tried before the download. */
async function requireRoom(file: string): Promise<void> {
  const tried = `${file}.room`;
  try {
    await writeFile(tried, randomBytes(ROOM_BYTES), { mode: PRIVATE });
  } finally {
    await rm(tried, { force: true });
  }
}
