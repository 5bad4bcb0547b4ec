import { describe, expect, test } from 'vitest';
import { logOrigin, openCheckpoint, signCheckpoint, signHead } from '#src/ballot-log/checkpoint.ts';
import { askWitnesses } from '#src/service-log/ask-witnesses.ts';
import { sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { finishEvent, sealBallots, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { runVerifier } from '#test/harness/started-service.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';
import { startWitness } from '#test/harness/witness.ts';
import { readWitnessKey } from '../../verifier/note.ts';
import { type Read, readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

const logKey = (): string => service.deps.serviceLog.signer.verifierKey;
const one = await use(startWitness('one.example', logKey));
const two = await use(startWitness('two.example', logKey));
const { service, account } = await useAccount({ worker: false, witnesses: `${one.setting},${two.setting}` });

const vote = (event: TestEvent) => account.votePoll(event, votesFor(event));

async function finishedPoll(): Promise<TestEvent> {
  const settings = { ballot: { opening: 'public' }, results: { visibility: 'live' } };
  const event = await account.event(settings);
  await vote(event);
  await finishEvent(service, event.id);
  return event;
}

async function record(): Promise<void> {
  await sequenceServiceLog(service.deps);
  await askWitnesses(service.deps, 1_500);
}

const verify = (event: TestEvent, ...more: string[]) => runVerifier(service.port, event.id, account.vote, more);
const both = (): string[] => ['--witness', one.verifierKey, '--witness', two.verifierKey];

interface Checked {
  readonly name: string;
  readonly status: string;
  readonly detail: string;
}
const unverified = (report: { checks: readonly Checked[] }): string[] =>
  report.checks
    .filter(({ status }) => status !== 'verified' && status !== 'not_asked')
    .map(({ name, status }) => `${name} ${status}`);

type Answer = Record<string, unknown> & {
  checkpoint: string;
  serviceCheckpoint: string;
  hashes: string[];
  index: number;
};

/** The verifier, through somebody who changes what the service says of its own log. */
async function through(event: TestEvent, change: (answer: Answer) => Partial<Answer>, quorum = 2) {
  const honest = readOverHttp(service.url, account.vote);
  const read: Read = async (address, most) => {
    const reply = await honest(address, most);
    if (!address.endsWith('/log/inclusion')) return reply;
    const { data } = JSON.parse(reply.bytes.toString());
    return { ...reply, bytes: Buffer.from(JSON.stringify({ data: { ...data, ...change(data) } })) };
  };
  const keys = [one, two].map(({ verifierKey }) => readWitnessKey(verifierKey));
  return verifyLog({ read, event: event.id, witnesses: { keys, quorum } });
}

describe('the verifier that is given witnesses', () => {
  test('finds the head in the service’s own log, under a head that they have cosigned', async () => {
    const event = await finishedPoll();
    await record();
    // Later heads of other events change nothing.
    await finishedPoll();
    await record();
    const checked = await verify(event, ...both());
    expect(checked).toMatchObject({ code: 0, report: { verified: 'yes' } });
    const names = checked.report.checks.map(({ name }: Checked) => name);
    expect(names).toEqual(expect.arrayContaining(['service head', 'service log', 'witnesses', 'recount']));
    const witnesses = checked.report.checks.find(({ name }: Checked) => name === 'witnesses');
    expect(witnesses.detail).toMatch(/^cosigned by one\.example at 20\S+Z, two\.example at 20\S+Z$/);
    const again = await runVerifier(service.port, event.id, account.vote, [...both(), '--quorum', '1'], 'src/cli.ts');
    expect(again).toMatchObject({ code: 0, report: { verified: 'yes' } });
  });

  test('says with ○ what is not there yet: the leaf, the newest head, cosignatures', async () => {
    const event = await account.event({ log: { open: true } });
    await sealBallots(service, event.id, 1);
    const early = await verify(event, ...both());
    expect(early.code).toBe(3);
    expect(unverified(early.report)).toContain('service log left_out');
    two.manner = 'broken';
    await record();
    const half = await verify(event, ...both());
    expect([half.code, unverified(half.report)]).toEqual([3, expect.arrayContaining(['witnesses left_out'])]);
    const lacking = half.report.checks.find(({ name }: Checked) => name === 'witnesses');
    expect(lacking.detail).toBe('1 of 2 cosignatures: not yet of two.example');
    const enough = await verify(event, ...both(), '--quorum', '1');
    expect(unverified(enough.report)).not.toContain('witnesses left_out');
    two.manner = 'honest';
    await record();
    await vote(event);
    await sealBallots(service, event.id, 1);
    const behind = await verify(event, ...both());
    expect(unverified(behind.report)).toContain('newest head left_out');
    await record();
    const caughtUp = await verify(event, ...both());
    expect(unverified(caughtUp.report).filter((words) => /head|service|witness/.test(words))).toEqual([]);
  });

  test('looks at no witness unless one is given', async () => {
    const event = await finishedPoll();
    await record();
    const { code, report } = await verify(event);
    const ofWitnesses = report.checks.filter(({ name }: Checked) => /service|witness|head|\blot$/.test(name));
    expect([code, ofWitnesses]).toMatchObject([0, [{ name: 'witnesses', status: 'not_asked' }]]);
  });

  test('takes nothing for right that is not: 1', async () => {
    const event = await finishedPoll();
    await finishedPoll();
    await record();
    expect((await through(event, () => ({}))).verified).toBe('yes');
    const head = (answer: Answer) => openCheckpoint(answer.checkpoint, service.deps.logKey);
    const { serviceLog, logKey } = service.deps;
    const other = Buffer.alloc(32, 7);
    const flip = (hash: string): string =>
      Buffer.from(Buffer.from(hash, 'base64').map((byte) => byte ^ 1)).toString('base64');
    // Without the first of its signatures.
    const lines = (note: string): string => note.slice(note.indexOf('\n', note.lastIndexOf('\n\n') + 2) + 1);
    const forged = (answer: Answer, change: Partial<ReturnType<typeof head>>) => ({
      checkpoint: signCheckpoint({ ...head(answer), ...change }, logKey),
    });
    const said = ({ serviceCheckpoint }: Answer, words: RegExp | string, others: string) => ({
      serviceCheckpoint: serviceCheckpoint.replace(words, others),
    });
    const lies: Readonly<Record<string, (answer: Answer) => Partial<Answer>>> = {
      'a second history': (answer) => forged(answer, { rootHash: other }),
      'the head of another event': (answer) => forged(answer, { origin: logOrigin(logKey.name, 'evt_other') }),
      'a longer head': (answer) => forged(answer, { size: head(answer).size + 1 }),
      'another place': ({ index }) => ({ index: index + 1 }),
      'no place': () => ({ index: -1 }),
      'another proof': ({ hashes }) => ({ hashes: hashes.map(flip) }),
      'a shorter proof': ({ hashes }) => ({ hashes: hashes.slice(1) }),
      'a longer proof': ({ hashes }) => ({ hashes: [...hashes, other.toString('base64')] }),
      'an endless proof': () => ({ hashes: Array(64).fill(other.toString('base64')) }),
      'a head of another log': ({ checkpoint }) => ({ serviceCheckpoint: checkpoint }),
      'a head that was signed by nobody': (answer) => said(answer, /\n\n— \S+ \S+\n/, '\n\n'),
      'cosignatures of another head': ({ serviceCheckpoint }) => ({
        serviceCheckpoint: `${signHead({ origin: serviceLog.signer.name, size: 99, rootHash: other }, serviceLog.signer)}${lines(serviceCheckpoint)}`,
      }),
      'a false cosignature': (answer) => {
        const [, begin = '', last] = /(— one\.example \S{20})(\S)/.exec(answer.serviceCheckpoint) ?? [];
        return said(answer, `${begin}${last}`, `${begin}${last === 'A' ? 'B' : 'A'}`);
      },
    };
    for (const [name, lie] of Object.entries(lies))
      expect([name, (await through(event, lie, 1)).verified]).toEqual([name, 'no']);
    const bare = (answer: Answer) => said(answer, /— one\.example \S+\n/, '');
    expect((await through(event, bare, 1)).verified).toBe('yes');
    expect((await through(event, bare, 2)).verified).toBe('partial');
    // No field of the answer is there.
    const nothing = (answer: Answer) => Object.fromEntries(Object.keys(answer).map((name) => [name, undefined]));
    expect((await through(event, nothing)).verified).toBe('partial');
  });

  test('finds a second history of the event, though each head of it has a proof and every cosignature', async () => {
    const settings = { ballot: { opening: 'public' }, results: { visibility: 'live' } };
    const event = await account.event(settings);
    await sealBallots(service, event.id, 1);
    await record();
    for (let ballots = 0; ballots < 3; ballots += 1) await vote(event);
    await finishEvent(service, event.id);
    await record();
    const before = await verify(event, ...both());
    expect(before).toMatchObject({ code: 0, report: { verified: 'yes' } });
    expect(before.report.checks.map(({ name }: Checked) => name)).toContain('one history');
    // As the operator signs for somebody else: two leaves, where this log never had a head.
    const signed = 'SELECT size FROM log_checkpoints WHERE voting_event_id = $1';
    const rows = await service.query<{ size: string }>(signed, [event.id]);
    const size = [2, 3].find((free) => !rows.some((row) => Number(row.size) === free));
    const origin = logOrigin(service.deps.logKey.name, event.id);
    const second = { origin, size: size ?? 0, rootHash: Buffer.alloc(32, 5), confirmed: 0 };
    const note = signCheckpoint(second, service.deps.logKey);
    await service.query('INSERT INTO log_checkpoints VALUES ($1, $2, $3, $4, 1)', [
      ...[event.id, size, Buffer.alloc(32, 5), note],
    ]);
    await service.query('INSERT INTO checkpoint_queue VALUES ($1, $2)', [event.id, size]);
    await record();
    const after = await verify(event, ...both());
    expect([after.code, unverified(after.report)]).toEqual([1, ['one history failed']]);
  });

  test('is used wrongly with a key that is none, twice the same, or a quorum that cannot be: 2', async () => {
    const event = await finishedPoll();
    const logKey = service.deps.serviceLog.signer.verifierKey;
    const key = one.verifierKey;
    const witnesses = [['nonsense'], [logKey], [key, '--witness', key]].map((words) => ['--witness', ...words]);
    const quorums = ['3', '0', 'all'].map((quorum) => [...both(), '--quorum', quorum]);
    for (const words of [...witnesses, ['--quorum', '1'], ...quorums])
      expect([words, (await verify(event, ...words)).code]).toEqual([words, 2]);
  });
});
