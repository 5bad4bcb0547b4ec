import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '#src/config.ts';
import { createLog, onAlarm } from '#src/platform/log.ts';
import { readFigures } from '#src/read-figures.ts';
import { askWitnesses } from '#src/service-log/ask-witnesses.ts';
import { openCosignature, parseWitnessKey } from '#src/service-log/cosignature.ts';
import { sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { sealDeps } from '#src/work.ts';
import { createTestEvent, sealBallots, type TestEvent, tendLog, votesFor } from '#test/harness/elections.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { ServiceLogReader } from '#test/harness/service-log.ts';
import { startTestService, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';
import { type Manner, startWitness } from '#test/harness/witness.ts';

const LIMIT_MS = 1_500;

const alarms: string[] = [];

const logKey = (): string => service.deps.serviceLog.signer.verifierKey;
const good = await use(startWitness('good.example', logKey));
const odd = await use(startWitness('odd.example', logKey));
const lines = createLog('error', { write: () => undefined });
onAlarm(lines, (name) => alarms.push(name));
const { service, account } = await useAccount({
  worker: false,
  witnesses: `${good.setting}, ${odd.setting}`,
  log: lines,
});
const log = new ServiceLogReader(service);
beforeEach(() => {
  odd.manner = 'honest';
});

/** A head of the service's own log that nobody has signed yet. */
async function newHead(): Promise<void> {
  const event = await account.event();
  await sealBallots(service, event.id, 1);
  await sequenceServiceLog(service.deps);
}

const ask = (): Promise<void> => askWitnesses(service.deps, LIMIT_MS);
/** Whose cosignatures stand in the note that is served, each verified. */
async function signers(): Promise<string[]> {
  const note = await log.note();
  const gap = note.lastIndexOf('\n\n');
  const [body, lines] = [note.slice(0, gap + 1), note.slice(gap + 2)];
  const names = lines.split('\n').flatMap((line) => /^— (\S+\.example) /.exec(line)?.[1] ?? []);
  for (const { verifierKey } of [good, odd]) {
    const key = parseWitnessKey(verifierKey);
    if (names.includes(key.name)) openCosignature(lines, body, key);
  }
  return names;
}

const lags = async () => (await readFigures(service.deps.db, [], service.deps.config.witnesses)).witnessLagSeconds;

describe('the witnesses of the service’s own log', () => {
  test('cosign its first head, and each later one with the proof from what they signed last', async () => {
    await newHead();
    expect(await signers()).toEqual([]);
    await ask();
    expect(await signers()).toEqual(['good.example', 'odd.example']);
    const first = good.last?.size ?? 0;
    const asked = good.asked;
    await newHead();
    await newHead();
    await ask();
    await ask();
    expect(await signers()).toEqual(['good.example', 'odd.example']);
    expect(good.last?.size).toBeGreaterThan(first);
    // With the right proof at once, and not again for a head that is signed.
    expect(good.asked).toBe(asked + 1);
  });

  test('say themselves what they signed last, where the service does not know', async () => {
    await newHead();
    await ask();
    await service.query('DELETE FROM service_cosignatures');
    await newHead();
    const asked = good.asked;
    await ask();
    expect([await signers(), good.asked]).toEqual([['good.example', 'odd.example'], asked + 2]);
    // The same head again, as after a crash between the answer and the commit.
    await service.query('DELETE FROM service_cosignatures');
    await ask();
    expect(await signers()).toEqual(['good.example', 'odd.example']);
    odd.last = undefined;
    await newHead();
    await ask();
    expect(await signers()).toEqual(['good.example', 'odd.example']);
  });

  const LIES: readonly Manner[] = [
    ...(['false signature', 'another key', 'another head', 'no line', 'endless answer', 'nonsense size'] as const),
    ...(['same size', 'ever another size', 'broken'] as const),
  ];
  test.each(LIES)('that answer with %s add nothing, and take nothing from the others', async (manner) => {
    odd.manner = manner;
    await newHead();
    await newHead();
    await ask();
    expect(await signers()).toEqual(['good.example']);
    odd.manner = 'honest';
    await ask();
    expect(await signers()).toEqual(['good.example', 'odd.example']);
  });

  test('that hang delay no vote, no seal, no head and no other witness, and are asked again', async () => {
    odd.manner = 'hanging';
    await newHead();
    const asking = ask();
    await untilTrue(async () => (await signers()).includes('good.example'));
    const event = await account.event();
    await account.votePoll(event, votesFor(event));
    await sealBallots(service, event.id, 1);
    const { size } = await log.head();
    await sequenceServiceLog(service.deps);
    expect((await log.head()).size).toBeGreaterThan(size);
    await asking;
    odd.manner = 'honest';
    await ask();
    expect(await signers()).toEqual(['good.example', 'odd.example']);
  });

  test('that are away are seen in the figures, and catch up when they are back', async () => {
    await newHead();
    await ask();
    expect(await lags()).toEqual(
      new Map([
        ['good.example', 0],
        ['odd.example', 0],
      ]),
    );
    await odd.goAway();
    await newHead();
    await service.query(
      'UPDATE service_checkpoints SET created_at = created_at - 7200000 WHERE size = (SELECT max(size) FROM service_checkpoints)',
    );
    await newHead();
    await ask();
    const behind = await lags();
    expect(behind.get('good.example')).toBe(0);
    expect(behind.get('odd.example')).toBeGreaterThan(7_000);
    await odd.comeBack();
    await ask();
    expect([(await lags()).get('odd.example'), await signers()]).toEqual([0, ['good.example', 'odd.example']]);
  });

  test('that have signed a longer log raise an alarm', async () => {
    odd.manner = 'longer log';
    alarms.length = 0;
    await newHead();
    await ask();
    const ofWitnesses = alarms.filter((alarm) => alarm.startsWith('witness'));
    expect([ofWitnesses, await signers()]).toEqual([['witness_ahead'], ['good.example']]);
  });

  test('are asked by a job with each new head', async () => {
    const worker = await startTestService({ witnesses: good.setting });
    try {
      const owner = await worker.account();
      // To this witness it is an unknown log: it is asked all the same.
      const asked = good.asked;
      const event = await createTestEvent(worker, owner);
      await sealBallots(worker, event.id, 1);
      await sequenceServiceLog(worker.deps);
      await untilTrue(() => good.asked > asked);
    } finally {
      await worker.stop();
    }
  });
});

describe('the close of an event, where witnesses are set', () => {
  const kinds = async (eventId: string): Promise<string[]> => {
    const rows = await service.query<{ data: Buffer }>(
      'SELECT data FROM log_leaves WHERE voting_event_id = $1 ORDER BY leaf_index',
      [eventId],
    );
    return rows.map(({ data }) => JSON.parse(data.toString('utf8')).t);
  };
  const closedLongAgo = async (eventId: string, minutes: number): Promise<void> => {
    await moveEnd(service.deps, eventId, `closed_at = now_ms() - ${minutes} * 60000`);
    await tendLog(sealDeps(service.deps), eventId, 1);
  };
  async function votedEvent(): Promise<TestEvent> {
    const event = await account.event({}, [
      { votingMethod: 'plurality', candidates: ['Ada', 'Bea'], settings: { tieBreak: 'lot' } },
    ]);
    const [position] = event.positions;
    for (const candidateId of position?.candidates ?? [])
      await account.votePoll(event, [{ positionId: position?.id, candidateId }]);
    return event;
  }

  test('waits for none of them, and has no leaf of theirs: lots are drawn from the seed and the root of the ballots', async () => {
    for (const away of [false, true]) {
      const event = await votedEvent();
      if (away) await Promise.all([good.goAway(), odd.goAway()]);
      try {
        await closedLongAgo(event.id, 16);
        expect(await kinds(event.id)).toEqual(['open', 'ballot', 'ballot', 'close']);
      } finally {
        if (away) await Promise.all([good.comeBack(), odd.comeBack()]);
      }
      const results = await account.get(`/voting-events/${event.id}/results`);
      expect(results.body.data).toMatchObject({ final: true, lot: { seed: expect.any(String) } });
    }
  });
});

describe('the setting WITNESSES', () => {
  const read = (value: string) => readConfig({ WITNESSES: value });

  test('names addresses and keys, several with commas', () => {
    const { witnesses } = read(`${good.setting},\n ${odd.setting}`);
    expect(witnesses.map(({ url, key }) => [url.startsWith('http://127.0.0.1:'), key.name])).toEqual([
      [true, 'good.example'],
      [true, 'odd.example'],
    ]);
    expect(read('').witnesses).toEqual([]);
  });

  test('stops the start with one line that names it and repeats nothing of it', () => {
    const [url = '', key = ''] = good.setting.split(' ');
    const [name = '', id = '', encoded = ''] = key.split('+');
    const plainKey = service.deps.serviceLog.signer.verifierKey;
    const wrong = [
      ...[key, url, `${url} ${key} more`, `ftp://witness.example ${key}`, `${url}?a=b ${key}`, `nowhere ${key}`],
      ...[`https://user:secret@witness.example ${key}`, `${url} ${name}+00000000+${encoded}`, `${url} ${name}+${id}`],
      ...[`${url} ${plainKey}`, `${good.setting}, ${good.setting}`, `${good.setting},`, ','],
      Array.from({ length: 17 }, () => good.setting).join(),
    ];
    for (const value of wrong) {
      let message = 'it was taken';
      try {
        read(value);
      } catch (fault) {
        if (fault instanceof ConfigError) message = fault.message;
      }
      expect([value, message]).toEqual([value, expect.stringMatching(/^WITNESSES must list witnesses as [^\n]*$/)]);
      expect(message).not.toContain('secret');
    }
  });
});
