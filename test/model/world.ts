/** One history under way: the service, the model beside it, and what differed. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Met } from '#test/harness/met.ts';
import type { Driver, DriverAnswer, DriverMail, DriverRequest } from '#test/model/driver.ts';
import { describe, describeAnswer, type Expected, fits } from './answer.ts';
import { settleSteps } from './disclosure.ts';
import { at, differences, isObject, Random, short, text } from './kit.ts';
import { Model } from './model.ts';
import { readsAfter } from './reads.ts';
import { Receiver } from './receiver.ts';
import {
  type Account,
  CONFIRM_WINDOW,
  closesAt,
  type Event,
  HOUR,
  type Key,
  MINUTE,
  statusOf,
  type Voter,
} from './state.ts';

export interface Finding {
  /** The same operation, expectation and answer are one class. */
  readonly kind: string;
  readonly line: string;
  /** Model and service may have gone different ways from here on. */
  readonly fatal: boolean;
  /** The operation at which it showed, or -1 for the comparison at the end. */
  readonly op: number;
}
/** Record and event names out of a path, for classes. */
export function routeOf(path: string): string {
  return (path.split('?')[0] ?? '')
    .replace(/(voting-events)\/[^/]+/, '$1/:e')
    .replace(/\/(pos|cnd|grp|spn|vtr|pay|whe|whd|inv|biz|ntf|let)_[^/]*/g, '/:id')
    .replace(/\/downloads\/(letters\/)?.+/, '/downloads/:id');
}
const plainPath = (path: string) => path.replace(/\[[0-9*]+\]/g, '[]');
/** Numbers and names out of an explanation, so that alike differences are one class. */
const plainText = (line: string) =>
  line
    .replace(/\b(evt|pos|cnd|grp|spn|vtr|pay|biz|key|acc)_[A-Za-z0-9_-]+/g, '$1_')
    .replace(/\[[0-9]+\]/g, '[]')
    .replace(
      /issues \{([^}]*)\}/g,
      (_, inner: string) => `issues {${[...new Set(inner.split(', '))].sort().join(', ')}}`,
    );

/** After so long every process has heard of a change. */
const STALE_MS = 500;

export class World {
  model = new Model();
  readonly findings: Finding[] = [];
  readonly receiver = new Receiver();
  readonly script: string[] = [];
  readonly recent: DriverRequest[] = [];
  readonly driver: Driver;
  readonly met: Met | undefined;
  random = new Random(1);
  /** What is read after a change is drawn apart, so that it changes nothing else. */
  reader = new Random(1);
  organizer: Key[] = [];
  voting: Key[] = [];
  others: Key[] = [];
  stopped = false;
  requests = 0;
  reads = 0;
  serial = 0;
  private mailsSeen = 0;
  private keyed = 0;
  held = false;

  constructor(driver: Driver, met?: Met) {
    this.driver = driver;
    this.met = met;
  }

  async start(): Promise<void> {
    const main = await this.account('enterprise');
    this.organizer = [await this.key(main, ['read', 'write']), await this.key(main, ['read', 'write'])];
    this.voting = [await this.key(main, ['vote']), await this.key(main, ['vote'])];
    for (const provider of ['provider_a', 'provider_b'] as const)
      main.businesses.push({ id: (await this.driver.connectBusiness(main.id, provider)).id, provider });
    const other = await this.account('pro');
    this.others = [
      await this.key(other, ['read', 'write']),
      await this.key(main, ['read']),
      await this.key(other, ['vote']),
    ];
  }
  async account(plan: Account['plan']): Promise<Account> {
    const { id } = await this.driver.createAccount(plan);
    const account: Account = { id, plan, businesses: [] };
    this.model.accounts.push(account);
    return account;
  }
  async key(
    account: Account,
    scopes: readonly ('read' | 'write' | 'vote' | 'observe')[],
    eventId?: string,
  ): Promise<Key> {
    const made = await this.driver.createKey({
      accountId: account.id,
      scopes,
      ...(eventId === undefined ? {} : { eventId }),
    });
    const key: Key = { id: made.id, key: made.key, account, scopes, eventId, expiresAt: null, revoked: false };
    this.model.keys.set(key.key, key);
    return key;
  }

  note(line: string): void {
    this.script.push(line);
  }
  report(kind: string, line: string, fatal: boolean): void {
    this.findings.push({ kind, line, fatal, op: this.step });
    this.script.push(`   !! ${line}`);
    if (fatal) this.stopped = true;
  }

  /** Sends a request, and compares the answer with what the model expects. */
  async send(request: DriverRequest): Promise<DriverAnswer> {
    const now = this.driver.now();
    const expected = this.model.expect(request, now);
    const answer = await this.driver.call(request);
    this.requests += 1;
    if (request.method === 'GET') this.reads += 1;
    // Changes of different fields are different classes.
    const fields = request.method === 'PATCH' && isObject(request.body) ? Object.keys(request.body).toSorted() : [];
    const route = `${request.method} ${routeOf(request.path)}${fields.length > 0 ? ` {${fields.join()}}` : ''}`;
    this.met?.see({ method: request.method, target: request.path, body: request.body }, answer, now);
    const body = request.body === undefined ? '' : ` ${short(request.body, 1500)}`;
    const headers = request.headers === undefined ? '' : ` ${JSON.stringify(request.headers)}`;
    this.note(
      `p${request.process} ${request.method} ${request.path}${headers}${body}  → ${describeAnswer(answer)}${answer.status < 300 || answer.status === 402 ? ` ${short(answer.body)}` : ` "${String(at(answer.body, 'error', 'message') ?? '')}"`}`,
    );
    await this.compareOrReadAgain(route, request, expected, answer);
    if (request.method !== 'GET' && answer.status < 500) this.model.changedAt = now;
    const made = ['POST', 'DELETE'].includes(request.method) && [201, 202, 204].includes(answer.status);
    const event = this.model.find(/^\/voting-events\/([^/?]+)/.exec(request.path)?.[1] ?? '');
    if (made && event !== undefined && answer.headers['idempotent-replayed'] !== 'true') event.made += 1;
    if (request.method === 'POST' && request.headers?.['idempotency-key'] !== undefined) this.recent.push(request);
    if (request.method !== 'GET' && (answer.status < 300 || answer.status === 402))
      await this.readBack(request, answer);
    return answer;
  }
  /** Reads what a change should have changed through the other process. */
  private async readBack(request: DriverRequest, answer: DriverAnswer): Promise<void> {
    // Deletions are under way.
    if (this.stopped || this.unsettled) return;
    const live = (keys: readonly Key[]) => keys.find((one) => !one.revoked)?.key;
    const readers = { organizer: live(this.organizer), voting: live(this.voting) };
    const readable = this.model.mails.length === 0;
    for (const read of readsAfter(this.model, request, answer, readers, this.reader, readable)) await this.send(read);
  }
  /** An answer that is right a moment later was stale: told apart, as what was kept of before in one process goes by itself. */
  private async compareOrReadAgain(
    route: string,
    request: DriverRequest,
    expected: readonly Expected[],
    answer: DriverAnswer,
  ): Promise<void> {
    const right = (got: DriverAnswer) =>
      expected.some(
        (one) =>
          one.wrong !== true &&
          fits(one, got) &&
          (one.body === undefined || differences(one.body, got.body).length === 0),
      );
    if (request.method !== 'GET' || right(answer)) return this.compare(route, request, expected, answer);
    await pause(STALE_MS);
    const later = await this.driver.call(request);
    if (!right(later)) return this.compare(route, request, expected, answer);
    const nearest = expected.find((one) => one.body !== undefined && fits(one, answer)) ?? expected[0];
    const differing = differences(nearest?.body, answer.body).slice(0, 4);
    const words = differing.map((one) => `${one.path} ${one.expected}, not ${one.got}`).join('; ');
    this.report(`stale | ${route}`, `right ${STALE_MS} ms later: ${words} ${short(answer.body, 600)}`, false);
    this.compare(route, request, expected, later);
  }
  private compare(route: string, request: DriverRequest, expected: readonly Expected[], answer: DriverAnswer): void {
    const fitting = expected.filter((one) => fits(one, answer));
    // Of several bodies that the contract allows, the one that it is.
    const same = (one: Expected) => one.body !== undefined && differences(one.body, answer.body).length === 0;
    const fit = fitting.find((one) => one.wrong !== true && same(one)) ?? fitting[0];
    if (fit === undefined || fit.wrong === true) {
      const wanted = expected.filter((one) => one.wrong !== true && one.status !== 429).map(describe);
      const got = describeAnswer(answer);
      const success = (status: number) => status < 300 || status === 402;
      // A refusal changes nothing: the history goes on. So it does where the model knows what a wrong success does.
      const fatal = request.method !== 'GET' && success(answer.status) && (fit === undefined || fit.ends === true);
      const shown = [...new Set(wanted)].slice(0, 3).join(' | ');
      this.report(
        `${route} | expected ${plainText(shown)} | got ${plainText(got)}`,
        `expected ${wanted.join(' | ')}, got ${got}`,
        fatal,
      );
      if (fit === undefined) return;
    }
    if (fit.body !== undefined) {
      const found = differences(fit.body, answer.body);
      for (const one of found.slice(0, 3)) {
        const value = /^(data\.(status|reason|eligible)|.*\.status)$/.test(one.path)
          ? ` (${one.expected} ≠ ${one.got})`
          : '';
        this.report(
          `${route} ${answer.status} | body ${plainPath(one.path)}${value}`,
          `${one.path}: expected ${one.expected}, got ${one.got}`,
          false,
        );
      }
    }
    const error = at(answer.body, 'error');
    if (answer.status >= 400 && answer.status !== 402 && !(isObject(error) && typeof error['message'] === 'string'))
      this.report(`${route} | no error envelope`, `no error envelope: ${short(answer.body)}`, false);
    if (answer.headers['x-request-id'] === undefined) this.report('no X-Request-Id', 'no X-Request-Id', false);
    this.model.settle(fit, answer);
    if (fit.status === 202) this.unsettled = true;
  }
  unsettled = false;
  /** The number of the operation under way. */
  step = 0;

  /** A header for some of the POSTs. */
  idempotent(chance = 0.25): { headers?: Record<string, string> } {
    if (!this.random.chance(chance)) return {};
    this.keyed += 1;
    return { headers: { 'idempotency-key': `key-${this.keyed}` } };
  }

  /** @param calm nothing that statistics show can have changed by it */
  async settle(calm = false): Promise<void> {
    await this.driver.settle();
    if (!calm) this.model.changedAt = this.driver.now();
    this.unsettled = false;
    for (const attempt of this.model.attempts.values()) if (attempt.paid && !this.held) attempt.told = true;
    await this.readMails();
  }
  async settleIfNeeded(): Promise<void> {
    if (this.unsettled || this.model.mails.length > 0) await this.settle();
  }
  /** Matches what was mailed with what should have been. */
  private async readMails(): Promise<void> {
    const all = await this.driver.mails();
    const fresh = all.slice(this.mailsSeen);
    this.mailsSeen = all.length;
    const waiting = this.model.mails.splice(0);
    for (const mail of fresh) {
      if (this.learnToken(mail)) continue;
      const index = waiting.findIndex((one) => one.to.toLowerCase() === mail.to.toLowerCase());
      const wanted = waiting[index];
      if (wanted === undefined) {
        // A mail that an hourly limit put off comes later.
        const later = this.model.events
          .filter(({ notifications }) => notifications.length > 0)
          .flatMap(({ voters }) => voters.find((one) => one.email?.toLowerCase() === mail.to.toLowerCase()) ?? []);
        if (mail.voterKey !== undefined && later[0] !== undefined) learnKey(later[0], mail.voterKey);
        else if (mail.voterKey !== undefined)
          this.report('mail | a voter key nobody asked for', `to ${mail.to}: ${mail.subject}`, false);
        continue;
      }
      waiting.splice(index, 1);
      if (wanted.sure && wanted.withKey !== (mail.voterKey !== undefined))
        this.report(
          `mail | ${wanted.withKey ? 'no voter key in it' : 'a voter key that should not be in it'} (${wanted.voter.status})`,
          `to ${mail.to}: ${mail.subject}`,
          false,
        );
      if (mail.voterKey !== undefined && wanted.voter.email?.toLowerCase() === mail.to.toLowerCase())
        learnKey(wanted.voter, mail.voterKey);
    }
    for (const event of this.model.events)
      for (const one of event.invites)
        if (one.token === undefined && !one.removed && !event.deleted)
          this.report('mail | an invite is missing', `to ${one.email}`, false);
    for (const one of waiting)
      if (one.sure)
        this.report(`mail | missing (${one.voter.status}, ${one.withKey ? 'key' : 'notice'})`, `to ${one.to}`, false);
  }
  /** The token of an invite out of its mail. */
  private learnToken(mail: DriverMail): boolean {
    const invites = this.model.events.flatMap((one) => one.invites);
    const invite = invites.find((one) => one.token === undefined && one.email.toLowerCase() === mail.to.toLowerCase());
    const token = /\b[A-Za-z]{2,5}_[A-Za-z0-9_-]{16,}\b/.exec(mail.text)?.[0];
    if (invite === undefined || token === undefined) return false;
    invite.token = token;
    return true;
  }
  async advance(ms: number, calm = false): Promise<void> {
    await this.settleIfNeeded();
    this.note(`-- time passes: ${Math.round(ms / 1000)} s`);
    await this.driver.advance(ms);
    await this.settle(calm);
    // What the service does once a minute is done: until then a step of disclosure may be outstanding.
    if (ms >= MINUTE) for (const event of this.model.events) settleSteps(event);
  }

  event(index: number): Event | undefined {
    const alive = this.model.events.filter((one) => !one.deleted);
    return alive[index % Math.max(alive.length, 1)];
  }

  /** What is compared when a history is over. */
  async finish(): Promise<void> {
    this.step = -1;
    await this.settleIfNeeded();
    const calm = !this.model.events.some((one) => changesSoon(one, this.driver.now()));
    await this.advance(6000, calm);
    const [organizer, voting] = [this.organizer.find((one) => !one.revoked), this.voting.find((one) => !one.revoked)];
    if (organizer === undefined || voting === undefined) return;
    for (const line of this.receiver.wrong(this.model.endpoints)) this.report(`webhook | ${line}`, line, false);
    for (const event of this.model.events.filter((one) => !one.deleted)) {
      if (event.account.id !== organizer.account.id) continue;
      const path = `/voting-events/${event.id}`;
      await this.send({ process: 0, method: 'GET', path, key: organizer.key });
      await this.send({ process: 1, method: 'GET', path: `${path}/results`, key: organizer.key });
      await this.send({ process: 0, method: 'GET', path: `${path}/stats`, key: organizer.key });
      if (statusOf(event, this.driver.now()) !== 'draft')
        await this.send({ process: 0, method: 'GET', path: `/public${path}/results`, key: voting.key });
      await this.send({ process: 0, method: 'GET', path: `${path}/votes?limit=200`, key: organizer.key });
      await this.send({ process: 0, method: 'GET', path: `${path}/voters?limit=200`, key: organizer.key });
      await this.send({ process: 1, method: 'GET', path: `${path}/payments`, key: organizer.key });
      for (const [name, found] of [
        ['recount', await this.driver.recount(event.id)],
        ['brokenInvariants', await this.driver.brokenInvariants(event.id)],
        [
          'verifyLog',
          statusOf(event, this.driver.now()) === 'draft' ? [] : await this.driver.verifyLog(event.id, voting.key),
        ],
      ] as const)
        for (const line of found.slice(0, 3))
          this.report(
            `${name} | ${plainText(line)
              .replace(/[0-9]+/g, 'N')
              .slice(0, 160)}`,
            `${name} ${event.id}: ${line}`,
            false,
          );
    }
  }
}
/** Whether the clock alone changes the event within the next seconds. */
function changesSoon(event: Event, now: number): boolean {
  const end = closesAt(event);
  const moments = [event.startsAt, end, end === null ? null : end + CONFIRM_WINDOW];
  return moments.some((one) => one !== null && Math.abs(one - now) < 10_000);
}
function learnKey(voter: Voter, key: string): void {
  voter.keys.push(key);
  voter.mailedAfterUse = true;
}
export const nameOf = (answer: DriverAnswer): string => text(at(answer.body, 'data', 'id'));
export const DAY = 24 * HOUR;
