import type { PaidEvent } from '#test/harness/payments.ts';

/** A payment at its provider. */
export interface There {
  readonly amountMinor: number;
  /** What refunds and lost disputes took of it; a payer's own fees left out. */
  readonly backMinor: number;
}

type Raw = Readonly<Record<string, unknown>>;

/** Every row of a list, as the provider gives it: no adapter of the service reads the other side of the books. */
async function readRaw(sandboxUrl: string, { secretKey }: Pick<PaidEvent, 'secretKey'>, path: string): Promise<Raw[]> {
  const rows: Raw[] = [];
  for (let page = 1; ; page += 1) {
    const after = rows.at(-1)?.['id'];
    const from = path.startsWith('/v1/')
      ? after === undefined
        ? ''
        : `&starting_after=${String(after)}`
      : `&page=${page}`;
    const url = `${sandboxUrl}${path}?${path.startsWith('/v1/') ? 'limit' : 'perPage'}=100${from}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${secretKey}` } });
    const { data } = (await answer.json()) as { data: Raw[] };
    rows.push(...data);
    // A page may hold fewer than were asked for: the last one is empty.
    if (data.length === 0) return rows;
  }
}

const inside = (row: Raw, name: string): Raw => (row[name] ?? {}) as Raw;

/** Where the money of each payment is, by the provider's raw objects. */
export async function readProvider(
  sandboxUrl: string,
  event: Pick<PaidEvent, 'provider' | 'secretKey'>,
): Promise<Map<string, There>> {
  const payments = new Map<string, There>();
  const back = new Map<string, number>();
  const takeBack = (id: unknown, amount: unknown) => back.set(String(id), (back.get(String(id)) ?? 0) + Number(amount));
  const keep = (attempt: unknown, id: unknown, amountMinor: number) =>
    payments.set(String(attempt ?? ''), { amountMinor, backMinor: Math.min(amountMinor, back.get(String(id)) ?? 0) });
  if (event.provider === 'provider_a') {
    for (const one of await readRaw(sandboxUrl, event, '/v1/refunds'))
      if (one['status'] === 'succeeded') takeBack(one['payment_intent'], one['amount']);
    for (const one of await readRaw(sandboxUrl, event, '/v1/disputes'))
      if (one['status'] === 'lost') takeBack(one['payment_intent'], one['amount']);
    for (const one of await readRaw(sandboxUrl, event, '/v1/charges'))
      if (one['status'] === 'succeeded')
        keep(inside(one, 'metadata')['paymentAttemptId'], one['payment_intent'], Number(one['amount']));
    return payments;
  }
  const paymentOf = (one: Raw): unknown =>
    typeof one['transaction'] === 'object' ? inside(one, 'transaction')['id'] : one['transaction'];
  for (const one of await readRaw(sandboxUrl, event, '/refund'))
    if (one['status'] === 'processed') takeBack(paymentOf(one), one['amount']);
  for (const one of await readRaw(sandboxUrl, event, '/dispute'))
    if (one['status'] === 'resolved' && one['resolution'] !== 'declined')
      takeBack(paymentOf(one), one['refund_amount']);
  for (const one of await readRaw(sandboxUrl, event, '/transaction')) {
    if (one['status'] !== 'success' && one['status'] !== 'reversed') continue;
    const attempt = `pay_${/^pay-(\w+)\.\d+$/.exec(String(one['reference']))?.[1]}`;
    // Fees that the payer bore come on top of the price.
    const surplus = Number(one['amount']) - Number(one['requested_amount'] ?? one['amount']);
    const isFee = surplus > 0 && surplus <= Number(one['fees'] ?? 0);
    keep(attempt, one['id'], Number(one['amount']) - (isFee ? surplus : 0));
  }
  return payments;
}
