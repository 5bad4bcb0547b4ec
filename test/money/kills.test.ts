import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type DatabaseProxy, startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { checkoutUrlOf, decide, PROVIDERS, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { eventually, patiently, type TestAnswer } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';
import { startWorkerProcess, type WorkerProcess } from '#test/harness/worker-process.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { BUYERS, openShop, PURPOSES, type Shop } from './buyers.ts';
import { Merchant } from './merchant.ts';
import { age, endAll, findMisplacedMoney } from './where-money-is.ts';

// A process that is killed (SIGKILL) at any step of a payment leaves one effect, and the payment ends without anybody's call
// (completions 7.4). A step is what the process sends to the database or to the provider: the kill comes before it arrives, or
// after it was done and before its answer is seen.

const SEED = Number(process.env['MONEY_SEED'] ?? 1);
/** How many kills the dice choose; `Infinity` for every step of every act. */
const KILLS = Number(process.env['MONEY_KILLS'] ?? 10);
const ACTS = ['first call', 'message', 'second call', 'confirm', 'job'] as const;
type Act = (typeof ACTS)[number];
/** More than any act takes: its steps end where the act is done before the kill. */
const MOST_STEPS = 60;

interface Plan {
  readonly event: Shop;
  readonly act: Act;
  readonly step: number;
  readonly side: 'before' | 'after';
  /** Whether the payer repeats the call that was cut off, as told, or never comes back. */
  readonly repeats: boolean;
}

const paid = await usePaidService();
const { service, sandbox } = paid;
const merchant = new Merchant(paid);
const [database, provider] = await Promise.all([
  use(startDatabaseProxy(service.databaseUrl)),
  use(startDatabaseProxy(sandbox.url)),
]);
const dice = createRandom(SEED);

let victim: WorkerProcess | undefined;

async function startVictim(): Promise<WorkerProcess> {
  for (const proxy of [database, provider]) Object.assign(proxy, { silent: false, deaf: false });
  return startWorkerProcess(service, {
    ...{ DATABASE_URL: database.url, SANDBOX_URL: provider.url, BY_CLOCK: 'off', LOG_LEVEL: 'silent' },
  });
}

/** Kills the victim at a step, counted from now on. @returns whether it came to that step */
function killAt({ child }: WorkerProcess, { step, side }: Plan): { readonly reached: () => boolean } {
  let steps = 0;
  const watch = (proxy: DatabaseProxy): void => {
    proxy.onSent = () => {
      steps += 1;
      if (steps !== step) return;
      for (const one of [database, provider]) {
        one.deaf = true;
        one.silent = side === 'before';
      }
      // What was sent is done meanwhile, and its answer is not seen.
      setTimeout(() => child.kill('SIGKILL'), side === 'before' ? 0 : 100);
    };
  };
  for (const proxy of [database, provider]) watch(proxy);
  return {
    reached() {
      for (const proxy of [database, provider]) proxy.onSent = undefined;
      return steps >= step;
    },
  };
}

/** A payment on its way, with what its payer knows of it. */
interface Payer {
  attempt?: string;
  url?: string;
  code?: string;
}

type Ask = (path: string, body: object) => Promise<TestAnswer | undefined>;

/** What the payer sends, and learns from the answer. */
async function act(plan: Plan, payer: Payer, ask: Ask, body: object): Promise<void> {
  const { path } = BUYERS[plan.event.purpose];
  if (plan.act === 'first call') {
    const answer = await ask(path, { email: 'payer@mail.example', returnUrl: RETURN_URL, ...body });
    if (answer?.status === 402)
      Object.assign(payer, { attempt: answer.body.data.paymentAttemptId, url: checkoutUrlOf(answer) });
  }
  if (plan.act === 'second call') {
    const answer = await ask(path, { paymentAttemptId: payer.attempt });
    if (plan.event.purpose === 'vote') payer.code = answer?.body.data?.confirmationCode;
  }
  if (plan.act === 'confirm') await ask('ballot/confirm', { confirmationCode: payer.code });
}

/** Asks the service that goes on, as often as it says. */
const askSurvivor =
  ({ event }: Plan, key: string): Ask =>
  (path, body) =>
    patiently(() => event.account.page(event, path, body, { 'Idempotency-Key': key }));

/** Asks the process that is killed meanwhile: then there is no answer. */
const askVictim =
  ({ event }: Plan, { port }: { readonly port: number }, key: string): Ask =>
  async (path, body) => {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/public/voting-events/${event.id}/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: {
          ...{ Authorization: `Bearer ${event.account.vote}`, 'Content-Type': 'application/json' },
          'Idempotency-Key': key,
        },
      });
      const answer = await response.json();
      return { status: response.status, headers: response.headers, body: answer };
    } catch {
      return undefined;
    }
  };

const statusOf = async (attempt: string | undefined): Promise<string> =>
  (await merchant.query('SELECT status FROM payment_attempts WHERE id = $1', [attempt ?? ''])).rows[0]?.status;

const hasEnded = (one: WorkerProcess | undefined): boolean => one?.child.signalCode !== null;

/** Whether what the act does by itself is done. */
async function isDone({ act }: Plan, { attempt }: Payer): Promise<boolean> {
  const text = 'SELECT status, refunded_at FROM payment_attempts WHERE id = $1';
  const [row] = (await merchant.query(text, [attempt])).rows;
  if (act === 'message') return row.status === 'succeeded';
  return row.status === 'fulfilled' || row.refunded_at !== null;
}

function sendMessagesTo({ secretKey, provider, businessId }: Shop, port: number): void {
  sandbox.registerWebhook(secretKey, `http://127.0.0.1:${port}/provider-webhooks/${provider}/${businessId}`);
}

/** One payment up to the act, the act with its kill, and a repeat where the payer is one who repeats. @returns whether the kill came */
async function play(plan: Plan): Promise<boolean> {
  victim ??= await startVictim();
  const { event } = plan;
  const payer: Payer = {};
  const body = BUYERS[event.purpose].body(event);
  for (const before of ACTS.slice(0, ACTS.indexOf(plan.act))) {
    if (before === 'message') {
      await decide(payer.url ?? '', 'pay');
      await eventually(async () => ((await statusOf(payer.attempt)) === 'succeeded' ? true : undefined));
      // The job finds what was paid and not asked for.
      if (plan.act === 'job') break;
    } else await act({ ...plan, act: before }, payer, askSurvivor(plan, randomUUID()), body);
  }
  const key = randomUUID();
  if (plan.act === 'job') await age(merchant, event);
  if (plan.act === 'message') sendMessagesTo(event, victim.port);
  const kill = killAt(victim, plan);
  if (plan.act === 'job') victim.child.kill('SIGUSR2');
  else if (plan.act === 'message') await decide(payer.url ?? '', 'pay');
  else await act(plan, payer, askVictim(plan, victim, key), body);
  // A message and a job have nobody who waits for an answer.
  if (plan.act === 'job' || plan.act === 'message')
    await eventually(async () => (hasEnded(victim) || (await isDone(plan, payer)) ? true : undefined));
  const reached = kill.reached();
  sendMessagesTo(event, service.port);
  if (!reached) return false;
  await victim.kill();
  victim = undefined;
  if (plan.repeats) await act(plan, payer, askSurvivor(plan, key), body);
  return true;
}

test(`a process killed at ${KILLS} steps of payments of seed ${SEED} leaves one effect of each, and each ends by itself`, async () => {
  const shops: Shop[] = [];
  for (const purpose of PURPOSES) for (const one of PROVIDERS) shops.push(await openShop(paid, purpose, one));
  const plans = shops.flatMap((event) =>
    ACTS.filter((name) => name !== 'confirm' || event.purpose === 'vote').map((name) => ({ event, act: name })),
  );
  const killed = new Map<string, number>();
  let kills = 0;
  const kill = async (plan: Plan): Promise<boolean> => {
    const came = await play(plan);
    kills += came ? 1 : 0;
    const name = `${plan.event.purpose}, ${plan.act}`;
    if (came) killed.set(name, Math.max(killed.get(name) ?? 0, plan.step));
    return came;
  };
  if (KILLS === Number.POSITIVE_INFINITY) {
    for (const plan of plans)
      for (const side of ['before', 'after'] as const) {
        let step = 1;
        while (step <= MOST_STEPS && (await kill({ ...plan, side, step, repeats: dice(2) === 0 }))) step += 1;
        console.info(`${plan.event.provider}, ${plan.event.purpose}, ${plan.act}, killed ${side}: ${step - 1} steps`);
      }
  } else {
    for (let turn = 0; kills < KILLS; turn += 1) {
      const plan = plans[(turn + dice(plans.length)) % plans.length];
      if (plan === undefined) throw new Error('no plan');
      await kill({ ...plan, side: dice(2) === 0 ? 'before' : 'after', step: 1 + dice(20), repeats: dice(2) === 0 });
    }
  }
  await victim?.kill();
  await endAll(merchant, shops);

  const amiss: string[] = [];
  for (const event of shops) amiss.push(...(await findMisplacedMoney(merchant, event)));
  expect(amiss).toEqual([]);
  console.info([...killed].map(([name, step]) => `${name}: to step ${step}`).join('; '));
}, 7_200_000);
