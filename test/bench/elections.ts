import { randomBytes } from 'node:crypto';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { type BallotToSeal, insertBallots } from '#src/ballots/box.ts';
import { ballotIdOf, codeTagOf, sealSecretBallot, sealWaitingTime, waitingTag } from '#src/ballots/waiting-ballot.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { acceptRoll } from '#src/voters/check-roll.ts';
import { hashStoredKey } from '#src/voters/voter-key.ts';
import { tagOfIdentity, tagOfParticipation, tagOfVoter } from '#src/voters/voter-tag.ts';
import { findEventById, lockEvent } from '#src/voting-events/repository.ts';
import type { Bench } from './bench-service.ts';
import { copyRows } from './copy-rows.ts';

/** One key for all voters of a bench's event: what is looked up is the same as with a key each. */
export const VOTER_KEY = '0123-4567-89AB-CDEF';

/** Candidates that are created at the same time. */
const TOGETHER = 8;
const NOTHING = Buffer.alloc(0);
/** What a voter weighs, in millionths. */
export const UNIT = 1_000_000n;

export interface BenchPosition {
  readonly id: string;
  readonly number: number;
  readonly candidates: readonly { readonly id: string; readonly number: number }[];
}

export interface BenchElection {
  readonly id: string;
  readonly positions: readonly BenchPosition[];
  /** What its ballots wait under. */
  readonly secrets: Secrets;
}

export interface PositionPlan {
  readonly votingMethod: string;
  readonly candidates: number;
  readonly settings?: Readonly<Record<string, unknown>>;
}

export const voterIdOf = (index: number): string => `B${String(index).padStart(8, '0')}`;
export const voterRowIdOf = (index: number): string => `vtr_${String(index).padStart(22, '0')}`;
/** The confirmation code of a ballot that a generator made: digits are valid in a code. */
export const codeOf = (index: number): string => String(index).padStart(26, '0');

/** What a ballot of an election is found by while it waits. */
export function waitingTagOf({ id, secrets }: BenchElection, code: string): Buffer {
  return waitingTag(secrets, { id, type: 'election' }, code);
}

/** Creates an open election over the API, as an organizer does; candidates are then added in the database where they are many. */
export async function createElection(
  bench: Bench,
  plans: readonly PositionPlan[],
  settings: Readonly<Record<string, unknown>> = {},
): Promise<BenchElection> {
  const event = { title: 'An election of the bench', type: 'election', ...settings };
  const { id } = (await bench.organize('POST', '/voting-events', event)) as { id: string };
  for (const [index, { votingMethod, candidates, settings: own }] of plans.entries()) {
    const position = { title: `Position ${index + 1}`, votingMethod, ...own };
    const { id: positionId } = await bench.organize('POST', `/voting-events/${id}/positions`, position);
    const add = async (number: number): Promise<void> => {
      const name = `Candidate ${number} of position ${index + 1}`;
      const description = 'Stands for what the others of this list stand for too, and says so in a sentence like this.';
      await bench.organize('POST', `/voting-events/${id}/candidates`, { name, description, positionIds: [positionId] });
    };
    for (let first = 1; first <= candidates; first += TOGETHER) {
      const last = Math.min(candidates, first + TOGETHER - 1);
      await Promise.all(Array.from({ length: last - first + 1 }, (_, offset) => add(first + offset)));
    }
  }
  await bench.organize('PATCH', `/voting-events/${id}`, { status: 'open' });
  const opened = await findEventById(bench.deps.db, id);
  const secrets = opened === undefined ? undefined : await bench.deps.ballotKeys.find(opened);
  if (secrets === undefined) throw new Error('an open election has a key');
  return { id, positions: await readPositions(bench, id), secrets };
}

async function readPositions(bench: Bench, eventId: string): Promise<BenchPosition[]> {
  const { rows: positions } = await bench.pool.query<{ id: string; number: number }>(
    'SELECT id, number FROM positions WHERE voting_event_id = $1 ORDER BY number',
    [eventId],
  );
  const { rows: candidates } = await bench.pool.query<{ id: string; number: number; position: string }>(
    'SELECT id, number, position_ids[1] AS position FROM candidates WHERE voting_event_id = $1 ORDER BY number',
    [eventId],
  );
  return positions.map((position) => ({
    ...position,
    candidates: candidates.filter((candidate) => candidate.position === position.id),
  }));
}

const VOTER_COLUMNS =
  'voting_event_id id name email email_key voter_id voter_id_key weight_micro status source key_status created_at updated_at tag';

/** Fills an election with approved voters, `from` to before `to`, who have the bench's key. */
export async function addVoters(bench: Bench, eventId: string, from: number, to: number): Promise<void> {
  const now = Date.now();
  const { secrets } = bench.deps;
  const rows = to - from;
  await copyRows(bench.databaseUrl, {
    table: 'voters',
    columns: VOTER_COLUMNS.split(' '),
    rows,
    row(index) {
      const [id, email] = [voterIdOf(from + index), `voter${from + index}@bench.example`];
      const deciding = {
        votingEventId: eventId,
        id: voterRowIdOf(from + index),
        name: `Voter ${from + index}`,
        email,
        emailKey: email,
        voterId: id,
        voterIdKey: id,
      };
      const came = { source: 'organizer', keyGeneration: 0, letters: null } as const;
      const standing = { groupId: null, weightMicro: UNIT, status: 'approved', ...came } as const;
      const tag = tagOfVoter(secrets, { ...deciding, ...standing });
      const rest = [email, email, id, id, 1_000_000, 'approved', 'organizer', 'sent', now, now, tag];
      return [eventId, deciding.id, deciding.name, ...rest];
    },
  });
  await copyRows(bench.databaseUrl, {
    table: 'voter_keys',
    columns: ['voting_event_id', 'voter_id', 'key_hash'],
    rows,
    row(index) {
      const id = voterRowIdOf(from + index);
      return [eventId, id, hashStoredKey(secrets, { votingEventId: eventId, id, keyGeneration: 0 }, VOTER_KEY)];
    },
  });
  // What the triggers of the roll would have noted.
  await bench.pool.query(
    "INSERT INTO roll_figures VALUES ($1, DEFAULT, '', 'approved', 'organizer', $2, $2::bigint * 1000000, 0, 0)",
    [eventId, rows],
  );
}

/** What is sealed with a ballot of whom it was cast for. */
const castFor = ({ secrets, id }: BenchElection, voter: number): Buffer =>
  tagOfIdentity(secrets, id, { kind: 'voter_id', key: voterIdOf(voter) });

/**
 * Ballots that were cast and wait for their confirmation, of the voters `from` to before `to`; the code of each is `codeOf`
 * its number.
 * @param tagOf what a ballot is found by; another one where SQL has to know it
 */
export async function addPendingBallots(
  bench: Bench,
  election: BenchElection,
  votes: readonly BallotVote[],
  from: number,
  to: number,
  tagOf = (code: string): Buffer => waitingTagOf(election, code),
): Promise<void> {
  const packed = packVotes(election, votes);
  await copyRows(bench.databaseUrl, {
    table: 'pending_ballots',
    columns: ['voting_event_id', 'participant', 'participants', 'code_tag', 'entries', 'weight_micro', 'cast_at'],
    rows: to - from,
    row(index) {
      const participant = voterRowIdOf(from + index);
      const code = codeOf(from + index);
      const tag = tagOf(code);
      const entries = sealBallot(election, tag, codeTagOf(code), packed, castFor(election, from + index));
      return [election.id, participant, `{${participant}}`, tag, entries, 1_000_000, Date.now()];
    },
  });
}

export interface BallotVote {
  readonly positionId: string;
  readonly candidateId: string;
  readonly value?: number;
  readonly rank?: number;
}

/** The entries of a ballot as they wait, sealed under what the ballot is found by. */
export function sealBallot(
  { id, secrets }: BenchElection,
  tag: Buffer,
  codeTag: Buffer,
  packed: Buffer,
  voter: Buffer,
): Buffer {
  return sealSecretBallot(secrets, id, tag, { codeTag, packed, room: packed.length, weightMicro: UNIT, voter });
}

export function packVotes(election: BenchElection, votes: readonly BallotVote[]): Buffer {
  return packEntries(
    election.positions.map((position) => ({
      position: position.number,
      entries: votes
        .filter(({ positionId }) => positionId === position.id)
        .map(({ candidateId, value, rank }) => ({
          candidate: position.candidates.find(({ id }) => id === candidateId)?.number ?? 0,
          value: rank ?? value ?? 1,
        })),
    })),
  );
}

/** Confirmed ballots that wait for the log, sealed as the service keeps them. */
export async function addQueuedBallots(bench: Bench, election: BenchElection, rows: number): Promise<void> {
  const [position] = election.positions;
  const candidates = position?.candidates ?? [];
  const columns = 'voting_event_id id code_tag entries weight_micro salt sealed_time due_at'.split(' ');
  await copyRows(bench.databaseUrl, {
    ...{ table: 'ballot_queue', columns, rows },
    row(index) {
      const tag = waitingTagOf(election, codeOf(index));
      const chosen = candidates.filter((_, place) => ((index + 1) >> place) & 1);
      const entries = chosen.map(({ number }) => ({ candidate: number, value: 1 }));
      const packed = packEntries([{ position: position?.number ?? 0, entries }]);
      const sealed = sealBallot(election, tag, codeTagOf(codeOf(index)), packed, castFor(election, index));
      const time = sealWaitingTime(election.secrets, election.id, tag, tag.subarray(0, 12), Date.now());
      return [election.id, `bal_${tag.toString('hex', 0, 13)}`, tag, sealed, 1_000_000, NOTHING, time, Date.now()];
    },
  });
}

/** Says of the voters `from` to before `to` that they took part, as their confirmed ballots would have. */
export async function addTurnout(bench: Bench, election: BenchElection, from: number, to: number): Promise<void> {
  const votingEventId = election.id;
  await copyRows(bench.databaseUrl, {
    ...{ table: 'participation', columns: ['voting_event_id', 'participant', 'exclusive', 'tag'], rows: to - from },
    row(index) {
      const id = voterRowIdOf(from + index);
      const voter = { votingEventId, id, weightMicro: UNIT, status: 'approved' } as const;
      return [votingEventId, id, true, tagOfParticipation(election.secrets, voter)];
    },
  });
}

/** Sums up a roll that was copied in: the log of its election closes only over the voters that the service knows of. */
export async function sumUpRoll({ deps }: Bench, eventId: string): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const event = await lockEvent(tx, eventId);
    if (event === undefined) throw new Error('an election is gone');
    await acceptRoll(tx, deps.secrets, event);
  });
}

/** Ballots that are sealed by one statement here. */
const SEALED_TOGETHER = 2_048;

/** Confirmed ballots that stand in the log's order, `from` to before `to`; their entries are what `entries` gives, packed. */
export async function addConfirmedBallots(
  bench: Bench,
  eventId: string,
  from: number,
  to: number,
  entries: (index: number) => Buffer,
): Promise<void> {
  for (let first = from; first < to; first += SEALED_TOGETHER) {
    const ballots = Array.from({ length: Math.min(SEALED_TOGETHER, to - first) }, (_, index): BallotToSeal => {
      const codeTag = codeTagOf(codeOf(first + index));
      const salt = randomBytes(32);
      return {
        ...{ id: ballotIdOf(salt, codeTag), codeTag, entries: entries(first + index), weightMicro: UNIT, salt },
        ...{ sealedTime: salt.subarray(0, 12), voterId: null, countryCode: null, submittedAt: null },
      };
    });
    await inTransaction(bench.deps.db, (tx) => insertBallots(tx, eventId, first, ballots));
  }
  await bench.pool.query('ANALYZE ballot_blocks');
}

/** The table that counts are compared with: as many ballots, a row each. */
export const ROWS_TABLE = 'bench_ballot_rows';

export async function addBallotRows(
  bench: Bench,
  eventId: string,
  rows: number,
  entries: (index: number) => Buffer,
): Promise<void> {
  await bench.pool.query(`CREATE TABLE IF NOT EXISTS ${ROWS_TABLE} (
    voting_event_id text, leaf_index bigint, id text, code_tag bytea, entries bytea, weight_micro bigint, salt bytea, sealed_time bytea,
    PRIMARY KEY (voting_event_id, leaf_index))`);
  const salt = randomBytes(32);
  const columns = 'voting_event_id leaf_index id code_tag entries weight_micro salt sealed_time'.split(' ');
  await copyRows(bench.databaseUrl, {
    ...{ table: ROWS_TABLE, columns, rows },
    row(index) {
      const tag = codeTagOf(codeOf(index));
      const id = `bal_${tag.toString('hex', 0, 13)}`;
      return [eventId, index, id, tag, entries(index), 1_000_000, salt, salt.subarray(0, 12)];
    },
  });
}
