import { setTimeout as pause } from 'node:timers/promises';
import {
  connectTestBusiness,
  decide,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  type TestProvider,
} from '#test/harness/payments.ts';
import type { Bench } from './bench-service.ts';
import type { BenchLine } from './line.ts';
import { ProcessorMeter } from './processor-meter.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const WINDOW_MS = 3_000;
/** Payers at the same time: the page of a payment is outside of the service, and most of each one's time. */
const PAYERS = 32;
const AGAIN_MS = 200;

interface Shop {
  readonly id: string;
  readonly votes: readonly { readonly positionId: string; readonly candidateId: string }[];
}

/** An open poll of one question. @param provider who takes the money of a vote; a free poll without */
async function openPoll(bench: Bench, provider?: TestProvider): Promise<Shop> {
  const { id } = (await bench.organize('POST', '/voting-events', { title: 'A poll', type: 'poll' })) as { id: string };
  const at = `/voting-events/${id}`;
  if (provider !== undefined) {
    const { id: paymentBusinessId } = await connectTestBusiness(bench, { id: bench.accountId }, provider);
    await bench.organize('PUT', `${at}/payment-business`, { paymentBusinessId });
    await bench.organize('PATCH', at, { payments: { payToVote: PRICE[provider] } });
  }
  const position = await bench.organize('POST', `${at}/positions`, { title: 'Q', votingMethod: 'plurality' });
  const positionId = String(position['id']);
  const candidate = await bench.organize('POST', `${at}/candidates`, { name: 'Ada', positionIds: [positionId] });
  await bench.organize('PATCH', at, { status: 'open' });
  return { id, votes: [{ positionId, candidateId: String(candidate['id']) }] };
}

/** One voter from the ballot to its confirmation; where the poll asks for money, with the payment in between. */
async function vote({ vote: key, server: { port } }: Bench, { id, votes }: Shop): Promise<void> {
  const post = async (path: string, body: object, expected: readonly number[]) => {
    const answer = await fetch(`http://127.0.0.1:${port}/public/voting-events/${id}/ballot/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!expected.includes(answer.status)) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return { status: answer.status, data: JSON.parse(text).data };
  };
  const visitorId = `vi_${crypto.randomUUID().replaceAll('-', '')}`;
  const payer = { email: 'payer@bench.example', returnUrl: RETURN_URL };
  let cast = await post('cast', { visitorId, votes, ...payer }, [201, 402]);
  if (cast.status === 402) {
    const { paymentAttemptId, provider } = cast.data;
    await decide(cast.data[provider].checkoutUrl, 'pay');
    // The provider's message comes on its own way, and a page asks again.
    do {
      await pause(AGAIN_MS);
      cast = await post('cast', { paymentAttemptId }, [201, 402]);
    } while (cast.status === 402);
  }
  await post('confirm', { confirmationCode: cast.data.confirmationCode }, [200]);
}

/** Votes that are paid for, from the first call to the confirmation, beside votes that cost nothing. */
export const paidVotes: BenchLine = async (bench) => {
  const measure = (shop: Shop, meter: ProcessorMeter) => async (): Promise<number> => {
    const begin = performance.now();
    let answered = 0;
    await meter.measure(async () => {
      await Promise.all(
        Array.from({ length: PAYERS }, async () => {
          for (; performance.now() - begin < WINDOW_MS; answered += 1) await vote(bench, shop);
        }),
      );
      return { answered };
    });
    return (answered * 1_000) / (performance.now() - begin);
  };
  const meterOf = () => new ProcessorMeter(bench);
  const meters = { provider_a: meterOf(), provider_b: meterOf(), free: meterOf() };
  const windows = {
    provider_a: measure(await openPoll(bench, 'provider_a'), meters.provider_a),
    provider_b: measure(await openPoll(bench, 'provider_b'), meters.provider_b),
    free: measure(await openPoll(bench), meters.free),
  };
  for (const [name, window] of Object.entries(windows)) {
    await window();
    meters[name as keyof typeof meters].clear();
  }
  const seen = await alternate(bench, ROUNDS, windows);
  return PROVIDERS.map((provider) => ({
    work: `votes paid through ${provider}, from the first call to the confirmation, ${PAYERS} payers`,
    reference: 'the same votes without a price',
    unit: '/s',
    ...{ ours: seen[provider], theirs: seen.free, goal: undefined, processor: meters[provider].micros() },
    limit: `A paid vote is four requests of some 40 statements, each in a transaction that survives a kill, and the sandbox shares the machine. ${meters[provider].describe()}`,
  }));
};
