import { hkdfSync } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { demand } from '#test/harness/elections.ts';
import { createKeyedElection, type KeyedElection, keyFiles, setStatus } from '#test/harness/keyed-elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { ask, startRealProcesses } from '#test/harness/real-processes.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const PIECE_BYTES = 16 * 1024 * 1024;
const KEY_BYTES = 32;
const PURPOSES = ['encryption', 'ballot-tag', 'row-tag', 'confirmation-code', 'fingerprint'];

const real = await use(startRealProcesses());

const derive = (key: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `voting-service/${purpose}`, KEY_BYTES));

/** What the key of an election looks like in memory: itself, as text, derived for a purpose, and prepared for a keyed hash. */
function formsOf(key: Buffer): Map<string, Buffer> {
  const derived = PURPOSES.map((purpose) => [purpose, derive(key, purpose)] as const);
  const prepared = derived.flatMap(([purpose, own]) =>
    [0x36, 0x5c].map((pad) => [`${purpose} xor ${pad}`, own.map((byte) => byte ^ pad)] as const),
  );
  return new Map(
    [['key', key], ['base64', Buffer.from(key.toString('base64'))], ...derived, ...prepared].map(([name, bytes]) => [
      String(name),
      Buffer.from(bytes),
    ]),
  );
}

/** Which of some bytes stand anywhere in the memory of a process. */
function findInMemory(pid: number, wanted: ReadonlyMap<string, Buffer>): string[] {
  const found = new Set<string>();
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const piece = Buffer.alloc(PIECE_BYTES + KEY_BYTES * 2);
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      for (let at = BigInt(`0x${from}`); at < BigInt(`0x${to}`); at += BigInt(PIECE_BYTES)) {
        const left = Number(BigInt(`0x${to}`) - at);
        const read = readMapped(memory, piece, Math.min(left, piece.length), at);
        for (const [name, bytes] of wanted) if (piece.subarray(0, read).includes(bytes)) found.add(name);
      }
    }
  } finally {
    closeSync(memory);
  }
  return [...found].sort();
}

/** Bytes that could be read: a mapping may have gone since it was listed. */
function readMapped(memory: number, into: Buffer, length: number, at: bigint): number {
  try {
    return readSync(memory, into, 0, length, at);
  } catch (fault) {
    if (fault instanceof Error && ['EIO', 'EFAULT', 'ENOMEM'].includes(String(Reflect.get(fault, 'code')))) return 0;
    throw fault;
  }
}

/** Casts and confirms as the SDK does, with an Idempotency-Key each. */
async function vote(port: number, { id, account, positions, voters }: KeyedElection): Promise<void> {
  const [position] = positions;
  for (const [index, { email, voterKey }] of voters.entries()) {
    const post = async (target: string, body: object) => {
      const headers = { 'Idempotency-Key': `${target}:${index}` };
      const answer = await ask(port, 'POST', `/public/voting-events/${id}/ballot/${target}`, {
        key: account.vote,
        body,
        headers,
      });
      return (await answer.json()) as { data: { confirmationCode: string } };
    };
    const votes = [{ positionId: position?.id, candidateId: position?.candidates[index % 2] }];
    const { confirmationCode } = (await post('cast', { email, voterKey, votes })).data;
    expect((await post('confirm', { confirmationCode })).data).toMatchObject({ confirmationCode });
  }
}

/** So many candidates that results are counted in a thread. */
async function addCandidates({ id, positions }: KeyedElection): Promise<void> {
  await real.inside.query(
    `INSERT INTO candidates (voting_event_id, id, number, name, position_ids, status, source, sort_order, created_at, updated_at)
     SELECT $1, 'cnd_x_' || n, 100 + n, 'Candidate number ' || n, ARRAY[$2], 'approved', 'organizer', n, now_ms(), now_ms()
     FROM generate_series(1, 520) AS n`,
    [id, positions[0]?.id],
  );
  await real.inside.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [id]);
}

test('a key that was destroyed stands nowhere in the memory of the process that used it, nor of its threads', {
  timeout: 300_000,
}, async () => {
  const { inside, account } = real;
  const folder = inside.deps.config.ballotKeysDir ?? '';
  const service = await real.start({ WORKER: 'on' });
  const election = await createKeyedElection(inside, account, [1, 1, 1, 1, 1, 1], false);
  await addCandidates(election);
  // The process that is looked at makes the key, too.
  const opened = await ask(service.port, 'PATCH', `/voting-events/${election.id}`, {
    key: account.write,
    body: { status: 'open' },
  });
  expect(opened.status).toBe(200);
  const forms = formsOf(readFileSync(path.join(folder, keyFiles(folder, election.id)[0] ?? '')));
  const pid = Number(service.child.pid);
  await vote(service.port, election);
  expect(findInMemory(pid, forms)).not.toEqual([]);
  const results = await ask(service.port, 'GET', `/voting-events/${election.id}/results`, { key: account.read });
  expect(results.status).toBe(200);
  demand(await setStatus(inside, election, 'closed'), 200);
  await moveEnd(inside.deps, election.id, CLOSED);
  // Two jobs of each minute come before it: one closes the log, one destroys the key.
  await untilTrue(() => keyFiles(folder, election.id).length === 0, 150_000);
  await untilTrue(() => findInMemory(pid, forms).length === 0);
});
