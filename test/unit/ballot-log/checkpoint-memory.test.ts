import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openHead, signHead } from '#src/ballot-log/checkpoint.ts';
import { CheckpointMemory } from '#src/ballot-log/checkpoint-memory.ts';
import { createNoteSigner } from '#src/ballot-log/signed-note.ts';
import { useFolder } from '#test/harness/use.ts';

const folder = useFolder('voting-memory-');
const signer = createNoteSigner('vote.example.org', randomBytes(32));
const open = (text: string) => openHead(text, signer);
const note = (size: number) => signHead({ origin: 'vote.example.org/evt_x', size, rootHash: randomBytes(32) }, signer);

test('the memory of signed heads keeps the later one where two processes write in reverse order', async () => {
  const [one, other] = [new CheckpointMemory(folder, open), new CheckpointMemory(folder, open)];
  await other.remember('evt_x', note(12));
  // It signed 10 before, and was held up before it wrote that down.
  await one.remember('evt_x', note(10));
  expect((await new CheckpointMemory(folder, open).recall('evt_x'))?.size).toBe(12);
});

test('the memory of signed heads keeps the later one where two processes write at the same time, and no other in the end', async () => {
  const events = Array.from({ length: 20 }, (_, round) => `evt_${round}`);
  const [one, other] = [new CheckpointMemory(folder, open), new CheckpointMemory(folder, open)];
  const kept: (number | undefined)[] = [];
  for (const event of events) {
    await Promise.all([other.remember(event, note(12)), one.remember(event, note(10))]);
    kept.push((await new CheckpointMemory(folder, open).recall(event))?.size);
  }
  expect(kept).toEqual(events.map(() => 12));
  await one.remember('evt_0', note(14));
  expect(readdirSync(path.join(folder, 'checkpoints', 'evt_0'))).toEqual(['14.0.txt']);
});
