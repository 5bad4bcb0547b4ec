import { expect, onTestFinished, test } from 'vitest';
import { sealDeps } from '#src/work.ts';
import { PLURALITY, tendLog, votesFor } from '#test/harness/elections.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();

test('keys outlive a sequencer that was at a closed round of the rehearsal when the election opened', async () => {
  const startsAt = Date.now() + 86_400_000;
  const event = await account.event({ type: 'election', startsAt }, PLURALITY, false);
  const of = account.of(event);
  const email = 'vera@kept.example';
  await of.make('/voters', { name: 'Vera', email });
  const voterKey = await mailedVoterKey(service, () => account.page(event, 'voter-key/request', { email }));
  await of.change('', { status: 'rehearsal' });
  await of.change('', { status: 'closed' });
  await tendLog(sealDeps(service.deps), event.id, 1);

  const deps = sealDeps(service.deps);
  // What follows the last step of the round waits until the election is open, and has its first leaf from another process.
  const acknowledged = Object.create(deps.acknowledged) as typeof deps.acknowledged;
  let held: ReturnType<typeof holdStatement> | undefined;
  const reached = Promise.withResolvers<void>();
  acknowledged.forget = (...sent) => {
    deps.acknowledged.forget(...sent);
    held ??= holdStatement(/from "voting_events"(?!.* for )/is);
    held.reached.then(reached.resolve);
    onTestFinished(held.restore);
  };
  // The service's own job may be at the log first.
  const running = tendLog({ ...deps, acknowledged }, event.id, 1);
  await reached.promise;
  await of.change('', { status: 'open' });
  await tendLog(deps, event.id, 1);
  held?.free();
  await running;
  const left = await service.query('SELECT 1 FROM voter_keys WHERE voting_event_id = $1', [event.id]);
  const cast = await account.page(event, 'ballot/cast', { voterKey, email, votes: votesFor(event) });
  expect([left.length, cast.status]).toEqual([1, 201]);
});
