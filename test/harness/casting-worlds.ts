import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Pool } from 'pg';
import type { CastRequest } from '#src/ballots/repository.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { hashSentKey, hashStoredKey } from '#src/voters/voter-key.ts';
import { tagOfVoter } from '#src/voters/voter-tag.ts';
import { paperOf } from '#src/voting-events/lifecycle.ts';

/**
 * Machine-made events, participants and requests, for holding the ways to cast against each other. Most of everything is in
 * order: of a request that several rules refuse only the first one is seen.
 */

const GROUPS = ['grp_a', 'grp_b'];
const POSITIONS = ['pos_a', 'pos_b'];
const BASE = 10;
/** Participants with rows of their own; the next number is a stranger. */
const PEOPLE = 6;
export const PAPER_VERSION = 7;
const MINUTE = 60_000;

/** Times of an event, in minutes from now. */
const STATES = {
  open: { opened: -60 },
  'opened by the clock': { starts: -60, ready: true },
  draft: {},
  scheduled: { starts: 60, ready: true },
  'due but not ready': { starts: -60, ready: false },
  'ends later': { opened: -60, ends: 60 },
  closed: { opened: -60, closed: -5 },
  ended: { opened: -60, ends: -5 },
  final: { opened: -60, closed: -16 },
  'final by the clock': { opened: -60, ends: -16 },
} satisfies Record<string, { opened?: number; starts?: number; ends?: number; closed?: number; ready?: boolean }>;
export type EventState = keyof typeof STATES;

const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: fc.constantFrom(usual, ...others) });
const person = fc.record({
  status: mostly<'approved' | 'pending' | 'rejected'>('approved', 'pending', 'rejected'),
  keyStatus: mostly<'used' | 'sent' | 'none'>('used', 'sent', 'none'),
  deleted: mostly<'no' | 'with its keys' | 'queued'>('no', 'with its keys', 'queued'),
  group: mostly<string | null>(null, ...GROUPS),
  weight: mostly(1_000_000, 500_000, 3_000_000),
  voted: mostly(false, true),
  pending: fc.constantFrom<'none' | 'free' | 'paid'>('none', 'none', 'free', 'free', 'paid'),
  pendingCredits: fc.constantFrom(0, 3, 12),
  purchased: mostly<number | undefined>(undefined, 0, 5),
});
const request = fc.record({
  person: fc.integer({ min: 0, max: PEOPLE }),
  by: mostly<'email' | 'voter_id'>('email', 'voter_id'),
  key: mostly<'own' | 'wrong' | 'of another' | 'of an earlier secret'>(
    ...(['own', 'wrong', 'of another', 'of an earlier secret'] as const),
  ),
  definition: mostly(0, -1, 1),
  group: mostly<'not asked for' | 'own' | 'another' | 'none'>('not asked for', 'own', 'another', 'none'),
  emailOf: fc.integer({ min: 0, max: PEOPLE }),
  ownEmail: mostly(true, false),
  credits: fc.tuple(mostly(1, 0, 4, 9, 14), mostly(0, 2, 11)),
  claim: mostly<'none' | 'new' | 'answered' | 'expired' | 'running' | 'abandoned' | 'its own'>(
    ...(['none', 'new', 'answered', 'expired', 'running', 'abandoned', 'its own'] as const),
  ),
});
/** An event, what is stored of it, and requests of one participant each. */
export const worlds = fc.record({
  type: fc.constantFrom<'election' | 'poll'>('election', 'poll'),
  state: mostly<EventState>('open', ...(Object.keys(STATES) as EventState[])),
  approval: fc.constantFrom<'automatic' | 'manual'>('automatic', 'manual'),
  saveVoterInfo: fc.boolean(),
  requireVoterId: fc.boolean(),
  repeatVotes: mostly(false, true),
  quadratic: fc.boolean(),
  people: fc.array(person, { minLength: PEOPLE, maxLength: PEOPLE }),
  requests: fc.uniqueArray(request, { selector: (one) => one.person, minLength: 1, maxLength: PEOPLE + 1 }),
  paidInTime: fc.boolean(),
});
type Arbitrary<T> = T extends fc.Arbitrary<infer Value> ? Value : never;
export type World = Arbitrary<typeof worlds>;
export type Asked = World['requests'][number];

/** What differs between two copies of a world: the event, and what its idempotency keys begin with. */
export interface Copy {
  readonly eventId: string;
  readonly apiKeyId: string;
  /** The moment that times are counted from, in ms. */
  readonly now: number;
}

const sha = (text: string): Buffer => createHash('sha256').update(text).digest();
const voterKey = (index: number): string => `0123-4567-89AB-CDE${index}`;
const isRepeat = (world: World): boolean => world.type === 'poll' && world.repeatVotes;
const creditsOn = (world: World): boolean => world.type === 'poll' && world.quadratic;

/** What the body of a request to look at a voter holds. */
export function sentBy(world: World, asked: Asked) {
  const { person: index, by, ownEmail, emailOf } = asked;
  if (world.type === 'election')
    return {
      ...(by === 'email' ? { email: `p${index}@example.org` } : { voterId: `ID${index}` }),
      voterKey: asked.key === 'own' ? voterKey(index) : voterKey(asked.key === 'wrong' ? 9 : index + 1),
    };
  return { visitorId: `VI_${index}`, email: `p${ownEmail ? index : emailOf}@example.org`, voterId: `ID${index}` };
}

function participantsOf(world: World, index: number, emailOf = index): string[] {
  return [
    `v:vi_${index}`,
    ...(world.saveVoterInfo ? [`e:p${emailOf}@example.org`] : []),
    ...(world.requireVoterId ? [`i:ID${index}`] : []),
  ];
}

/** The identities that tell participants of a poll apart. */
export function identitiesOf(world: World, asked: Asked): string[] {
  return participantsOf(world, asked.person, asked.ownEmail ? asked.person : asked.emailOf);
}

/** The times of a world's event. */
function timesOf(world: World, now: number) {
  const times: { opened?: number; starts?: number; ends?: number; closed?: number; ready?: boolean } =
    STATES[world.state];
  const at = (minutes: number | undefined): number | null => (minutes === undefined ? null : now + minutes * MINUTE);
  return {
    ...{ startsAt: at(times.starts), openedAt: at(times.opened), endsAt: at(times.ends), closedAt: at(times.closed) },
    ready: times.ready ?? true,
  };
}

/** A request as the repository takes it. */
export function toRequest(world: World, asked: Asked, { eventId, apiKeyId, now }: Copy, secrets: Secrets): CastRequest {
  const { person: index, by, key, claim } = asked;
  const election = world.type === 'election';
  const hash = (text: string): Buffer => hashSentKey(secrets, { id: eventId, rehearsalSince: null }, text);
  const keys = {
    own: hash(voterKey(index)),
    wrong: hash(voterKey(9)),
    'of another': hash(voterKey(index + 1)),
    'of an earlier secret': Buffer.concat([sha('another secret'), hash(voterKey(index))]),
  };
  const group = world.people[index]?.group ?? '';
  const expected = { own: group, another: group === 'grp_a' ? 'grp_b' : 'grp_a', none: '' };
  const needs = POSITIONS.map((position, at) => ({ position, credits: asked.credits[at] ?? 0, base: BASE }));
  return {
    row: {
      eventId,
      paper: paperOf({
        ...{ definitionVersion: PAPER_VERSION + asked.definition, rehearsalSince: null, rehearsalNumber: 0 },
        ...timesOf(world, now),
        ...{ type: world.type, voterApproval: world.approval, repeatVotes: isRepeat(world) },
        requireVoterId: world.type === 'poll' && world.requireVoterId,
      }),
      voter: election
        ? {
            identity: by === 'email' ? { kind: by, key: `p${index}@example.org` } : { kind: by, key: `ID${index}` },
            keyHash: keys[key],
          }
        : undefined,
      expectedGroup: !election || asked.group === 'not asked for' ? undefined : expected[asked.group],
      participants: election ? [''] : identitiesOf(world, asked),
      codeTag: sha(`code ${index}`),
      entries: sha(`entries ${index}`),
      sealedWeight: undefined,
      visitorId: election ? null : `VI_${index}`,
      voterId: `ID${index}`,
      email: by === 'email' ? `p${index}@example.org` : null,
      name: index % 2 === 0 ? `Person ${index}` : null,
      countryCode: index % 3 === 0 ? 'NZ' : null,
      credits: creditsOn(world) ? needs.filter(({ credits }) => credits > 0) : undefined,
    },
    claim:
      claim === 'none'
        ? undefined
        : {
            apiKeyId,
            key: `key ${index}`,
            fingerprint: sha(`print ${index}`),
            token: Buffer.concat([sha('this process').subarray(0, 16), sha(`token ${index}`).subarray(0, 16)]),
            sealedAnswer: `answer ${index}`,
            secretEventId: null,
          },
  };
}

type Row = Readonly<Record<string, unknown>>;
const hex = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`;
const DEAD = sha('a process that has ended').subarray(0, 16);
const ALIVE = sha('another process').subarray(0, 16);

function claimRows(world: World, apiKeyId: string, now: number): Row[] {
  return world.requests.flatMap(({ person: index, claim }): Row[] => {
    const base = {
      api_key_id: apiKeyId,
      key: `key ${index}`,
      fingerprint: hex(sha(`earlier ${index}`)),
    };
    const earlier = { ...base, claim: hex(Buffer.concat([DEAD, DEAD])), expires_at: now + 60 * MINUTE };
    if (claim === 'answered') return [{ ...earlier, status: 201, body: 'an earlier answer' }];
    if (claim === 'expired') return [{ ...earlier, status: 201, body: 'an earlier answer', expires_at: now - 1 }];
    if (claim === 'running') return [{ ...earlier, claim: hex(Buffer.concat([ALIVE, DEAD])) }];
    if (claim === 'abandoned') return [earlier];
    if (claim !== 'its own') return [];
    const own = Buffer.concat([sha('this process').subarray(0, 16), sha(`token ${index}`).subarray(0, 16)]);
    return [
      { ...earlier, claim: hex(own), fingerprint: hex(sha(`print ${index}`)), status: 201, body: `answer ${index}` },
    ];
  });
}

function rollRows(world: World, voting_event_id: string, secrets: Secrets, now: number): Record<string, Row[]> {
  return {
    groups: GROUPS.map((id) => ({ voting_event_id, id, name: id, created_at: now, updated_at: now })),
    voters: world.people.map((one, index) => {
      const [id, email] = [`vtr_${index}`, `p${index}@example.org`];
      const [emailKey, voterIdKey] = one.deleted === 'queued' ? [null, null] : [email, `ID${index}`];
      const standing = {
        groupId: one.group,
        weightMicro: BigInt(one.weight),
        status: one.status,
        source: 'organizer' as const,
        keyGeneration: 0,
        letters: null,
      };
      const named = { id, name: `Person ${index}`, email, emailKey, voterId: `ID${index}`, voterIdKey };
      const tag = tagOfVoter(secrets, { votingEventId: voting_event_id, ...named, ...standing });
      return {
        ...{ voting_event_id, id, name: `Person ${index}`, email, email_key: emailKey, voter_id: `ID${index}` },
        ...{ voter_id_key: voterIdKey, group_id: one.group, weight_micro: one.weight, tag: hex(tag) },
        ...{
          status: one.status,
          source: 'organizer',
          created_at: now,
          updated_at: now,
          key_used: one.keyStatus === 'used',
        },
        key_status: one.keyStatus === 'none' ? 'none' : 'sent',
        deleted_at: one.deleted === 'no' ? null : now,
      };
    }),
    voter_keys: world.people.map((_, index) => ({
      ...{ voting_event_id, voter_id: `vtr_${index}`, number: 1 },
      key_hash: hex(
        hashStoredKey(
          secrets,
          { votingEventId: voting_event_id, id: `vtr_${index}`, keyGeneration: 0 },
          voterKey(index),
        ),
      ),
    })),
  };
}

function ballotRows(world: World, voting_event_id: string, now: number): Record<string, Row[]> {
  const poll = world.type === 'poll';
  const repeat = isRepeat(world);
  const isPaid = (index: number): boolean =>
    poll && world.people[index]?.pending === 'paid' && (repeat || world.people[index]?.voted !== true);
  const held = (index: number): number => {
    const one = world.people[index];
    return creditsOn(world) && one !== undefined && one.pending !== 'none' ? one.pendingCredits : 0;
  };
  const all = world.people.map((one, index) => ({ one, index }));
  const namesOf = (index: number): string[] => (poll ? participantsOf(world, index) : [`vtr_${index}`]);
  return {
    participation: all
      .filter(({ one }) => one.voted)
      .flatMap(({ index }) => namesOf(index))
      .map((participant) => ({ voting_event_id, participant, exclusive: !repeat })),
    pending_ballots: all
      .filter(({ one }) => one.pending !== 'none')
      .map(({ index }) => ({
        ...{ voting_event_id, participant: `${namesOf(index)[0]}${isPaid(index) && repeat ? `#pay_${index}` : ''}` },
        ...{
          participants: namesOf(index),
          code_tag: hex(sha(`waiting ${index}`)),
          entries: '\\x01',
          weight_micro: 1_000_000,
        },
        ...{
          visitor_id: poll ? `VI_${index}` : null,
          cast_at: now,
          payment_attempt_id: isPaid(index) ? `pay_${index}` : null,
        },
        credits: held(index) === 0 ? null : [{ position: 'pos_a', credits: held(index) }],
      })),
    waiting_participants: all
      .filter(({ index }) => isPaid(index) && !repeat)
      .flatMap(({ index }) => namesOf(index).map((participant) => ({ participant, index })))
      .map(({ participant, index }) => ({ voting_event_id, participant, code_tag: hex(sha(`waiting ${index}`)) })),
    credit_balances: all
      .filter(({ one, index }) => creditsOn(world) && (one.purchased !== undefined || held(index) > 0))
      .map(({ one, index }) => ({
        ...{ voting_event_id, position_id: 'pos_a', visitor_id: `vi_${index}`, base: BASE, spent: 0 },
        ...{ purchased: (one.purchased ?? 0) + held(index), held: held(index) },
      })),
  };
}

/** Writes a copy of a world. @param template an event of the same type, whose further columns are taken over */
export async function buildWorld(
  pool: Pool,
  secrets: Secrets,
  template: string,
  world: World,
  copy: Copy,
): Promise<void> {
  const { now } = copy;
  const { startsAt, openedAt, endsAt, closedAt, ready } = timesOf(world, now);
  const event: Row = {
    ...{
      id: copy.eventId,
      code: copy.eventId,
      code_key: copy.eventId,
      paper_version: PAPER_VERSION,
    },
    ...{
      starts_at: startsAt,
      opened_at: openedAt,
      ends_at: endsAt,
      closed_at: closedAt,
    },
    ...{ ready, voter_approval: world.approval, repeat_votes: isRepeat(world) },
    ...{ save_voter_info: world.type === 'poll' && world.saveVoterInfo },
    require_voter_id: world.type === 'poll' && world.requireVoterId,
  };
  await pool.query(
    'INSERT INTO voting_events SELECT (jsonb_populate_record(e, $2)).* FROM voting_events e WHERE e.id = $1',
    [template, event],
  );
  await pool.query(
    'INSERT INTO service_processes (id, seen_at) VALUES ($1, now_ms() + 3600000) ON CONFLICT (id) DO NOTHING',
    [ALIVE],
  );
  const rows: Record<string, Row[]> = {
    ...(world.type === 'election' ? rollRows(world, copy.eventId, secrets, now) : {}),
    ...ballotRows(world, copy.eventId, now),
    idempotency_keys: claimRows(world, copy.apiKeyId, now),
  };
  for (const [table, own] of Object.entries(rows)) {
    // What is not named here has its default.
    const columns = [...new Set(own.flatMap((row) => Object.keys(row)))].join(', ');
    if (own.length > 0)
      await pool.query(
        `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1)`,
        [JSON.stringify(own)],
      );
  }
}

export interface Left {
  readonly pending: readonly Row[];
  readonly waiting: readonly string[];
  readonly balances: readonly Row[];
  readonly others: unknown;
}

/** Everything that a cast may have written in a copy, but for times. */
export async function readLeft(pool: Pool, { eventId, apiKeyId }: Copy): Promise<Left> {
  const ordered = (columns: string, from: string): string =>
    `(SELECT coalesce(jsonb_agg(r ORDER BY r::text), '[]') FROM (SELECT ${columns} FROM ${from} AS t WHERE voting_event_id = $1) AS r)`;
  const { rows } = await pool.query<Left>(
    `SELECT ${ordered("to_jsonb(t) - 'cast_at' - 'voting_event_id' AS b", 'pending_ballots')} AS pending,
      ${ordered('position_id, visitor_id, base, purchased, held, spent', 'credit_balances')} AS balances,
      (SELECT coalesce(jsonb_agg(participant ORDER BY participant), '[]') FROM waiting_participants WHERE voting_event_id = $1) AS waiting,
      jsonb_build_object('voters', ${ordered("id, status, CASE WHEN key_used THEN 'used' ELSE key_status END AS key_status", 'voters')},
        'participation', ${ordered('participant', 'participation')},
        'ledger', ${ordered('position_id, visitor_id, kind, reason, credits', 'credit_entries')},
        'claims', (SELECT coalesce(jsonb_agg(jsonb_build_array(key, fingerprint, claim, status, body) ORDER BY key), '[]')
          FROM idempotency_keys WHERE api_key_id = $2)) AS others`,
    [eventId, apiKeyId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('one row was asked for');
  return { ...row, pending: row.pending.map((one) => one['b'] as Row) };
}

const NOT_OPEN: Readonly<Partial<Record<EventState, string>>> = {
  draft: 'draft',
  scheduled: 'scheduled',
  'due but not ready': 'draft',
  closed: 'closed',
  ended: 'closed',
  final: 'closed',
  'final by the clock': 'closed',
};

const isProven = (world: World, asked: Asked): boolean =>
  world.people[asked.person]?.deleted === 'no' && asked.key !== 'wrong' && asked.key !== 'of another';

function judgeVoter(world: World, asked: Asked): string {
  const one = world.people[asked.person];
  if (one === undefined || !isProven(world, asked)) return 'voter_key_invalid';
  if (one.status === 'rejected') return 'voter_rejected';
  if (one.status === 'pending' && world.approval === 'manual') return 'voter_pending';
  if (one.voted) return 'already_voted';
  const own = one.group ?? '';
  const expected = { 'not asked for': own, own, none: '', another: own === 'grp_a' ? 'grp_b' : 'grp_a' };
  return expected[asked.group] === own ? 'cast' : 'stale';
}

function judgeVisitor(world: World, asked: Asked): string {
  const taken = world.people.flatMap((one, index) =>
    one.voted || one.pending === 'paid' ? participantsOf(world, index) : [],
  );
  if (!world.repeatVotes && identitiesOf(world, asked).some((identity) => taken.includes(identity)))
    return 'already_voted';
  if (!world.quadratic) return 'cast';
  const one = world.people[asked.person];
  const pays = one?.pending === 'paid' && (world.repeatVotes || !one.voted);
  // What the ballot that is replaced holds is free; a paid one stays beside.
  const held = one === undefined || one.pending === 'none' ? 0 : one.pendingCredits;
  const bought = one?.purchased ?? 0;
  const free = { pos_a: BASE + bought + (pays ? 0 : held), pos_b: BASE };
  const [onA, onB] = asked.credits;
  return onA > free.pos_a || onB > free.pos_b ? 'insufficient_credits' : 'cast';
}

/** The verdict that the rules give a request on its own (completions 1.6 and 4): said once more, for tests alone. */
export function expectedVerdict(world: World, asked: Asked): string {
  if (asked.claim === 'answered' || asked.claim === 'running') return 'claimed_before';
  if (asked.definition !== 0) return 'stale';
  return NOT_OPEN[world.state] ?? (world.type === 'election' ? judgeVoter(world, asked) : judgeVisitor(world, asked));
}

/** What the roll of an election holds after requests, as before: a cast approves none in SQL, and writes nothing of its voter. */
export const expectedRoll = (world: World): unknown[] =>
  world.type === 'poll'
    ? []
    : world.people.map((one, index) => ({ id: `vtr_${index}`, status: one.status, key_status: one.keyStatus }));

/** The code and the weight of each ballot that was cast, in place of one that waited, by who cast it. */
export function expectedBallots(world: World, requests: readonly Asked[]): Record<string, unknown> {
  const cast = requests.filter((asked) => expectedVerdict(world, asked) === 'cast');
  return Object.fromEntries(
    cast.map(({ person: index }) => {
      const isPoll = world.type === 'poll';
      const weight = isPoll ? 1_000_000 : world.people[index]?.weight;
      return [isPoll ? `v:vi_${index}` : `vtr_${index}`, [hex(sha(`code ${index}`)), weight]];
    }),
  );
}

/** What is kept under each Idempotency-Key: the answer of a ballot that was cast, nothing yet of one that was refused. */
export function expectedAnswers(world: World, requests: readonly Asked[]): unknown[][] {
  return requests
    .filter(({ claim }) => claim !== 'none')
    .map((asked) => {
      const key = `key ${asked.person}`;
      if (asked.claim === 'answered') return [key, 201, 'an earlier answer'];
      return expectedVerdict(world, asked) === 'cast' ? [key, 201, `answer ${asked.person}`] : [key, null, null];
    })
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
}
