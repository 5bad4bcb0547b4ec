import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Agent, request } from 'undici';
import { sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { createAccount, revokeApiKey, updatePlan } from '#src/accounts/repository.ts';
import { readConfig } from '#src/config.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { connectBusiness } from '#src/payments/connect-business.ts';
import { createLog } from '#src/platform/log.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { recurringJobs } from '#src/work.ts';
import { markPlaces } from '#test/harness/test-service.ts';
import type { Driver, DriverAnswer, DriverRequest, StartDriver } from './driver.ts';
import { findBrokenInvariants, recountEvent, verifyFromOutside } from './driver-checks.ts';
import { DriverDatabase } from './driver-database.ts';
import { MailFolder } from './driver-mails.ts';
import { DriverPayments } from './driver-payments.ts';
import {
  type Environment,
  type RunningService,
  type StartService,
  startProcess,
  startWithin,
} from './driver-services.ts';
import { passedBy, settleAll, waitForRunning } from './driver-settle.ts';
import { driverNow, setTimeOffset } from './driver-time.ts';

const PROCESSES = 2;
/** Requests a minute that no history comes near to. */
const UNBOUNDED = { organizerRequestsPerMinute: 60_000_000, voteRequestsPerMinute: 60_000_000 };
/** Time goes on from history to history, as turning it back takes a fresh start of the services; not beyond this, though. */
const FARTHEST_MS = 5 * 366 * 86_400_000;

const newKey = (): string => randomBytes(32).toString('base64');

class RunningDriver implements Driver {
  readonly #start: StartService;
  readonly #database: DriverDatabase;
  readonly #payments: DriverPayments;
  readonly #folder: string;
  readonly #mails: MailFolder;
  readonly #agent = new Agent({ connections: 64, keepAliveTimeout: 60_000, headersTimeout: 120_000 });
  #services: RunningService[] = [];
  readonly #logKey = newKey();
  #keys = [newKey()];
  #deps: Deps;
  #offsetMs = 0;
  /** Recurring work that time passed by since the last `settle`. */
  #passed: string[] = [];

  private constructor(start: StartService, database: DriverDatabase, payments: DriverPayments, folder: string) {
    this.#start = start;
    this.#database = database;
    this.#payments = payments;
    this.#folder = folder;
    this.#mails = new MailFolder(folder);
    this.#deps = this.#createDeps();
  }

  static async start(kind: 'processes' | 'within'): Promise<RunningDriver> {
    setTimeOffset(0);
    const folder = await mkdtemp(path.join(tmpdir(), 'voting-model-data-'));
    await writeFile(
      path.join(folder, 'plans.json'),
      JSON.stringify({ free: UNBOUNDED, pro: UNBOUNDED, enterprise: UNBOUNDED }),
    );
    const database = await DriverDatabase.create();
    let driver: RunningDriver | undefined;
    const payments = new DriverPayments(() => driver?.addressOf(0) ?? '');
    await payments.start();
    driver = new RunningDriver(kind === 'processes' ? startProcess : startWithin, database, payments, folder);
    await driver.#startServices();
    await markPlaces(database.url, driver.#deps.config);
    return driver;
  }

  #environment(place: number): Environment {
    return {
      DATABASE_URL: this.#database.url,
      SECRET_KEY: this.#keys.join(),
      // Derived from the secret key it would change with it, and with it whom observers believe: operators are told to set it.
      LOG_SIGNING_KEY: this.#logKey,
      DATA_DIR: this.#folder,
      // As in production: what tends the keys of elections looks at files.
      BALLOT_KEYS_DIR: path.join(this.#folder, 'ballot-keys'),
      PLANS_FILE: path.join(this.#folder, 'plans.json'),
      PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: process.env['DRIVER_LOG'] ?? 'silent',
      EMAIL_DOMAIN_CHECK: 'off',
      WEBHOOK_ALLOW_PRIVATE: 'on',
      WORKER: place === 0 ? 'on' : 'off',
      DRIVER_PROVIDER_URL: this.#payments.url,
    };
  }

  #createDeps(): Deps {
    const played = this.#payments.url;
    return createDeps(readConfig(this.#environment(1)), this.#database.url, createLog('silent'), played);
  }

  async #startServices(): Promise<void> {
    this.#services = await Promise.all(
      Array.from({ length: PROCESSES }, (_, place) => this.#start(this.#environment(place), this.#offsetMs)),
    );
  }

  /** Ends both services and starts them with what is now set. */
  async #startAnew(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.end('stop')));
    await this.#freeWhatTheDeadHeld();
    await closeDeps(this.#deps);
    this.#deps = this.#createDeps();
    await this.#startServices();
  }

  /** The service itself finds out after ten seconds what a killed process held; no history waits that long. */
  async #freeWhatTheDeadHeld(): Promise<void> {
    const { client } = this.#database;
    await client.query('UPDATE jobs SET held_by = NULL, held_at = NULL WHERE held_by IS NOT NULL');
    await client.query('DELETE FROM webhook_holds');
  }

  #service(place: number): RunningService {
    const service = this.#services[place];
    if (service === undefined) throw new Error(`there is no process ${place}`);
    return service;
  }

  addressOf(place: number): string {
    return `http://127.0.0.1:${this.#service(place).port}`;
  }

  async call({ process: place, method, path: target, key, headers, body }: DriverRequest): Promise<DriverAnswer> {
    const answer = await request(`${this.addressOf(place)}${target}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const own = Object.entries(answer.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]);
    const isJson = text !== '' && /[/+]json\b/.test(String(answer.headers['content-type'] ?? ''));
    return { status: answer.statusCode, headers: Object.fromEntries(own), body: isJson ? JSON.parse(text) : text };
  }

  now(): number {
    return driverNow();
  }

  async advance(ms: number): Promise<void> {
    const before = driverNow();
    await this.#setOffset(this.#offsetMs + ms);
    this.#passed = [...new Set([...this.#passed, ...passedBy(recurringJobs(this.#deps), before, driverNow())])];
  }

  async #setOffset(ms: number): Promise<void> {
    this.#offsetMs = ms;
    setTimeOffset(ms);
    await Promise.all([this.#database.setOffset(ms), ...this.#services.map((service) => service.setOffset(ms))]);
  }

  async settle(): Promise<void> {
    const passed = this.#passed;
    this.#passed = [];
    await settleAll(this.#database.client, passed, () => this.#payments.messages.arrived());
  }

  async createAccount(plan: Parameters<Driver['createAccount']>[0]): Promise<{ readonly id: string }> {
    const { id } = await createAccount(this.#deps.db, this.#deps, { name: 'A club', plan });
    return { id };
  }

  async setPlan(...[accountId, plan]: Parameters<Driver['setPlan']>): Promise<void> {
    const row = await updatePlan(this.#deps.db, accountId, plan);
    if (row === undefined) throw new Error('there is no such account');
    await this.#forget();
  }

  async createKey(...[input]: Parameters<Driver['createKey']>): Promise<{ readonly id: string; readonly key: string }> {
    const { accountId, scopes, eventId = null, expiresInDays = null } = input;
    const { id, key } = await createApiKey(this.#deps.db, this.#deps, {
      ...{ accountId, scopes, expiresInDays, votingEventId: eventId, name: scopes.join() },
    });
    return { id, key };
  }

  async revokeKey(keyId: string): Promise<void> {
    const row = await inTransaction(this.#deps.db, (tx) => revokeApiKey(tx, keyId, driverNow()));
    if (row === undefined) throw new Error('there is no such key');
    await this.#forget();
  }

  /** An announcement reaches the processes a moment after the change: what an operator did is done when the driver says so. */
  async #forget(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.forget()));
  }

  async connectBusiness(
    ...[accountId, provider]: Parameters<Driver['connectBusiness']>
  ): Promise<{ readonly id: string }> {
    const id = this.#deps.ids.sortable('biz');
    const { secretKey, country } = this.#payments.openAccount(id, provider);
    await connectBusiness(this.#deps, {
      ...{ id, accountId, provider, country, displayName: 'The shop', sandbox: true },
      credentials: { secretKey, webhookSecret: sandboxWebhookSecret(secretKey) },
    });
    return { id };
  }

  mails() {
    return this.#mails.list();
  }

  pay(...[checkoutUrl, outcome]: Parameters<Driver['pay']>) {
    return this.#payments.pay(checkoutUrl, outcome);
  }

  async holdMessages(held: boolean): Promise<void> {
    await this.#payments.messages.arrived();
    this.#payments.messages.hold(held);
  }

  async heldMessages() {
    return this.#payments.messages.list();
  }

  deliverMessages(order: readonly number[]) {
    return this.#payments.messages.deliver(order);
  }

  merchantRefund(checkoutUrl: string) {
    return this.#payments.refund(checkoutUrl);
  }

  dispute(...[checkoutUrl, step]: Parameters<Driver['dispute']>) {
    return this.#payments.dispute(checkoutUrl, step);
  }

  async restart(place: number): Promise<void> {
    await this.#service(place).end('kill');
    if (place === 0) await this.#freeWhatTheDeadHeld();
    this.#services[place] = await this.#start(this.#environment(place), this.#offsetMs);
  }

  async rotateSecretKey(): Promise<void> {
    this.#keys = [newKey(), ...this.#keys];
    await this.#startAnew();
  }

  brokenInvariants(eventId: string) {
    return findBrokenInvariants(this.#database.client, this.#deps, eventId);
  }

  recount(eventId: string) {
    return recountEvent(this.#deps, eventId);
  }

  verifyLog(eventId: string, key: string) {
    return verifyFromOutside(this.addressOf(1), eventId, key);
  }

  async reset(): Promise<void> {
    await this.#payments.messages.arrived();
    await waitForRunning(this.#database.client);
    await this.#database.empty();
    await this.#mails.empty();
    this.#payments.forget();
    this.#passed = [];
    if (this.#keys.length === 1 && this.#offsetMs < FARTHEST_MS) return;
    this.#keys = [newKey()];
    await Promise.all(this.#services.map((service) => service.end('stop')));
    this.#services = [];
    await this.#setOffset(0);
    await this.#startAnew();
  }

  async stop(): Promise<void> {
    await this.#payments.messages.arrived();
    await Promise.all(this.#services.map((service) => service.end('stop')));
    await this.#payments.stop();
    await closeDeps(this.#deps);
    await this.#agent.close();
    await this.#database.drop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** One at a time in a process: all that runs in it has the same clock. */
export const startDriver: StartDriver = ({ kind }) => RunningDriver.start(kind);
