import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { codeTagOf, deriveConfirmationCode, openBallot } from '#src/ballots/waiting-ballot.ts';
import { createSecrets, type Secrets } from '#src/platform/secrets.ts';

/** Bytes that lie on a disk: the pages of a relation, or a stretch of the write-ahead log. */
export interface DiskFile {
  readonly name: string;
  readonly bytes: Buffer;
}

const LOG_PAGE_BYTES = 8_192;
/** Of the first page of a file of the log, and of every other one. */
const [LONG_HEADER_BYTES, HEADER_BYTES] = [40, 24];

/** A file of the log without what stands between its pages: records go on over them. */
function withoutPageHeaders(bytes: Buffer): Buffer {
  const pages: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += LOG_PAGE_BYTES)
    pages.push(bytes.subarray(at + (at === 0 ? LONG_HEADER_BYTES : HEADER_BYTES), at + LOG_PAGE_BYTES));
  return Buffer.concat(pages);
}

/** The write-ahead log from a moment on, of which nothing is recycled until it is let go: other tests have the server make checkpoints. */
export async function holdLog(pool: pg.Pool) {
  const slot = `attacker_${randomBytes(6).toString('hex')}`;
  await pool.query('SELECT pg_create_physical_replication_slot($1, true)', [slot]);
  const { rows } = await pool.query<{ at: string }>('SELECT pg_current_wal_insert_lsn() AS at');
  return {
    since: rows[0]?.at ?? '0/0',
    letGo: async () => void (await pool.query('SELECT pg_drop_replication_slot($1)', [slot])),
  };
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    // Removed or recycled between the question and this.
    return undefined;
  }
}

async function readLog(pool: pg.Pool, since: string): Promise<DiskFile> {
  const { rows: segments } = await pool.query<{ data: string; file: string }>(
    `SELECT current_setting('data_directory') AS data, pg_walfile_name($1::pg_lsn + n * size) AS file
     FROM (SELECT setting::bigint AS size FROM pg_settings WHERE name = 'wal_segment_size') AS s,
       generate_series(0, (pg_current_wal_insert_lsn() - $1::pg_lsn) / size + 1) AS n
     WHERE $1::pg_lsn + n * size < pg_current_wal_insert_lsn() + size`,
    [since],
  );
  const pieces = segments.flatMap(({ data, file }) => readIfThere(path.join(data, 'pg_wal', file)) ?? []);
  return { name: 'pg_wal', bytes: Buffer.concat(pieces.map(withoutPageHeaders)) };
}

/**
 * What a base backup would hold: every page of every relation of a database, indexes and dead rows included, and the
 * write-ahead log since a moment. The test reads the disk, so server and test run on one machine.
 */
export async function readDisk(pool: pg.Pool, since: string): Promise<DiskFile[]> {
  const log = await readLog(pool, since);
  // Writes what is in the server's memory to the disk, and may recycle files of the log.
  await pool.query('CHECKPOINT');
  const { rows: places } = await pool.query<{ data: string; name: string; file: string }>(
    `SELECT current_setting('data_directory') AS data, relname AS name, pg_relation_filepath(oid) AS file FROM pg_class
     WHERE relkind IN ('r', 'i', 't', 'm') AND relnamespace <> 'pg_catalog'::regnamespace AND pg_relation_size(oid) > 0`,
  );
  const relations = places.flatMap(({ data, name, file }) => {
    const bytes = readIfThere(path.join(data, file));
    return bytes === undefined ? [] : [{ name, bytes }];
  });
  return [...relations, log];
}

/** What an attacker knows of one voter, and the truth to score the guesses by. */
export interface KnownVoter {
  readonly id: string;
  /** The keys that a careful server sends its requests with: they name the voter. */
  readonly idempotencyKeys: readonly string[];
  /** Hash of the confirmation code, as it stands in the log, in hex. */
  readonly ballot: string;
}

export interface FileAttack {
  readonly files: readonly DiskFile[];
  readonly eventId: string;
  readonly apiKeyId: string;
  readonly voters: readonly KnownVoter[];
  /** Keys of 32 bytes that the attacker holds, whatever they are the keys of. */
  readonly masters: readonly Buffer[];
}

const VOTER = /vtr_[0-9a-z]{22}/;
const TAG_BYTES = 32;
const TOKEN_BYTES = 32;
/** From the beginning of a row's event to the end of its sealed ballot. */
const ROW_BYTES = 900;

function* placesOf(bytes: Buffer, text: string | Buffer): Generator<number> {
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) yield at;
}

/** Opens a sealed ballot whose first byte is somewhere, trying every place where its tag may stand before it. */
function readBallot(attack: FileAttack, rings: readonly Secrets[], row: Buffer): string | undefined {
  for (let at = TAG_BYTES; at < row.length - 40; at += 1) {
    if (row[at] !== 3) continue;
    for (let gap = 1; gap <= 8 && at - gap >= TAG_BYTES; gap += 1) {
      const tag = row.subarray(at - gap - TAG_BYTES, at - gap);
      for (const ring of rings) {
        // The ID of the key stands in clear: a blob of another key is not tried, as it could not open.
        if (!row.subarray(at + 1, at + 5).equals(Buffer.from(ring.id, 'hex'))) continue;
        for (let bytes = 78; bytes <= 140; bytes += 1) {
          const end = at + 1 + 4 + 12 + bytes + 16;
          try {
            const { sealed } = openBallot(ring, { id: attack.eventId, type: 'election' }, tag, row.subarray(at, end));
            if (sealed !== undefined) return sealed.codeTag.toString('hex');
          } catch {
            // Not this tag, this key or this length.
          }
        }
      }
    }
  }
  return undefined;
}

/** The ballot whose code a claim gives, of those in the log: behind its name stand its fingerprint and, a byte further, its token. */
function readClaim({ eventId }: FileAttack, rings: readonly Secrets[], log: LogOrder, row: Buffer): string | undefined {
  for (let at = TAG_BYTES + 1; at + TOKEN_BYTES <= row.length; at += 1)
    for (const ring of rings) {
      const seed = Buffer.concat([row.subarray(at - 1 - TAG_BYTES, at - 1), row.subarray(at, at + TOKEN_BYTES)]);
      const code = deriveConfirmationCode(ring, eventId, seed);
      const ballot = codeTagOf(code).toString('hex');
      if (log.includes(ballot)) return ballot;
    }
  return undefined;
}

/** Read at once, with what may go on over the end of a piece. */
const PIECE_BYTES = 1 << 20;

/** Ballots that claims give, by the voter whom their keys name: a name is a hash of its key under a secret key. */
function readClaims(attack: FileAttack, rings: readonly Secrets[], log: LogOrder): Map<string, Set<string>> {
  const byName = new Map(
    attack.voters.flatMap(({ id, idempotencyKeys }) =>
      idempotencyKeys.flatMap((key) =>
        rings.map((ring) => {
          const name = ring.mac('idempotency-key', `${attack.apiKeyId}\n${key}`).toString('base64url');
          return [name, id] as const;
        }),
      ),
    ),
  );
  const claimed = new Map<string, Set<string>>();
  for (const { bytes } of attack.files)
    for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
      const text = bytes.toString('latin1', from, from + PIECE_BYTES + ROW_BYTES);
      for (const match of text.matchAll(/(?=([\w-]{43}))/g)) {
        const id = byName.get(match[1] ?? '');
        if (id === undefined) continue;
        const row = bytes.subarray(from + match.index, from + match.index + ROW_BYTES);
        const ballot = readClaim(attack, rings, log, row);
        if (ballot !== undefined) claimed.set(id, (claimed.get(id) ?? new Set()).add(ballot));
      }
    }
  return claimed;
}

/** Ballots in the order of the log, as the box and its leaves show it to everybody. */
export type LogOrder = readonly string[];

/** Tries to link voters with ballots from files alone. @param log what is public: the order of the ballots */
export function attackFiles(attack: FileAttack, log: LogOrder) {
  const { files, eventId, voters } = attack;
  const rings = attack.masters.map((master) => createSecrets([master]));
  const truth = new Map(voters.map(({ id, ballot }) => [id, ballot]));
  const read = new Map<string, Set<string>>();
  const order: string[] = [];
  for (const { bytes } of files)
    for (const at of placesOf(bytes, eventId)) {
      const row = bytes.subarray(at, at + ROW_BYTES);
      const [voter] = VOTER.exec(row.subarray(0, 120).toString('latin1')) ?? [];
      if (voter === undefined || !truth.has(voter)) continue;
      if (!order.includes(voter)) order.push(voter);
      // A later row of the same page may be of somebody else: a row ends where the next event begins.
      const next = row.indexOf(eventId, eventId.length);
      const ballot = readBallot(attack, rings, next < 0 ? row : row.subarray(0, next));
      if (ballot !== undefined) read.set(voter, (read.get(voter) ?? new Set()).add(ballot));
    }
  const claimed = readClaims(attack, rings, log);
  const listed = order.filter((id) => truth.has(id));
  return {
    /** Voters whose ballot was read out of a pending row, dead or alive. */
    byPendingRows: [...read].filter(([id, ballots]) => ballots.has(truth.get(id) ?? '')).length,
    /** Voters whose code was made again from the claim of their cast. */
    byClaims: [...claimed].filter(([id, ballots]) => ballots.has(truth.get(id) ?? '')).length,
    /** Voters whose rows were found at all: without any there is nothing to attack. */
    found: listed.length,
    /** By pairing the order in which voters were written with the order of the log: how many were right. */
    byOrder: listed.filter((id, place) => truth.get(id) === log[place]).length,
  };
}
