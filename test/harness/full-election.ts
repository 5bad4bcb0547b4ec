import { drizzle } from 'drizzle-orm/node-postgres';
import pg, { type Pool } from 'pg';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import type { CastRequest, ConfirmRow } from '#src/ballots/repository.ts';
import { codeTagOf, sealSecretBallot } from '#src/ballots/waiting-ballot.ts';
import type { Database } from '#src/database/client.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { hashSentKey } from '#src/voters/voter-key.ts';
import { taggedVoter, tagOfIdentity, tagOfParticipation } from '#src/voters/voter-tag.ts';
import { endsOf, paperOf } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { createTestEvent, type TestEvent } from './elections.ts';
import { putIntoBox } from './sealed-box.ts';
import type { TestAccount, TestService } from './test-service.ts';

const KEY = '0123-4567-89AB-CDEF';
const ONE_ENTRY = packEntries([{ position: 1, entries: [{ candidate: 1, value: 1 }] }]);
/** The big tables: small ones, and the queue of one event, are read whole, which is as good as any index. */
const BIG_TABLES = ['voters', 'voter_keys', 'participation', 'pending_ballots', 'ballot_blocks'];

/** A statement of the service, sent over one connection. */
export type Work = (pool: Pool, db: Database) => Promise<unknown>;

export interface ReadRows {
  /** By going through a table. */
  readonly scanned: number;
  /** By an index. */
  readonly found: number;
}

/**
 * An election whose rows are written as the service would, without asking it a hundred thousand times: of a hundredth share
 * of voters each, 40 have voted, one of whose ballots still waits for the log, and 20 have cast. All have the same key.
 */
export class FullElection {
  readonly service: TestService;
  readonly account: TestAccount;
  readonly event: VotingEvent;
  readonly definition: TestEvent;
  readonly voters: number;
  readonly voterKey = KEY;

  private constructor(
    service: TestService,
    account: TestAccount,
    event: VotingEvent,
    definition: TestEvent,
    voters: number,
  ) {
    this.service = service;
    this.account = account;
    this.event = event;
    this.definition = definition;
    this.voters = voters;
  }

  /** The open election, still without anybody on its roll. @param voters divisible by 100 */
  static async open(service: TestService, account: TestAccount, voters: number): Promise<FullElection> {
    const plan = { votingMethod: 'approval', candidates: ['Ada', 'Bea'] };
    const definition = await createTestEvent(service, account, { type: 'election' }, [plan]);
    const event = await findEventById(service.deps.db, definition.id);
    if (event === undefined) throw new Error('the event was just made');
    return new FullElection(service, account, event, definition, voters);
  }

  /** The ID of the voter with a number from 1 on. Those up to a fifth have cast, those above three fifths have voted. */
  voterId(number: number): string {
    return `vtr_${String(number).padStart(8, '0')}`;
  }

  async fill(): Promise<void> {
    const { voters } = this;
    // Not from the pool: its time limits are made for requests.
    const client = new pg.Client({ connectionString: this.service.databaseUrl });
    await client.connect();
    const fill = (statement: string, ...values: unknown[]) => client.query(statement, [this.event.id, ...values]);
    await fill(`INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status, key_used, created_at, updated_at)
      SELECT $1, 'vtr_' || lpad(n::text, 8, '0'), 'Voter ' || n, 'v' || n || '@example.org', 'v' || n || '@example.org', 'ID' || n, 'ID' || n,
        1000000, 'approved', 'organizer', 'sent', n <= ${voters * 0.2} OR n > ${voters * 0.6}, 0, 0 FROM generate_series(1, ${voters}) AS n`);
    await fill(
      `INSERT INTO voter_keys SELECT $1, 'vtr_' || lpad(n::text, 8, '0'), sha256($2::bytea || convert_to('vtr_' || lpad(n::text, 8, '0') || chr(10) || '0', 'UTF8')), 0, false FROM generate_series(1, ${voters}) AS n`,
      hashSentKey(this.service.deps.secrets, { id: this.event.id, rehearsalSince: null }, KEY),
    );
    const voted = voters * 0.6;
    await fill(`INSERT INTO participation (voting_event_id, participant)
      SELECT $1, 'vtr_' || lpad(n::text, 8, '0') FROM generate_series(${voted + 1}, ${voters}) AS n`);
    const code = "sha256(convert_to('code' || lpad(n::text, 26, '0'), 'UTF8'))";
    await fill(
      `INSERT INTO pending_ballots (voting_event_id, participant, participants, code_tag, entries, weight_micro, cast_at)
       SELECT $1, p, ARRAY[p], ${code}, $2::bytea, 1000000, now_ms()
       FROM generate_series(1, ${voters * 0.2}) AS n, LATERAL (SELECT 'vtr_' || lpad(n::text, 8, '0') AS p) AS x`,
      ONE_ENTRY,
    );
    const row = `'bal_' || n AS id, ${code} AS code_tag, $2::bytea AS entries, 1000000 AS weight_micro, '\\x00'::bytea AS salt,
      '\\x00'::bytea AS sealed_time`;
    const sealed = voters * 0.99;
    const numbers = (from: number, to: number) => `generate_series(${from}, ${to}) AS n`;
    await fill(putIntoBox(`SELECT n AS leaf_index, ${row} FROM ${numbers(voted + 1, sealed)}`), ONE_ENTRY);
    await fill(
      `INSERT INTO ballot_queue (voting_event_id, due_at, id, code_tag, entries, weight_micro, salt, sealed_time)
       SELECT $1, now_ms(), ${row} FROM ${numbers(sealed + 1, voters)}`,
      ONE_ENTRY,
    );
    await client.end();
  }

  /** What casting hands to the database for a voter, with an Idempotency-Key of its own. */
  castRequest(voter: number, entries = ONE_ENTRY): CastRequest {
    const { service, account, event } = this;
    const { secrets } = service.deps;
    const identity = { kind: 'email', key: `v${voter}@example.org` } as const;
    const codeTag = codeTagOf(codeOf(1_000_000 + Math.floor(Math.random() * 1e9)));
    const key = `key-${voter}-${Math.random()}`;
    return {
      row: {
        ...{
          eventId: event.id,
          paper: paperOf(event),
          expectedGroup: undefined,
          participants: [''],
          codeTag,
        },
        voter: { identity, keyHash: hashSentKey(secrets, event, KEY) },
        entries: sealSecretBallot(secrets, event.id, codeTag, {
          codeTag,
          packed: entries,
          room: entries.length,
          weightMicro: MICRO,
          voter: tagOfIdentity(secrets, event.id, identity),
        }),
        sealedWeight: MICRO,
        ...{ visitorId: null, voterId: null, email: identity.key, name: null, countryCode: null, credits: undefined },
      },
      claim: {
        ...{ apiKeyId: account.id, key, fingerprint: Buffer.alloc(32, 1), token: Buffer.from(key).subarray(0, 16) },
        // As long as the sealed answer of a cast.
        sealedAnswer: 'x'.repeat(140),
        secretEventId: null,
      },
    };
  }

  /** What confirming hands to the database for the ballot of a number: pending, waiting or sealed, as that voter's is. */
  confirmRow(ballot: number): ConfirmRow {
    return {
      ...{ eventId: this.event.id, codeTag: codeTagOf(codeOf(ballot)), leafTag: codeTagOf(codeOf(ballot)) },
      ...{ ballotId: `bal_new_${ballot}`, salt: Buffer.alloc(32) },
      ...{ sealedTime: Buffer.alloc(6), atMs: Date.now(), newVoterId: 'vtr_none', ends: endsOf(this.event) },
      // Its ballots and their statements are looked at, and not whose they are.
      admit: ({ participant, tagged }) => ({
        participant,
        tag: tagOfParticipation(this.service.deps.secrets, taggedVoter(this.event.id, tagged)),
      }),
    };
  }
}

const codeOf = (number: number): string => String(number).padStart(26, '0');

/** One connection, over which statements are sent and undone, and whose reading is counted. */
export class ReadingMeter {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async connect({ databaseUrl }: TestService): Promise<ReadingMeter> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    return new ReadingMeter(client);
  }

  /** Rows of the big tables that work reads. */
  async measure(work: Work): Promise<ReadRows> {
    await this.#client.query('BEGIN');
    const before = await this.#sum();
    await work(this.#client as unknown as Pool, drizzle(this.#client) as unknown as Database);
    const after = await this.#sum();
    await this.#client.query('ROLLBACK');
    return { scanned: after.scanned - before.scanned, found: after.found - before.found };
  }

  async end(): Promise<void> {
    await this.#client.end();
  }

  async #sum(): Promise<ReadRows> {
    const { rows } = await this.#client.query<ReadRows>(
      `SELECT sum(seq_tup_read)::int AS scanned, sum(coalesce(idx_tup_fetch, 0))::int AS found
       FROM pg_stat_xact_user_tables WHERE relname = ANY ($1)`,
      [BIG_TABLES],
    );
    return rows[0] ?? { scanned: 0, found: 0 };
  }
}

/** Leaves the tables as they are right after they were filled: without statistics to plan by, and without space that was tidied up. */
export async function keepUntended({ deps }: TestService): Promise<void> {
  for (const table of [...BIG_TABLES, 'idempotency_keys'])
    await deps.db.$client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
}
