import { createHash, createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createNoteSigner, NoteRefused, openNote, parseVerifierKey, signNote } from '#src/ballot-log/signed-note.ts';

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
