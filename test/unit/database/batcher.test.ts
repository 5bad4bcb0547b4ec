import { expect, test } from 'vitest';
import { Batcher } from '#src/database/batcher.ts';

/** A batcher whose statements end when the test says so. */
function createBatcher(note: (happened: string) => void) {
  const ends: (() => void)[] = [];
  const run = async (rows: readonly string[]): Promise<string[]> => {
    note(`began ${rows.join(' ')}`);
    await new Promise<void>((resolve) => ends.push(resolve));
    return rows.map((row) => `${row} stored`);
  };
  const batcher = new Batcher<string, string>({
    runTogether: run,
    runAlone: async (row) => (await run([row]))[0] ?? '',
    ...{ laneOf: () => '', places: 1, concernsAll: () => false },
    keyOf: (row) => row,
    ...{ maxRows: 8, maxWaiting: 8, refusal: () => new Error('too many wait') },
  });
  return { batcher, endStatement: () => ends.shift()?.() };
}

test('the next statement is on its way before the answers of the one before are made', async () => {
  const happened: string[] = [];
  const note = (text: string) => happened.push(text);
  const { batcher, endStatement } = createBatcher(note);
  const answers = ['a', 'b', 'c', 'd'].map((row) => batcher.submit(row).then(note));
  endStatement();
  await answers[0];
  expect(happened).toEqual(['began a', 'began b c d', 'a stored']);
  const later = batcher.submit('e').then(note);
  endStatement();
  await Promise.all(answers);
  expect(happened.slice(3)).toEqual(['began e', 'b stored', 'c stored', 'd stored']);
  endStatement();
  await later;
  await batcher.drain();
  expect(happened.at(-1)).toBe('e stored');
});

test('an answer waits for no statement after it', async () => {
  const { batcher, endStatement } = createBatcher(() => undefined);
  const [first, second] = [batcher.submit('a'), batcher.submit('b')];
  endStatement();
  expect(await first).toBe('a stored');
  endStatement();
  expect(await second).toBe('b stored');
});
