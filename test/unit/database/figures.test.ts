import { expect, test } from 'vitest';
import { SEALED_WITHIN_MS } from '#src/ballots/confirm-ballot.ts';
import { REFUND_TRIES, refundJobKey } from '#src/payments/refund-payment.ts';
import { FREE_TRIES } from '#src/voters/public-routes.ts';
import { CONFIRM_GRACE_MS } from '#src/voting-events/lifecycle.ts';
import { DISCLOSED_TOGETHER } from '#src/voting-events/voting-event.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { readSources } from '#test/harness/read-sources.ts';
import { useDatabase } from '#test/harness/use.ts';

const database = await useDatabase();

test('figures of the rules are the same in the database and in the program', async () => {
  const { rows } = await withClient(database.url, (client) =>
    client.query(
      `SELECT confirm_grace_ms()::int AS grace, free_wrong_keys() AS tries, disclosed_together() AS together,
        sealed_within_ms()::int AS sealed, refund_tries() AS refunds, refund_job_key('pay_a', 'b:c') AS key`,
    ),
  );
  expect(rows).toEqual([
    {
      grace: CONFIRM_GRACE_MS,
      tries: FREE_TRIES,
      together: DISCLOSED_TOGETHER,
      sealed: SEALED_WITHIN_MS,
      refunds: REFUND_TRIES,
      key: refundJobKey({ attemptId: 'pay_a', providerPaymentId: 'b:c' }),
    },
  ]);
});

test('15 minutes and 24 hours stand in no statement', () => {
  const bare = readSources('src', /\.(sql|ts)$/)
    .filter(
      ({ name, text }) => !name.endsWith('functions/figures.sql') && /\b(15|24 \* 60) \* 60 \* 1_?000\b/.test(text),
    )
    .map(({ name }) => name);
  expect(bare).toEqual([]);
});
