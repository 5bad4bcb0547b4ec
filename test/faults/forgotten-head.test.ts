import { expect, test } from 'vitest';
import { sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { sealDeps } from '#src/work.ts';
import { votesFor } from '#test/harness/elections.ts';
import { loseCommitAfter } from '#test/harness/lose-commit.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });

// Otherwise the service would not detect the restore of an older database, and would sign a second head of this size.
test.each([false, true])(
  'a head is remembered outside of the database within a minute of its signature (answer to COMMIT lost: %s)',
  async (isLost) => {
    const event = await account.event();
    await sequenceLogs(sealDeps(service.deps));
    for (let ballots = 0; ballots < 5; ballots += 1) await account.votePoll(event, votesFor(event, ballots % 2));
    if (isLost) loseCommitAfter(/insert into "?log_checkpoints/i);
    const sealing = sequenceLogs(sealDeps(service.deps));
    await (isLost ? sealing.catch(() => undefined) : sealing);
    await sequenceServiceLog(service.deps);
    const [head] = await service.query('SELECT size::int FROM ballot_logs WHERE voting_event_id = $1', [event.id]);
    expect(head.size).toBe(6);
    expect((await service.deps.checkpoints.recall(event.id))?.size).toBe(6);
  },
);
