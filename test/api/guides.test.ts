import { afterAll, describe, expect, test } from 'vitest';
import { readPlans } from '#src/accounts/plans.ts';
import { MAILS_A_DAY } from '#src/accounts/take-mail.ts';
import { LEAST_WHILE_OPEN } from '#src/ballot-log/seal-ballots.ts';
import { sealDeps } from '#src/work.ts';
import { tendLog } from '#test/harness/elections.ts';
import { guideNames, readGuideCode, readGuideText, runGuide } from '#test/harness/guides.ts';
import { connectTestBusiness, usePaidService } from '#test/harness/payments.ts';

const { service } = await usePaidService();
// What the job of every minute does, with as many ballots as it asks for: a guide whose queue never fills up is stuck here too.
const sealing = setInterval(async () => {
  const { deps } = service;
  const { rows } = await deps.db.$client.query<{ id: string }>(
    'SELECT voting_event_id AS id FROM ballot_queue GROUP BY 1 HAVING count(*) >= $1',
    [LEAST_WHILE_OPEN],
  );
  for (const { id } of rows) await tendLog(sealDeps(deps), id, LEAST_WHILE_OPEN);
}, 500);
afterAll(() => clearInterval(sealing));

/** `…` in a printed answer stands for whatever comes there. */
function expected(printed: unknown): unknown {
  if (typeof printed === 'string' && printed.includes('…')) {
    const parts = printed.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return expect.stringMatching(new RegExp(`^${parts.join('.+')}$`, 's'));
  }
  if (Array.isArray(printed)) return printed.map((one) => expect.objectContaining(expected(one) as object));
  if (typeof printed !== 'object' || printed === null) return printed;
  return Object.fromEntries(Object.entries(printed).map(([key, value]) => [key, expected(value)]));
}

const lastLine = (output: string | undefined): string => output?.trim().split('\n').at(-1) ?? '';

describe('the guides', () => {
  test.each(guideNames().filter((name) => readGuideCode(name).blocks.length > 0))(
    'every line of %s runs as it is printed, and gets the answer that is printed below',
    async (name) => {
      const code = readGuideCode(name);
      const account = await service.account();
      await connectTestBusiness(service, account, 'provider_a');
      const outputs = await runGuide(code, service, account);
      expect(outputs).toHaveLength(code.blocks.length);
      for (const [index, { lines, answer }] of code.blocks.entries()) {
        const output = outputs[index] ?? '';
        if (answer === undefined) expect([lines, output]).not.toEqual([lines, expect.stringContaining('"error":')]);
        else expect(JSON.parse(lastLine(output)), lines).toMatchObject(expected(answer) as object);
      }
    },
    150_000,
  );

  test('the limits tell what the plans allow', () => {
    const plans = readPlans(undefined);
    const rows = Object.fromEntries(
      readGuideText('limits')
        .split('\n')
        .map((line) => line.split('|').map((cell) => cell.trim()))
        .map(([, name = '', ...cells]) => [name, cells.slice(0, 3)]),
    );
    const each = (value: (plan: (typeof plans)['free']) => number | boolean): string[] =>
      [plans.free, plans.pro, plans.enterprise].map((plan) => {
        const told = value(plan);
        return typeof told === 'number' ? told.toLocaleString('en') : told ? 'yes' : 'no';
      });
    expect(rows).toMatchObject({
      'voting events': each((plan) => plan.votingEvents),
      'voters of an event': each((plan) => plan.votersPerEvent),
      'webhook endpoints': each((plan) => plan.webhookEndpoints),
      'mails a day': Object.values(MAILS_A_DAY).map((mails) => mails.toLocaleString('en')),
      'requests a minute, organizer key': each((plan) => plan.organizerRequestsPerMinute),
      'requests a minute, vote key': each((plan) => plan.voteRequestsPerMinute),
      'paid features': each((plan) => plan.paidFeatures),
      'data export (votes, exports, openings)': each((plan) => plan.dataExport),
    });
  });
});
