import { z } from 'zod';
import { taggedApiKeys } from '#src/accounts/repository.ts';
import { lotSeedPlace } from '#src/ballot-log/lot.ts';
import { type Database, type SendLong, withLongStatements } from '#src/database/client.ts';
import { isTagOfPresentKey, retagRows } from '#src/database/tagged-rows.ts';
import { taggedLetters } from '#src/letters/letter-run.ts';
import { credentialsPlace } from '#src/payments/business-repository.ts';
import { answerPlace, confirmationCodePlace } from '#src/payments/payment.ts';
import type { SealedPlace, Secrets } from '#src/platform/secrets.ts';
import { retagVoters, TAGGED as TAGGED_VOTERS } from '#src/voters/retag-voters.ts';
import { rollKeyPlace } from '#src/voters/roll-sum.ts';
import { taggedKeys } from '#src/voting-events/ballot-key-repository.ts';
import { wrappedKeyPlace } from '#src/voting-events/ballot-keys.ts';
import { sealedTokenPlace } from '#src/voting-events/change-invites.ts';
import { lifeOf } from '#src/voting-events/lifecycle.ts';
import { taggedEvents, taggedInvites } from '#src/voting-events/repository.ts';
import { endpointSecretPlace } from '#src/webhooks/signature.ts';

const EVENT = 'voting_event_id';

/**
 * A column of values that are encrypted under a secret key and kept as long as their row. `placeOf` names the row by the values of its
 * primary key, because the encryption covers the value's place.
 */
type KeptColumn = readonly [
  name: string,
  table: string,
  column: string,
  key: readonly string[],
  placeOf: (key: readonly string[]) => SealedPlace,
];

const KEPT: readonly KeptColumn[] = [
  ['webhook secrets', 'webhook_endpoints', 'secret', ['id'], ([id = '']) => endpointSecretPlace(id)],
  ['payment credentials', 'payment_businesses', 'credentials', ['id'], ([id = '']) => credentialsPlace(id)],
  ['keys of events', 'ballot_keys', 'wrapped', [EVENT, 'id'], ([event = '', id = '']) => wrappedKeyPlace(event, id)],
  ['keys of rolls', 'roll_sums', 'key', [EVENT], ([id = '']) => rollKeyPlace(id)],
  ['seeds of lots', 'ballot_logs', 'lot_seed', [EVENT], ([id = '']) => lotSeedPlace(id)],
  [
    'tokens of invites to be mailed',
    'event_invites',
    'sealed_token',
    [EVENT, 'id'],
    ([event = '', id = '']) => sealedTokenPlace(event, id),
  ],
  [
    'codes of paid ballots',
    'payment_attempts',
    'confirmation_code',
    [EVENT, 'id'],
    ([, id = '']) => confirmationCodePlace(id),
  ],
  ['answers to paid calls', 'payment_attempts', 'answer', [EVENT, 'id'], ([, id = '']) => answerPlace(id)],
];

/** Short-lived values that are not re-encrypted: SECRET_KEY must list their key until they are gone. */
const PASSING: readonly { readonly name: string; readonly count: string }[] = [
  {
    name: 'ballots on their way to the log',
    count: `SELECT count(*) FROM (SELECT entries FROM pending_ballots UNION ALL SELECT entries FROM ballot_queue) AS b
      WHERE get_byte(entries, 0) = 2 AND substring(entries FROM 2 FOR 4) <> decode($1, 'hex')`,
  },
  {
    name: 'addresses in jobs',
    // Failed jobs as well: `jobs retry` runs them again, and of an erasure nothing else says whom to erase.
    count: `SELECT count(*) FROM jobs
      WHERE split_part(coalesce(payload->>'sealedAddress', payload->>'sealed'), '.', 1) <> $1`,
  },
  {
    name: 'orders to copy a roll',
    count: "SELECT count(*) FROM roll_copies WHERE substring(tag FROM 1 FOR 4) <> decode($1, 'hex')",
  },
  {
    name: 'stored answers of repeated requests',
    count: `SELECT count(*) FROM idempotency_keys WHERE body IS NOT NULL AND voting_event_id IS NULL AND expires_at > now_ms()
      AND split_part(body, '.', 1) <> $1`,
  },
];

const TAGGED = [taggedEvents, taggedInvites, taggedApiKeys, taggedLetters, taggedKeys];

const ROWS_AT_ONCE = 500;

/**
 * How many values of a kind are encrypted under the present secret key, and how many under earlier keys. Values that `reseal` does not
 * re-encrypt expire; they are counted only under earlier keys.
 */
const countOf = (what: string, { earlier, present = null }: { earlier: number; present?: number | null }) => ({
  what,
  underPresentKey: present,
  underEarlierKeys: earlier,
  resealable: present !== null,
});

async function count(send: SendLong, text: string, values: unknown[]): Promise<number> {
  const { rows } = await send<{ count: string }>(text, values);
  return Number(rows[0]?.count ?? 0);
}

type Counts = readonly ReturnType<typeof countOf>[];

export const countSealed = (db: Database, secrets: Secrets): Promise<Counts> =>
  withLongStatements(db, (send) => countEach(send, secrets));

async function countEach(send: SendLong, secrets: Secrets): Promise<Counts> {
  const counts: ReturnType<typeof countOf>[] = [];
  /** @param isPresent SQL; neither true nor false for a row without a value */
  const countRows = async (name: string, from: string, isPresent: string): Promise<void> => {
    const present = await count(send, `SELECT count(*) FILTER (WHERE ${isPresent}) AS count ${from}`, [secrets.id]);
    const earlier = await count(send, `SELECT count(*) FILTER (WHERE NOT ${isPresent}) AS count ${from}`, [secrets.id]);
    counts.push(countOf(name, { present, earlier }));
  };
  for (const [name, table, column] of KEPT)
    await countRows(name, `FROM ${table}`, `split_part(${column}, '.', 1) = $1`);
  await countRows('earlier webhook secrets', REPLACED, "split_part(one->>'secret', '.', 1) = $1");
  for (const { name, count: text } of PASSING)
    counts.push(countOf(name, { earlier: await count(send, text, [secrets.id]) }));
  await countRows('rows of voters', TAGGED_VOTERS, isTagOfPresentKey('v.tag'));
  for (const { name, table, column = 'tag', isThere = 'true' } of TAGGED)
    await countRows(name, `FROM ${table} WHERE ${isThere}`, isTagOfPresentKey(column));
  // Voter keys are stored as hashes, which do not show under which secret key they were made: all count as earlier.
  const earlier = await count(
    send,
    `SELECT count(*) FROM voter_keys k JOIN voting_events e ON e.id = k.voting_event_id
     WHERE event_status(${lifeOf('e')}, now_ms()) <> 'closed'`,
    [],
  );
  counts.push(countOf('voter keys of events that go on', { earlier }));
  return counts;
}

const keyShape = z.array(z.string());

async function resealColumn(
  send: SendLong,
  secrets: Secrets,
  [, table, column, key, placeOf]: KeptColumn,
  onProgress: (resealed: number) => void,
): Promise<number> {
  const names = key.join(', ');
  let after: readonly string[] = key.map(() => '');
  let unreadable = 0;
  for (;;) {
    const { rows } = await send<{ key: unknown; value: string }>(
      `SELECT to_json(ARRAY[${names}]) AS key, ${column} AS value FROM ${table}
       WHERE (${names}) > (${key.map((_, place) => `$${place + 2}`).join(', ')})
         AND ${column} IS NOT NULL AND split_part(${column}, '.', 1) <> $1
       ORDER BY ${names} LIMIT ${ROWS_AT_ONCE}`,
      [secrets.id, ...after],
    );
    for (const row of rows) {
      const found = keyShape.parse(row.key);
      after = found;
      const place = placeOf(found);
      const plain = secrets.openForeign(row.value, place);
      if (plain === undefined) {
        unreadable += 1;
        continue;
      }
      // Updates the row only if the service has not replaced the value since the read.
      const { rowCount } = await send(
        `UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2 AND ${key.map((name, at) => `${name} = $${at + 3}`).join(' AND ')}`,
        [secrets.seal(plain, place), row.value, ...found],
      );
      onProgress(rowCount ?? 0);
    }
    if (rows.length < ROWS_AT_ONCE) return unreadable;
  }
}

/** Replaced webhook secrets, which still sign for a day after their rotation. */
const REPLACED = `FROM webhook_endpoints, jsonb_array_elements(earlier_secrets) AS one WHERE (one->>'until')::bigint > now_ms()`;

/** Re-encrypts replaced webhook secrets; begins again if an endpoint's list has changed meanwhile. */
async function resealReplaced(send: SendLong, secrets: Secrets): Promise<void> {
  const shape = z.array(z.looseObject({ secret: z.string(), until: z.number() }));
  const { rows } = await send<{ id: string; list: unknown }>(
    "SELECT id, earlier_secrets AS list FROM webhook_endpoints WHERE earlier_secrets <> '[]'",
  );
  let isChanged = false;
  for (const { id, list } of rows) {
    const place = endpointSecretPlace(id);
    const again = shape.parse(list).map((one) => {
      const plain = secrets.openForeign(one.secret, place);
      return plain === undefined ? one : { ...one, secret: secrets.seal(plain, place) };
    });
    const { rowCount } = await send(
      'UPDATE webhook_endpoints SET earlier_secrets = $2 WHERE id = $1 AND earlier_secrets = $3',
      [id, JSON.stringify(again), JSON.stringify(list)],
    );
    isChanged ||= rowCount === 0;
  }
  if (isChanged) await resealReplaced(send, secrets);
}

/** Re-encrypts all long-lived values; safe to repeat, and beside a running service. @returns how many values no key of SECRET_KEY decrypts */
export const resealSecrets = (
  db: Database,
  secrets: Secrets,
  onProgress: (resealed: number) => void,
): Promise<number> =>
  withLongStatements(db, async (send) => {
    let unreadable = 0;
    for (const table of TAGGED) unreadable += await retagRows(table, db, secrets, onProgress);
    for (const column of KEPT) unreadable += await resealColumn(send, secrets, column, onProgress);
    unreadable += await retagVoters(send, secrets, onProgress);
    await resealReplaced(send, secrets);
    return unreadable;
  });
