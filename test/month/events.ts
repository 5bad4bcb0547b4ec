/** The events of a simulated month, who votes in them, and what each must come to. */
import { randomBytes } from 'node:crypto';
import { visitor } from '#test/harness/elections.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';
import type { Dice } from './plan.ts';
import type { Keys, World } from './world.ts';

interface Person {
  readonly email: string;
  readonly visitorId: string;
  /** A mail server refuses this address. */
  readonly unreachable: boolean;
  /** Votes at this hour of the month, or as soon as the key has come. */
  readonly votesAt: number;
  readonly choice: number;
  state: 'waits' | 'asked' | 'voted' | 'missed';
  /** Which of the mails that a server took had the key. */
  key: string | undefined;
  /** A confirm that was sent and not answered is sent again under its key until it is. */
  pending: { readonly code: string; readonly idempotencyKey: string } | undefined;
}

export interface MonthEvent {
  readonly id: string;
  readonly code: string;
  readonly kind: 'election' | 'poll';
  readonly positionId: string;
  readonly candidates: readonly string[];
  readonly startsAtHour: number;
  readonly endsAtHour: number;
  readonly people: readonly Person[];
  /** Confirms that were acknowledged, by candidate. */
  readonly counted: number[];
}

type Body = { readonly data: Record<string, unknown> & { readonly id: string } };

/** Asks until it is answered: an organizer tries again after a 500. */
async function insist(
  world: World,
  method: string,
  target: string,
  key: string,
  body: unknown,
  status: number,
): Promise<Body['data']> {
  const headers = method === 'POST' ? { 'Idempotency-Key': randomBytes(12).toString('hex') } : {};
  for (let times = 0; times < 20; times += 1) {
    const answer = await world.ask(method, target, key, body, headers);
    if (answer?.status === status) return (answer.body as Body).data;
    if (answer !== undefined && answer.status !== 409)
      throw new Error(`${method} ${target}: ${answer.status} ${JSON.stringify(answer.body)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`${method} ${target}: no answer`);
}

export async function createEvent(
  world: World,
  keys: Keys,
  dice: Dice,
  plan: {
    readonly do: 'election' | 'poll';
    readonly hours: number;
    readonly voters: number;
    readonly candidates: number;
  },
): Promise<MonthEvent> {
  const organizer = keys.organizer;
  const title = `${plan.do} of hour ${world.hour}`;
  const { id, code } = await insist(world, 'POST', '/voting-events', organizer, { title, type: plan.do }, 201);
  const base = `/voting-events/${id}`;
  const position = { title: 'Chair', votingMethod: 'plurality' };
  const { id: positionId } = await insist(world, 'POST', `${base}/positions`, organizer, position, 201);
  const candidates: string[] = [];
  for (let place = 0; place < plan.candidates; place += 1) {
    const candidate = { name: `Candidate ${place + 1}`, positionIds: [positionId] };
    candidates.push((await insist(world, 'POST', `${base}/candidates`, organizer, candidate, 201)).id);
  }
  const people: Person[] = [];
  for (let place = 0; place < plan.voters; place += 1) {
    const email = `voter-${randomBytes(6).toString('hex')}@club.example`;
    const unreachable = plan.do === 'election' && place === 2 && dice.between(1, 4) === 1;
    if (plan.do === 'election')
      await insist(world, 'POST', `${base}/voters`, organizer, { name: `Voter ${place}`, email }, 201);
    if (unreachable) world.mail.refuse(email, 550);
    people.push({
      ...{ email, visitorId: visitor(), unreachable, state: 'waits', key: undefined, pending: undefined },
      ...{ votesAt: world.hour + dice.between(1, plan.hours - 1), choice: dice.between(0, plan.candidates - 1) },
    });
  }
  const endsAt = world.now() + plan.hours * 3_600_000;
  await insist(world, 'PATCH', base, organizer, { status: 'open', endsAt }, 200);
  return {
    ...{ id, code: String(code), kind: plan.do, positionId, candidates, people },
    ...{ startsAtHour: world.hour, endsAtHour: world.hour + plan.hours, counted: candidates.map(() => 0) },
  };
}

const isOpen = (world: World, event: MonthEvent): boolean => world.hour < event.endsAtHour;

async function confirm(world: World, keys: Keys, event: MonthEvent, person: Person): Promise<void> {
  if (person.pending === undefined) return;
  const { code, idempotencyKey } = person.pending;
  const answer = await world.ask(
    ...(['POST', `/public/voting-events/${event.id}/ballot/confirm`, keys.voting] as const),
    ...([{ confirmationCode: code }, { 'Idempotency-Key': idempotencyKey }] as const),
  );
  if (answer === undefined) return;
  person.pending = undefined;
  if (answer.status === 200) {
    person.state = 'voted';
    event.counted[person.choice] = (event.counted[person.choice] ?? 0) + 1;
  } else person.state = 'missed';
}

/** One step of one voter, in an hour in which the event is open or a confirm of it is still under way. */
async function step(world: World, keys: Keys, event: MonthEvent, person: Person): Promise<void> {
  if (person.pending !== undefined) return confirm(world, keys, event, person);
  if (!isOpen(world, event) || person.state === 'voted' || person.state === 'missed') return;
  const voting = `/public/voting-events/${event.id}`;
  if (event.kind === 'election' && person.state === 'waits' && world.hour >= person.votesAt - 1) {
    const asked = await world.ask('POST', `${voting}/voter-key/request`, keys.voting, { email: person.email });
    if (asked?.status === 202) person.state = 'asked';
  }
  person.key = world.mail.taken.findLast(({ to }) => to === person.email)?.voterKey;
  const isAble = event.kind === 'poll' || person.key !== undefined;
  if (world.hour < person.votesAt || !isAble) return;
  const who = event.kind === 'poll' ? { visitorId: person.visitorId } : { email: person.email, voterKey: person.key };
  const votes = [{ positionId: event.positionId, candidateId: event.candidates[person.choice] }];
  const cast = await world.ask('POST', `${voting}/ballot/cast`, keys.voting, { ...who, votes });
  if (cast === undefined) return;
  if (cast.status !== 201) throw new Error(`a cast of ${event.code}: ${cast.status} ${JSON.stringify(cast.body)}`);
  const { confirmationCode } = (cast.body as { data: { confirmationCode: string } }).data;
  person.pending = { code: confirmationCode, idempotencyKey: randomBytes(12).toString('hex') };
  await confirm(world, keys, event, person);
}

/** Everybody does what is due in this hour, voters beside each other. */
export async function voteHour(world: World, keys: Keys, events: readonly MonthEvent[]): Promise<void> {
  for (const event of events) {
    // A confirm may come 15 minutes after the end at most: an hour later nothing of it is under way.
    if (world.hour > event.endsAtHour) continue;
    await Promise.all(event.people.map((person) => step(world, keys, event, person)));
  }
}

export interface Verdict {
  readonly ballots: number;
  /** What is wrong, in words; empty where everything is right. */
  readonly faults: readonly string[];
}

interface Results {
  readonly status: string;
  readonly stats: { readonly ballots: number };
  readonly positions: readonly { readonly candidates: readonly { readonly id: string; readonly votesWon: number }[] }[];
}

/** Holds an event that is over against what its voters were answered, its log and a recount. */
export async function judgeEvent(world: World, keys: Keys, event: MonthEvent): Promise<Verdict> {
  const faults: string[] = [];
  const results = (await insist(
    ...([world, 'GET', `/voting-events/${event.id}/results`, keys.organizer, undefined, 200] as const),
  )) as unknown as Results;
  const ballots = event.counted.reduce((sum, votes) => sum + votes, 0);
  if (results.stats.ballots !== ballots)
    faults.push(`${event.code}: ${results.stats.ballots} ballots, ${ballots} acknowledged`);
  const votes = new Map(results.positions[0]?.candidates.map((one) => [one.id, one.votesWon]));
  for (const [place, id] of event.candidates.entries())
    if (votes.get(id) !== event.counted[place])
      faults.push(`${event.code}: candidate ${place + 1} has ${votes.get(id)} votes, not ${event.counted[place]}`);
  const recount = await world.command('recount', '--event', event.code, '--json');
  if (recount.code !== 0) faults.push(`${event.code}: recount ${recount.code} ${recount.stdout}${recount.stderr}`);
  const report = await verifyLog({ event: event.id, read: readOverHttp(world.addressOf(1), keys.voting) });
  for (const { status, name, detail } of report.checks)
    if (status === 'failed' || name === 'reading') faults.push(`${event.code}: ${name}: ${detail}`);
  return { ballots, faults };
}

/** Mails that were asked for and neither taken by the mail server nor shown to the organizer as not deliverable. */
export async function listLostMails(world: World, keys: Keys, event: MonthEvent): Promise<readonly string[]> {
  if (event.kind === 'poll') return [];
  const voters = (await insist(
    ...([world, 'GET', `/voting-events/${event.id}/voters?limit=200`, keys.organizer, undefined, 200] as const),
  )) as unknown as readonly { readonly email: string; readonly keyStatus: string }[];
  return event.people.flatMap(({ email, state, unreachable }) => {
    if (state === 'waits') return [];
    const isTaken = world.mail.taken.some(({ to }) => to === email);
    const isShown = voters.find((voter) => voter.email === email)?.keyStatus === 'failed';
    const isRight = unreachable ? isShown && !isTaken : isTaken;
    return isRight ? [] : [`${event.code}: ${unreachable ? 'not shown as failed' : 'no mail'} for ${email}`];
  });
}
