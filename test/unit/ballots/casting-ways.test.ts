import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CastVerdict, castBallots, castPaidBallot } from '#src/ballots/repository.ts';
import { inTransaction } from '#src/database/client.ts';
import { checkVoter } from '#src/voters/public-routes.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import {
  type Asked,
  buildWorld,
  type Copy,
  expectedAnswers,
  expectedBallots,
  expectedRoll,
  expectedVerdict,
  identitiesOf,
  type Left,
  readLeft,
  sentBy,
  toRequest,
  type World,
  worlds,
} from '#test/harness/casting-worlds.ts';
import { useAccount } from '#test/harness/test-service.ts';

/** Whichever way a ballot is cast, the same rule decides. A failure names the seed that makes it again. */

const RUNS = Number(process.env['CASTING_WORLDS'] ?? 150);
const ATTEMPT = 'pay_new';
const MINUTE = 60_000;

const templates = { election: '', poll: '' };
let number = 0;

const { service, account } = await useAccount({ worker: false });
for (const type of ['election', 'poll'] as const) templates[type] = (await account.event({ type }, [], false)).id;

async function copyOf(world: World): Promise<Copy> {
  number += 1;
  const copy = {
    eventId: `vev_${number}_${randomBytes(6).toString('hex')}`,
    apiKeyId: `key_of_${number}`,
    now: Date.now(),
  };
  await buildWorld(service.deps.db.$client, service.deps.secrets, templates[world.type], world, copy);
  return copy;
}

const shown = ({ verdict, shortage, stored }: CastVerdict) => ({
  verdict,
  shortage,
  stored: stored && [stored.status, stored.sealedAnswer, stored.fingerprint.toString('hex')],
});

async function castAlone(world: World, requests: readonly Asked[]) {
  const { db, secrets } = service.deps;
  const copy = await copyOf(world);
  const verdicts = [];
  for (const asked of requests) {
    const [verdict] = await castBallots(db.$client, [toRequest(world, asked, copy, secrets)]);
    if (verdict === undefined) throw new Error('a request has a verdict');
    verdicts.push(shown(verdict));
  }
  return { verdicts, left: await readLeft(db.$client, copy) };
}

async function castTogether(world: World) {
  const { db, secrets } = service.deps;
  const copy = await copyOf(world);
  const requests = world.requests.map((asked) => toRequest(world, asked, copy, secrets));
  return { verdicts: (await castBallots(db.$client, requests)).map(shown), left: await readLeft(db.$client, copy) };
}

/** What fulfils a payment undoes its transaction when the ballot is refused. */
class Refused extends Error {
  readonly refusal: CastVerdict;

  constructor(refusal: CastVerdict) {
    super(refusal.verdict);
    this.refusal = refusal;
  }
}

async function castPaid(world: World, asked: Asked, paidAtMs: number) {
  const { db, secrets } = service.deps;
  const copy = await copyOf(world);
  const before = await readLeft(db.$client, copy);
  const { row } = toRequest(world, asked, copy, secrets);
  try {
    const verdict = await inTransaction(db, async (tx) => {
      const answer = await castPaidBallot(tx, row, { attemptId: ATTEMPT, paidAtMs });
      if (answer.verdict !== 'cast') throw new Refused(answer);
      return answer;
    });
    return { verdict: shown(verdict), left: await readLeft(db.$client, copy), before };
  } catch (fault) {
    if (!(fault instanceof Refused)) throw fault;
    return { verdict: shown(fault.refusal), left: await readLeft(db.$client, copy), before };
  }
}

/** What a free cast left, as a paid one leaves it. */
function asPaid(world: World, asked: Asked, free: Left, before: Left): Left {
  const [own, ...others] = identitiesOf(world, asked);
  const cast = free.pending.find(({ participant }) => participant === own);
  if (cast === undefined) throw new Error('a ballot that was cast waits');
  if (world.repeatVotes) {
    const beside = { ...cast, participant: `${own}#${ATTEMPT}`, payment_attempt_id: ATTEMPT };
    return { ...free, pending: [...before.pending, beside] };
  }
  const pending = free.pending.map((one) => (one === cast ? { ...one, payment_attempt_id: ATTEMPT } : one));
  return { ...free, pending, waiting: [...before.waiting, own ?? '', ...others] };
}

const sorted = ({ pending, waiting, others }: Left) => ({
  pending: pending.map((one) => JSON.stringify(Object.entries(one).sort())).sort(),
  waiting: [...waiting].sort(),
  others,
});

type Row = Left['pending'][number];
/** What each visitor's balances say that ballots hold. */
function heldBy(balances: readonly Row[]): unknown {
  const holding = balances.filter((one) => one['held'] !== 0);
  return Object.fromEntries(holding.map((one) => [`${one['visitor_id']} ${one['position_id']}`, one['held']]));
}

/** What the ballots that wait hold; of repeat votes several may be one visitor's. */
function heldIn(pending: readonly Row[]): unknown {
  const held = new Map<string, number>();
  for (const one of pending)
    for (const { position, credits } of (one['credits'] ?? []) as readonly { position: string; credits: number }[]) {
      const place = `${String(one['visitor_id']).toLowerCase()} ${position}`;
      held.set(place, (held.get(place) ?? 0) + credits);
    }
  return Object.fromEntries(held);
}

async function forWorlds(held: (world: World) => Promise<void>): Promise<void> {
  await fc.assert(fc.asyncProperty(worlds, held), { numRuns: RUNS });
}

test(
  'ballots that are cast together get the verdicts, and leave the rows, that each gets and leaves alone',
  () =>
    forWorlds(async (world) => {
      const alone = await castAlone(world, world.requests);
      expect(await castTogether(world)).toEqual(alone);
      // Agreeing is not enough: a rule that is gone is gone for both.
      expect(alone.verdicts.map(({ verdict }) => verdict)).toEqual(
        world.requests.map((asked) => expectedVerdict(world, asked)),
      );
      const { voters, claims } = alone.left.others as { voters: readonly unknown[]; claims: readonly unknown[][] };
      expect(voters).toEqual(expectedRoll(world));
      const ballots = alone.left.pending.map((one) => [one['participant'], [one['code_tag'], one['weight_micro']]]);
      expect(Object.fromEntries(ballots)).toMatchObject(expectedBallots(world, world.requests));
      expect(heldBy(alone.left.balances)).toEqual(heldIn(alone.left.pending));
      const answers = claims.map(([key, _fingerprint, _claim, status, body]) => [key, status, body]);
      expect(answers).toEqual(expectedAnswers(world, world.requests));
    }),
  120_000,
);

test(
  'a paid ballot gets the verdict of a free one, for 15 minutes after the close too, and takes its identities',
  () =>
    forWorlds(async (generated) => {
      const [first] = generated.requests;
      if (first === undefined) throw new Error('a world has requests');
      const world: World = { ...generated, type: 'poll' };
      const asked: Asked = { ...first, claim: 'none' };
      // A paid ballot of a repeat voter stands beside the one that waits, and finds its credits held.
      if (world.repeatVotes && world.quadratic && world.people[asked.person]?.pending === 'free') return;
      const within = world.paidInTime && (world.state === 'closed' || world.state === 'ended');
      const paid = await castPaid(world, asked, Date.now() - (world.paidInTime ? 10 : 1) * MINUTE);
      const free = await castAlone(within ? { ...world, state: 'open' } : world, [asked]);
      expect(paid.verdict).toEqual(free.verdicts[0]);
      const expected = paid.verdict.verdict === 'cast' ? asPaid(world, asked, free.left, paid.before) : paid.before;
      const { claims: _own, ...others } = expected.others as Record<string, unknown>;
      const { claims: _left, ...left } = paid.left.others as Record<string, unknown>;
      expect(sorted({ ...paid.left, others: left })).toEqual(sorted({ ...expected, others }));
    }),
  120_000,
);

const WORDS: Readonly<Record<string, string>> = {
  draft: 'event_not_open',
  scheduled: 'event_not_open',
  closed: 'event_closed',
  cast: 'eligible',
  insufficient_credits: 'eligible',
};

test(
  'who is told to be eligible may cast, and who is not hears why',
  () =>
    forWorlds(async (world) => {
      const copy = await copyOf(world);
      const event = await findEventById(service.deps.db, copy.eventId);
      if (event === undefined) throw new Error('the event is there');
      const caller = {
        caller: { keyId: 'key_of_a_page' },
        event,
        role: 'owner',
        ownerPlan: 'enterprise',
      } as unknown as VoteCaller;
      // Neither the version of the definition nor a group nor an earlier request is asked about.
      const requests = world.requests
        .filter(({ key }) => key !== 'of an earlier secret')
        .map((one): Asked => ({ ...one, definition: 0, group: 'not asked for', claim: 'none' }));
      const told: string[] = [];
      for (const asked of requests) {
        const answer = await checkVoter(service.deps, caller, sentBy(world, asked), (pause) => pause);
        told.push(answer.eligible ? 'eligible' : answer.reason);
      }
      const { verdicts } = await castAlone(world, requests);
      expect(told).toEqual(verdicts.map(({ verdict }) => WORDS[verdict] ?? verdict));
    }),
  120_000,
);
