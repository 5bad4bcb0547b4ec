import { describe, expect, test } from 'vitest';
import { createTestEvent } from '#test/harness/elections.ts';
import { ask } from '#test/harness/real-processes.ts';
import { expectReplaced, IS_AT, MIGRATES, NEXT, startReleases } from '#test/harness/releases.ts';
import { voteAllTheTime } from '#test/harness/repeating-voters.ts';
import { freePort } from '#test/harness/started-service.ts';
import { startTestService, untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const releases = await use(startReleases());

const plan = { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cai', 'Dee', 'Eva', 'Fay'] };

describe('a release with a higher schema number', () => {
  test('replaces the one before while votes go on: each acknowledged vote counts once, each repeated request is answered', async () => {
    const on = await releases.database();
    const inside = await startTestService({
      ...{ databaseUrl: on.url, secretKey: on.settings['SECRET_KEY'] ?? '', worker: false },
    });
    const account = await inside.account();
    const event = await createTestEvent(inside, account, {}, [plan]);
    await inside.stop();
    const port = await freePort();
    const [stopped, ended] = [await on.start(undefined, { WORKER: 'off' }), await on.start()];
    const votes = voteAllTheTime([stopped.port, ended.port, port], account.vote, event);
    await untilTrue(async () => votes.count() > 200);
    stopped.child.kill('SIGSTOP');
    const sessions = await on.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'voting-service%'");
    const replacing = await on.start(releases.next, { PORT: String(port) });
    await expectReplaced(ended, MIGRATES);
    for (const session of await on.query('SELECT pid FROM pg_stat_activity'))
      expect(sessions).not.toContainEqual(session);
    stopped.child.kill('SIGCONT');
    await expectReplaced(stopped, IS_AT);
    const meanwhile = votes.count();
    await untilTrue(async () => votes.count() > meanwhile + 50);
    const { confirmed, mostTries } = await votes.stop();
    expect(replacing.output()).toMatch(/\d+ database sessions did not end by themselves, and are ended/);
    expect(replacing.output()).toMatch(new RegExp(`Migrated to schema number ${NEXT}; votes paused for [0-9.]+ s`));
    // The pause, in tries of 0.2 s and more.
    expect(mostTries).toBeLessThan(180);

    const call = async (method: string, target: string, key: string, body?: unknown) => {
      const answer = await ask(port, method, target, { key, body });
      expect(answer.status, target).toBe(200);
      return ((await answer.json()) as { data: { positions: { candidates: { id: string; votesWon: number }[] }[] } })
        .data;
    };
    await call('PATCH', `/voting-events/${event.id}`, account.write, { status: 'closed' });
    const { positions } = await call('GET', `/voting-events/${event.id}/results`, account.read);
    const counted = (positions[0]?.candidates ?? []).map(({ id, votesWon }) => [id, votesWon] as const);
    expect(new Map(counted)).toEqual(confirmed);
    expect(await replacing.stop()).toBe(0);
  });
});
