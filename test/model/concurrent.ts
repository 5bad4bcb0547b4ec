/** Eight clients at once on one event: some order of their requests must explain all answers. */
import { parseArgs } from 'node:util';
import type { DriverAnswer, DriverRequest } from '#test/model/driver.ts';
import { perform } from './act.ts';
import { conflict, describe, describeAnswer, type Expected, fits } from './answer.ts';
import { validBallot } from './ballots.ts';
import { opening } from './generate.ts';
import * as kit from './kit.ts';
import { differences, type Json, Random, short } from './kit.ts';
import type { Model } from './model.ts';
import { type Op, visitor } from './send.ts';
import { startDriver } from './start-driver.ts';
import { type Event, livePendings } from './state.ts';
import { World } from './world.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '4' },
    kind: { type: 'string', default: 'within' },
    one: { type: 'string' },
  },
});
const CLIENTS = 8;
/** States that the search looks at before it gives up: giving up is told apart from a contradiction. */
const BOUND = 4000;

interface Done {
  readonly request: DriverRequest;
  readonly answer: DriverAnswer;
}

/** The requests of one round: few identities and codes, so that they meet. */
function requests(world: World, event: Event, random: Random, round: number): DriverRequest[] {
  const [organizer, voting] = [world.organizer[0]?.key ?? '', world.voting[0]?.key ?? ''];
  const base = `/public/voting-events/${event.id}`;
  const now = world.driver.now();
  const post = (path: string, body: Json, name?: string): DriverRequest => ({
    process: random.int(2),
    method: 'POST',
    path: `${base}/${path}`,
    key: voting,
    ...(name === undefined ? {} : { headers: { 'idempotency-key': name } }),
    body,
  });
  const cast = (): DriverRequest => {
    const votes = validBallot(event, null, random);
    if (event.type === 'election') {
      const keyed = event.voters.filter((one) => one.keys.length > 0);
      const voter = keyed[random.int(Math.min(3, Math.max(keyed.length, 1)))];
      const who = event.voter.requireVoterId ? { voterId: voter?.voterId } : { email: voter?.email };
      return post('ballot/cast', { ...who, voterKey: voter?.keys.at(-1) ?? 'ABCD-EFGH-JKMN-PQRS', votes });
    }
    const body: Json = {
      visitorId: visitor(random.int(4)),
      email: `p${random.int(3)}@example.com`,
      voterId: `member ${random.int(3)}`,
      votes,
    };
    if (event.payToVote !== null && event.business?.provider === 'provider_a')
      body['returnUrl'] = 'https://example.com/back';
    return post('ballot/cast', body);
  };
  const confirm = (): DriverRequest => {
    const waiting = livePendings(event, now);
    const code = waiting.length > 0 ? random.pick(waiting).code : (event.ballots[0]?.code ?? '0'.repeat(26));
    return post('ballot/confirm', { confirmationCode: code }, random.chance(0.3) ? `c-${round}-${code}` : undefined);
  };
  const second = (): DriverRequest => {
    const attempt = event.attempts[random.int(Math.max(event.attempts.length, 1))];
    if (attempt === undefined) return cast();
    const path =
      attempt.purpose === 'quadratic_credits'
        ? 'quadratic-credits/checkout'
        : attempt.purpose === 'vote'
          ? 'ballot/cast'
          : 'register/candidate';
    return post(path, { paymentAttemptId: attempt.id }, random.chance(0.4) ? `s-${round}-${attempt.id}` : undefined);
  };
  const patch = (path: string, body: Json): DriverRequest => ({
    process: random.int(2),
    method: 'PATCH',
    path: `/voting-events/${event.id}${path}`,
    key: organizer,
    body,
  });
  const change = (): DriverRequest => {
    const voter = event.voters.find((one) => one.id !== '' && one.keys.length > 0);
    const ways: DriverRequest[] = [patch('', { status: 'closed' }), patch('', { status: 'open' })];
    if (event.type === 'election' && voter !== undefined)
      ways.push(
        patch(`/voters/${voter.id}`, { status: 'rejected' }),
        patch(`/voters/${voter.id}`, { status: 'approved' }),
      );
    const candidate = event.candidates[0];
    if (candidate !== undefined)
      ways.push(patch(`/candidates/${candidate.id}`, { status: random.pick(['withdrawn', 'approved']) }));
    return random.pick(ways);
  };
  const plain = round % 2 === 0;
  return Array.from({ length: CLIENTS }, () =>
    random.weighted<() => DriverRequest>([
      [plain ? 6 : 3, cast],
      [plain ? 2 : 6, confirm],
      [3, second],
      [0.7, change],
    ])(),
  );
}

/** What later answers can depend on: two orders that lead here need not both be followed. */
function signature(model: Model, left: readonly Done[]): string {
  const event = model.events[0];
  return JSON.stringify([
    left.map((one) => one.answer.headers['x-request-id']),
    event?.pendings.map((one) => `${one.code} ${one.doubtful}`).toSorted(),
    event?.ballots.map((one) => one.code).toSorted(),
    event?.voters.map((one) => [one.status, one.keys.length, one.hasVoted]),
    event?.candidates.map((one) => one.status),
    event?.attempts.map((one) => `${one.id} ${one.fulfilled !== undefined} ${one.ended}`).toSorted(),
    [event?.openedAt, event?.closedAt],
    [...model.stored.keys()].toSorted(),
  ]);
}
interface Search {
  looked: number;
  gaveUp: boolean;
  readonly seen: Set<string>;
  /** Every state that some order of the requests ends in: the next round may tell which it was. */
  readonly ends: Model[];
  /** The fewest requests that stayed unexplained, with what was expected of them. */
  stuck: readonly string[] | undefined;
}
/** Follows all orders in which the model gives these answers. */
function explain(model: Model, left: readonly Done[], now: number, search: Search): void {
  const here = signature(model, left);
  if (search.seen.has(here)) return;
  search.seen.add(here);
  if (left.length === 0) {
    search.ends.push(model);
    return;
  }
  const lines: string[] = [];
  let moved = false;
  for (const [index, done] of left.entries()) {
    if (search.looked >= BOUND || search.ends.length >= 16) {
      search.gaveUp = true;
      return;
    }
    search.looked += 1;
    const next = model.clone();
    const name = done.request.headers?.['idempotency-key'];
    const expected: Expected[] = next.expect(done.request, now);
    if (name !== undefined) expected.push(conflict('idempotency_in_progress'));
    const fit = expected.find((one) => fits(one, done.answer));
    // What is wrong without any concurrency is told by run.ts: here only orders matter.
    const compared =
      fit !== undefined && fit.wrong !== true && done.request.method !== 'PATCH'
        ? differences(fit.body ?? kit.ANY, done.answer.body)
        : [];
    if (fit === undefined || (fit.body !== undefined && compared.length > 0)) {
      lines.push(
        `${done.request.path.slice(-20)} ${short(done.request.body).slice(0, 80)} → ${describeAnswer(done.answer)}, expected ${expected.map(describe).join(' | ')} ${short(compared)}`,
      );
      continue;
    }
    moved = true;
    next.settle(fit, done.answer);
    explain(next, [...left.slice(0, index), ...left.slice(index + 1)], now, search);
  }
  if (!moved && (search.stuck === undefined || lines.length < search.stuck.length)) search.stuck = lines;
}

const driver = await startDriver({ kind: values.kind === 'processes' ? 'processes' : 'within' });
let [rounds, unexplained, gaveUp] = [0, 0, 0];
const first = Number(values.one ?? values.seed);
for (let index = 0; index < (values.one === undefined ? Number(values.histories) : 1); index += 1) {
  const seed = values.one === undefined ? first * 1_000_003 + index : first;
  const random = new Random(seed);
  await driver.reset();
  const world = new World(driver);
  await world.start();
  // Openings without weights, groups and registration: what is new here is the order, not the rules.
  const ops: Op[] = opening(random.pick([0, 2, 4, 5, 6, 7, 8, 9]), 0, random).filter((one) => one.k !== 'vote');
  for (const op of ops) await perform(world, op);
  let models: readonly Model[] = [world.model];
  for (let round = 0; round < Number(values.rounds) && !world.stopped; round += 1) {
    const event = world.event(0);
    if (event === undefined || event.positions.length === 0 || event.candidates.length === 0) break;
    const sent = requests(world, event, random, round);
    const now = driver.now();
    const answers = await Promise.all(sent.map((one) => driver.call(one)));
    rounds += 1;
    for (const [at, one] of sent.entries())
      world.note(
        `r${round} ${one.method} ${one.path.slice(-30)} ${short(one.body).slice(0, 90)} → ${describeAnswer(answers[at] as DriverAnswer)} ${String(at)}`,
      );
    const done = sent.map((request, at) => ({ request, answer: answers[at] as DriverAnswer }));
    const search: Search = { looked: 0, gaveUp: false, seen: new Set(), ends: [], stuck: undefined };
    for (const model of models) explain(model, done, now, search);
    const [explained] = search.ends;
    if (explained !== undefined) {
      models = search.ends;
      world.model = explained;
      await driver.settle();
      for (const attempt of world.model.attempts.values()) {
        if (attempt.paid || attempt.refused || attempt.checkoutUrl === '' || random.chance(0.3)) continue;
        await driver.pay(attempt.checkoutUrl, 'pay');
        for (const model of models) {
          const same = model.attempts.get(attempt.id);
          if (same !== undefined) Object.assign(same, { paid: true, told: true });
        }
      }
      await driver.settle();
      continue;
    }
    if (search.gaveUp) gaveUp += 1;
    else unexplained += 1;
    console.log(`\n${search.gaveUp ? 'GAVE UP' : 'NO ORDER EXPLAINS'} history ${seed}, round ${round}`);
    for (const line of search.stuck ?? []) console.log(`  stuck: ${line.slice(0, 500)}`);
    for (const line of world.script.filter((one) => !one.startsWith('#')).slice(-26))
      console.log(`    ${line.slice(0, 260)}`);
    for (const one of done)
      console.log(
        `  p${one.request.process} ${one.request.method} ${one.request.path} ${short(one.request.headers ?? '')} ${short(one.request.body).slice(0, 150)} → ${describeAnswer(one.answer)} ${one.answer.status < 300 ? short(one.answer.body) : ''}`,
      );
    break;
  }
  for (const event of world.model.events) {
    await driver.settle();
    const broken = [...(await driver.brokenInvariants(event.id)), ...(await driver.recount(event.id))];
    for (const line of broken) console.log(`BROKEN history ${seed}: ${line}`);
    unexplained += broken.length;
  }
}
await driver.stop();
console.log(`${rounds} rounds of ${CLIENTS} requests: ${unexplained} differences, ${gaveUp} too many orders`);
process.exit(unexplained > 0 ? 1 : 0);
