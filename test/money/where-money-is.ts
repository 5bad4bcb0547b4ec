import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { demand, finishEvent } from '#test/harness/elections.ts';
import { patiently } from '#test/harness/test-service.ts';
import { countGiven, type Shop } from './buyers.ts';
import type { Merchant } from './merchant.ts';
import { readProvider } from './read-provider.ts';

/** As if four days had passed since the payments of an event. */
export async function age(merchant: Merchant, { id }: Shop): Promise<void> {
  const aged = `UPDATE payment_attempts SET paid_at = paid_at - 345600000::bigint, succeeded_at = succeeded_at - 345600000::bigint,
    expires_at = least(expires_at, 1), check_at = least(check_at, 1), asking_until = NULL WHERE voting_event_id = $1 AND status IN ('created', 'pending', 'succeeded')`;
  await merchant.query(aged, [id]);
}

/** Time passes, and jobs run: no payer and no organizer calls. */
export async function endAll(merchant: Merchant, events: readonly Shop[]): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    for (const event of events) await age(merchant, event);
    await dropAllExpiredBallots(merchant.paid.service.deps);
    const { rows } = await merchant.query('SELECT id FROM payment_attempts WHERE check_at IS NOT NULL');
    const open = rows.map(({ id }): string => id);
    for (let from = 0; from < open.length; from += 100) await merchant.look(open.slice(from, from + 100));
    await merchant.settleRefunds();
  }
}

/** Ends an event and every payment of it, and holds both sides of the books against each other. @returns what is not as it must be */
export async function findMisplacedMoney(merchant: Merchant, event: Shop): Promise<string[]> {
  const { service, sandbox } = merchant.paid;
  const { purpose } = event;
  if (purpose === 'vote') {
    // A ballot that was cast and never confirmed is dropped with its event.
    const closing = () => event.account.patch(`/voting-events/${event.id}`, { status: 'closed' });
    demand(await patiently(closing), 200);
    await finishEvent(service, event.id);
    await endAll(merchant, [event]);
  }
  const amiss: string[] = [];
  const there = await readProvider(sandbox.url, event);
  const { rows } = await merchant.query('SELECT * FROM payment_attempts WHERE voting_event_id = $1', [event.id]);
  const kept: string[] = [];
  for (const row of rows) {
    const money = there.get(row.id);
    const isKept = row.status === 'fulfilled' && row.refunded_at === null;
    if (isKept) kept.push(row.id);
    const said = `${purpose} through ${event.provider}, ${row.id}: ${row.status}, ${JSON.stringify(money)}`;
    if (!['fulfilled', 'cancelled', 'failed'].includes(row.status)) amiss.push(`has not ended: ${said}`);
    if (isKept && (money === undefined || money.backMinor !== 0)) amiss.push(`given, and not paid: ${said}`);
    if (!isKept && money !== undefined && money.backMinor !== money.amountMinor)
      amiss.push(`paid for nothing: ${said}`);
  }
  for (const id of there.keys())
    if (!rows.some((row) => row.id === id)) amiss.push(`a payment that the service does not know: ${id}`);
  const given = await countGiven(merchant.paid, event, kept);
  if (given !== kept.length) amiss.push(`${purpose} through ${event.provider}: ${kept.length} paid, ${given} given`);
  return amiss;
}
