import { createHash, createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
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
import { createNoteSigner, NoteRefused, openNote, parseVerifierKey, signNote } from '#src/ballot-log/signed-note.ts';
import { openLogPromise } from '#test/harness/read-log-proofs.ts';

/** Notes that other programs for the format are tested with, and their keys. */
const KNOWN = [
  {
    key: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
    text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
    signature:
      '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=',
  },
  {
    key: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
    text: 'This is an example message.\n',
    signature:
      '— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=',
  },
];

/** The seed of RFC 8032's first Ed25519 example, so that the key can be looked up. */
const SEED = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
const PUBLIC = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
const NAME = 'vote.example.org';
const signer = createNoteSigner(NAME, SEED);

describe('known notes', () => {
  test('are opened with their keys', () => {
    for (const { key, text, signature } of KNOWN) {
      expect(openNote(`${text}\n${signature}\n`, parseVerifierKey(key))).toBe(text);
    }
  });

  test('are right by Ed25519 alone, read by hand', () => {
    for (const { key, text, signature } of KNOWN) {
      const raw = Buffer.from(key.split('+').slice(2).join('+'), 'base64').subarray(1);
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') };
      const signed = Buffer.from(signature.split(' ')[2] ?? '', 'base64').subarray(4);
      expect(verify(null, Buffer.from(text), createPublicKey({ key: jwk, format: 'jwk' }), signed)).toBe(true);
    }
  });
});

describe('the verifier key', () => {
  test('is the name, the key ID, and the algorithm byte with the public key', () => {
    const id = createHash('sha256').update(`${NAME}\n\u0001`).update(PUBLIC).digest('hex').slice(0, 8);
    const encoded = Buffer.concat([Buffer.of(1), PUBLIC]).toString('base64');
    expect(signer.verifierKey).toBe(`${NAME}+${id}+${encoded}`);
    expect(parseVerifierKey(signer.verifierKey).name).toBe(NAME);
  });

  test('is refused when its ID, algorithm, name or length is not right', () => {
    const [name = '', id = '', key = ''] = signer.verifierKey.split('+');
    const other = (bytes: Uint8Array): string => `${name}+${id}+${Buffer.from(bytes).toString('base64')}`;
    const wrong = [
      '',
      name,
      `${name}+${id}`,
      `+${id}+${key}`,
      `${name}+00000000+${key}`,
      `other.example.org+${id}+${key}`,
      `${name} +${id}+${key}`,
      `${signer.verifierKey}\n`,
      other(Buffer.concat([Buffer.of(2), PUBLIC])),
      other(Buffer.concat([Buffer.of(1), PUBLIC, Buffer.of(0)])),
      other(PUBLIC),
    ];
    for (const text of wrong) expect(() => parseVerifierKey(text)).toThrow(NoteRefused);
  });

  test('is not made for a name that the format refuses, nor from a seed of another length', () => {
    for (const name of ['', 'a b', 'a+b', 'a\u00a0b', 'a\nb', 'a\u0000']) {
      expect(() => createNoteSigner(name, SEED)).toThrow(RangeError);
    }
    expect(() => createNoteSigner(NAME, SEED.subarray(1))).toThrow(RangeError);
  });
});

describe('a note', () => {
  const text = 'one line\n\nanother\n';
  const note = signNote(text, signer);
  const verifier = parseVerifierKey(signer.verifierKey);
  const line = note.slice(text.length + 1);

  test('that was signed is opened, empty lines in its text too', () => {
    expect(openNote(note, verifier)).toBe(text);
    expect(line.startsWith(`— ${NAME} `)).toBe(true);
  });

  test('is opened whoever else has signed it, and only by the key that did', () => {
    const other = createNoteSigner('witness.example.net', Buffer.alloc(32, 7));
    const namesake = createNoteSigner(NAME, Buffer.alloc(32, 8));
    const both = `${note}${signNote(text, other).slice(text.length + 1)}`;
    expect(openNote(both, verifier)).toBe(text);
    expect(openNote(both, other)).toBe(text);
    expect(() => openNote(both, namesake)).toThrow(NoteRefused);
  });

  test('is refused with one false signature of the key beside a true one', () => {
    const elsewhere = signNote('something else\n', signer).split('\n\n')[1] ?? '';
    expect(() => openNote(`${note}${elsewhere}`, verifier)).toThrow(NoteRefused);
  });

  test('is refused when any character of it is another', () => {
    const characters = [...note];
    for (const [place, character] of characters.entries()) {
      const changed = characters.with(place, character === 'x' ? 'y' : 'x').join('');
      expect(() => openNote(changed, verifier)).toThrow(NoteRefused);
    }
  });

  test('is refused when it is cut, or lacks what the format asks', () => {
    const bare = Buffer.concat([verifier.keyId, sign(null, Buffer.from('x'), signer.privateKey)]);
    const wrong = [
      '',
      '\n',
      text,
      `${text}\n`,
      note.slice(0, -1),
      `${note}\n`,
      note.replace('— ', '- '),
      note.replace('\n\n— ', '\n— '),
      `${text}\u0007\n${line}`,
      `${text}\n— ${NAME} ${bare.subarray(0, 4).toString('base64')}\n`,
      `${text}\n— ${NAME} ${bare.subarray(0, 40).toString('base64')}\n`,
      `${text}\n— ${NAME} !!!!\n`,
    ];
    for (const each of wrong) expect(() => openNote(each, verifier)).toThrow(NoteRefused);
  });

  test('is not signed for a text that readers could take for another', () => {
    for (const each of ['no newline', 'a\r\n', 'a\u0000\n', '\ud800\n']) {
      expect(() => signNote(each, signer)).toThrow(RangeError);
    }
  });
});

const service = createNoteSigner('vote.example.org', Buffer.alloc(32, 5));
const verifier = parseVerifierKey(service.verifierKey);
const origin = logOrigin('vote.example.org', 'evt_1');
const rootHash = Buffer.alloc(32, 0xab);
const checkpoint = { origin, size: 20_852_163, rootHash, confirmed: 12 };

test('a checkpoint is the origin, the size, the root in base64 and the ballots confirmed so far, one a line', () => {
  expect(checkpointBody(checkpoint)).toBe(
    'vote.example.org/evt_1\n20852163\nq6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=\nconfirmed 12\n',
  );
});

test('a signed checkpoint gives back what was signed', () => {
  expect(openCheckpoint(signCheckpoint(checkpoint, service), verifier)).toEqual(checkpoint);
});

test('a head of the service’s own log has three lines, and neither is taken for the other', () => {
  const head = { origin: 'vote.example.org/log', size: 7, rootHash };
  const note = signHead(head, service);
  expect(openHead(note, verifier)).toEqual(head);
  expect(() => openCheckpoint(note, verifier)).toThrow(NoteRefused);
  expect(() => openHead(signCheckpoint(checkpoint, service), verifier)).toThrow(NoteRefused);
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
  const dated = signLogPromise(logOrigin(service.name, 'evt_1'), rootHash, service, untilMs);
  expect(dated.split('\n')[3]).toBe('until 2026-11-23T12:00:00.000Z');
  expect(openLogPromise(dated, verifier)).toEqual({ origin, leafHash: rootHash, untilMs });
  const never = signLogPromise(logOrigin(service.name, 'evt_1'), rootHash, service, Date.UTC(10_000, 0, 2));
  expect(openLogPromise(never, verifier)).toMatchObject({ untilMs: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });
  expect(() => openLogPromise(dated.replace('2026', '2027'), verifier)).toThrow(NoteRefused);
  expect(() => openLogPromise(dated.replace('evt_1', 'evt_2'), verifier)).toThrow(NoteRefused);
  expect(() => openLogPromise(signNote(`${dated.split('\n').slice(0, 3).join('\n')}\n`, service), verifier)).toThrow(
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
    expect(() => openLogPromise(signNote(text, service), verifier)).toThrow(NoteRefused);
  }
  expect(() => signLogPromise(logOrigin(service.name, 'evt_1'), Buffer.alloc(31), service, untilMs)).toThrow(
    RangeError,
  );
});

test('neither a promise can be shown as a checkpoint nor a checkpoint as a promise', () => {
  expect(() =>
    openCheckpoint(signLogPromise(logOrigin(service.name, 'evt_1'), rootHash, service, 0), verifier),
  ).toThrow(NoteRefused);
  expect(() => openLogPromise(signCheckpoint(checkpoint, service), verifier)).toThrow(NoteRefused);
  expect(() => openLogPromise(signNote('words\n', service), verifier)).toThrow(NoteRefused);
});
