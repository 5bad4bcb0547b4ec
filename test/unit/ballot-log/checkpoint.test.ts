import { expect, test } from 'vitest';
import {
  checkpointBody,
  logOrigin,
  openCheckpoint,
  openHead,
  parseCheckpointBody,
  signCheckpoint,
  signHead,
} from '#src/ballot-log/checkpoint.ts';
import { signLogPromise } from '#src/ballot-log/promise-leaf.ts';
import { createNoteSigner, NoteRefused, parseVerifierKey, signNote } from '#src/ballot-log/signed-note.ts';
import { openLogPromise } from '#test/harness/read-log-proofs.ts';

const signer = createNoteSigner('vote.example.org', Buffer.alloc(32, 5));
const verifier = parseVerifierKey(signer.verifierKey);
const origin = logOrigin('vote.example.org', 'evt_1');
const rootHash = Buffer.alloc(32, 0xab);
const checkpoint = { origin, size: 20_852_163, rootHash, confirmed: 12 };

test('a checkpoint is the origin, the size, the root in base64 and the ballots confirmed so far, one a line', () => {
  expect(checkpointBody(checkpoint)).toBe(
    'vote.example.org/evt_1\n20852163\nq6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=\nconfirmed 12\n',
  );
});

test('a signed checkpoint gives back what was signed', () => {
  expect(openCheckpoint(signCheckpoint(checkpoint, signer), verifier)).toEqual(checkpoint);
});

test('a head of the service’s own log has three lines, and neither is taken for the other', () => {
  const head = { origin: 'vote.example.org/log', size: 7, rootHash };
  const note = signHead(head, signer);
  expect(openHead(note, verifier)).toEqual(head);
  expect(() => openCheckpoint(note, verifier)).toThrow(NoteRefused);
  expect(() => openHead(signCheckpoint(checkpoint, signer), verifier)).toThrow(NoteRefused);
});

test('a text that is no checkpoint is refused', () => {
  const root = rootHash.toString('base64');
  const wrong = [
    '',
    '\n',
    `${origin}\n1\n`,
    `${origin}\n01\n${root}\n`,
    `${origin}\n-1\n${root}\n`,
    `${origin}\n1e3\n${root}\n`,
    `${origin}\n9007199254740993\n${root}\n`,
    `${origin}\n1\n${root.slice(4)}\n`,
    `${origin}\n1\n${root.replace('=', '')}\n`,
    `\n1\n${root}\n`,
    `${origin}\n1\n${root}\n\nmore\n`,
    `${origin}\n1\n${root}`,
    `${origin}\n1\n${root}\n`,
    `${origin}\n1\n${root}\nextension\n`,
    `${origin}\n1\n${root}\nconfirmed 01\n`,
    `${origin}\n1\n${root}\nconfirmed 1\nextension\n`,
    `${origin}\n1\n${root}\nextension\nconfirmed 1\n`,
  ];
  for (const text of wrong) expect(() => parseCheckpointBody(text)).toThrow(NoteRefused);
});

test('no checkpoint is made of figures that cannot be', () => {
  const counts = [-1, 1.5, Number.NaN, 1e16].map((confirmed) => ({ confirmed }));
  for (const wrong of [{ size: -1 }, { size: 0.5 }, { rootHash: Buffer.alloc(31) }, { origin: 'a b' }, ...counts]) {
    expect(() => checkpointBody({ ...checkpoint, ...wrong })).toThrow(RangeError);
  }
});

test('a promise gives back the event and the leaf that were promised', () => {
  const untilMs = Date.UTC(2026, 10, 23, 12);
  const dated = signLogPromise(logOrigin(signer.name, 'evt_1'), rootHash, signer, untilMs);
  expect(dated.split('\n')[3]).toBe('until 2026-11-23T12:00:00.000Z');
  expect(openLogPromise(dated, verifier)).toEqual({ origin, leafHash: rootHash, untilMs });
  expect(() => openLogPromise(dated.replace('2026', '2027'), verifier)).toThrow(NoteRefused);
  expect(() => openLogPromise(dated.replace('evt_1', 'evt_2'), verifier)).toThrow(NoteRefused);
  expect(() => openLogPromise(signNote(`${dated.split('\n').slice(0, 3).join('\n')}\n`, signer), verifier)).toThrow(
    NoteRefused,
  );
  for (const line of [
    'until 2026-11-23',
    'until',
    '',
    'until 2026-11-23T12:00:00.000Z ',
    'until 2026-13-23T12:00:00.000Z',
  ]) {
    const text = `${dated.split('\n').slice(0, 3).join('\n')}\n${line}\n`;
    expect(() => openLogPromise(signNote(text, signer), verifier)).toThrow(NoteRefused);
  }
  expect(() => signLogPromise(logOrigin(signer.name, 'evt_1'), Buffer.alloc(31), signer, untilMs)).toThrow(RangeError);
});

test('neither a promise can be shown as a checkpoint nor a checkpoint as a promise', () => {
  expect(() => openCheckpoint(signLogPromise(logOrigin(signer.name, 'evt_1'), rootHash, signer, 0), verifier)).toThrow(
    NoteRefused,
  );
  expect(() => openLogPromise(signCheckpoint(checkpoint, signer), verifier)).toThrow(NoteRefused);
  expect(() => openLogPromise(signNote('words\n', signer), verifier)).toThrow(NoteRefused);
});
