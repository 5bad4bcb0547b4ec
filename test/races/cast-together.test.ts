import { expect, test } from 'vitest';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { type CastRequest, type CastVerdict, castBallots } from '#src/ballots/repository.ts';
import { codeTagOf, generateConfirmationCode } from '#src/ballots/waiting-ballot.ts';
import { identityHash } from '#src/voters/voter-identity.ts';
import { hashSentKey } from '#src/voters/voter-key.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { demand, type TestEvent } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const service = await useService();
const account = await service.account();
const pool = service.deps.db.$client;

const KEY = '0123-4567-89AB-CDEF';
const NAMES = ['ada', 'bea', 'cy', 'di', 'eve', 'flo', 'gil', 'hal', 'ina', 'jo', 'kim', 'lea'];

/** An election of voters who have keys, each with something of their own that may stand against their ballot. */
async function createElection(): Promise<TestEvent> {
  const event = await account.event({ type: 'election' });
  const voters = NAMES.map((name) => ({ name, email: `${name}@example.org`, voterId: `ID-${name}` }));
  const rows = demand(await account.post(`/voting-events/${event.id}/voters/batch`, { voters }), 201);
  for (const { id } of rows) await giveVoterKey(service, event.id, id, KEY);
  const idOf = (name: string): string => rows[NAMES.indexOf(name)].id;
  await pool.query("UPDATE voters SET key_status = 'used' WHERE voting_event_id = $1 AND name <> 'bea'", [event.id]);
  await pool.query("UPDATE voters SET status = 'rejected' WHERE voting_event_id = $1 AND name = 'cy'", [event.id]);
  await pool.query('INSERT INTO participation (voting_event_id, participant) VALUES ($1, $2)', [event.id, idOf('di')]);
  // Wrong keys hold up wrong keys alone.
  const tried = identityHash(service.deps.secrets, event.id, { kind: 'email', key: 'eve@example.org' });
  await pool.query('INSERT INTO voter_key_failures VALUES ($1, $2, now_ms(), 10)', [event.id, tried]);
  return event;
}

async function requestsFor(event: TestEvent, keyOf: (name: string) => string | undefined): Promise<CastRequest[]> {
  const definitionVersion = (await findEventById(service.deps.db, event.id))?.definitionVersion ?? 0;
  const { secrets } = service.deps;
  return [...NAMES, 'nobody'].map((name): CastRequest => {
    const byId = name === 'hal';
    const identity = byId
      ? ({ kind: 'voter_id', key: `ID-${name}` } as const)
      : ({ kind: 'email', key: `${name}@example.org` } as const);
    const key = keyOf(name);
    return {
      row: {
        eventId: event.id,
        definitionVersion: name === 'flo' ? definitionVersion - 1 : definitionVersion,
        voter: {
          identity,
          keyHash: hashSentKey(secrets, event.id, name === 'gil' ? 'FFFF-FFFF-FFFF-FFFF' : KEY),
        },
        expectedGroup: name === 'ina' ? 'grp_another' : name === 'jo' ? '' : undefined,
        participants: [''],
        codeTag: codeTagOf(generateConfirmationCode()),
        entries: packEntries([{ position: 1, entries: [{ candidate: 1, value: 1 }] }]),
        sealedWeight: undefined,
        ...{ visitorId: null, voterId: null, email: null, name: null, countryCode: null, credits: undefined },
      },
      claim:
        key === undefined
          ? undefined
          : {
              ...{ apiKeyId: account.id, key, fingerprint: Buffer.from(`print ${key}`) },
              ...{ token: Buffer.from(`token ${key} ${name}`), secretEventId: null, sealedAnswer: `answer ${key}` },
            },
    };
  });
}

const told = ({ verdict, stored }: CastVerdict) => [verdict, stored?.status ?? null, stored?.sealedAnswer ?? null];

/** What is left in the database of the event's ballots and of the keys that begin with a prefix. */
async function leftBy(event: TestEvent, prefix: string): Promise<unknown> {
  const { rows } = await pool.query(
    `SELECT (SELECT jsonb_agg(jsonb_build_array(v.name, b.weight_micro, b.participants = ARRAY[v.id]) ORDER BY v.name)
        FROM pending_ballots b JOIN voters v ON v.voting_event_id = b.voting_event_id AND v.id = b.participant
        WHERE b.voting_event_id = $1) AS ballots,
      (SELECT jsonb_agg(jsonb_build_array(substr(key, length($3) + 1), status) ORDER BY key) FROM idempotency_keys
        WHERE api_key_id = $2 AND starts_with(key, $3)) AS claims`,
    [event.id, account.id, prefix],
  );
  return rows[0];
}

test('ballots that are cast together get the verdicts, and leave the rows, that each would alone', async () => {
  const [together, alone] = [await createElection(), await createElection()];
  const keys = (prefix: string) => (name: string) => (name === 'lea' ? undefined : `${prefix}${name}`);
  const batch = await castBallots(pool, await requestsFor(together, keys('together-')));
  const each: CastVerdict[] = [];
  for (const request of await requestsFor(alone, keys('alone-'))) each.push(...(await castBallots(pool, [request])));
  expect(batch.map(told)).toEqual(each.map(told));
  expect(batch.map(({ verdict }) => verdict)).toEqual([
    ...['cast', 'cast', 'voter_rejected', 'already_voted', 'cast', 'stale', 'voter_key_invalid', 'cast', 'stale'],
    ...['cast', 'cast', 'cast', 'voter_key_invalid'],
  ]);
  expect(await leftBy(together, 'together-')).toEqual(await leftBy(alone, 'alone-'));
});

test('of ballots that are cast together under one idempotency key, one is stored and the others hear what it was told', async () => {
  const event = await createElection();
  const shared = new Set(['ada', 'hal', 'kim']);
  const requests = await requestsFor(event, (name) => (shared.has(name) ? 'one-for-three' : undefined));
  const verdicts = await castBallots(pool, requests);
  const own = verdicts.filter((_, index) => shared.has(NAMES[index] ?? ''));
  expect(own.map(({ verdict }) => verdict).sort()).toEqual(['cast', 'claimed_before', 'claimed_before']);
  const { rows } = await pool.query<{ name: string }>(
    `SELECT v.name FROM pending_ballots b JOIN voters v ON v.voting_event_id = b.voting_event_id AND v.id = b.participant
     WHERE b.voting_event_id = $1 AND v.name = ANY ($2)`,
    [event.id, [...shared]],
  );
  expect(rows).toHaveLength(1);
});

test('a ballot that waits is replaced by one that is cast together with others', async () => {
  const event = await createElection();
  await castBallots(pool, await requestsFor(event, () => undefined));
  const again = await requestsFor(event, () => undefined);
  await castBallots(pool, again);
  const { rows } = await pool.query<{ code_tag: Buffer }>(
    `SELECT b.code_tag FROM pending_ballots b JOIN voters v ON v.voting_event_id = b.voting_event_id AND v.id = b.participant
     WHERE b.voting_event_id = $1 AND v.name = 'ada'`,
    [event.id],
  );
  expect(rows.map((row) => row.code_tag)).toEqual([again[0]?.row.codeTag]);
});
