import { verify } from 'node:crypto';
import { decodeBase64, NoteRefused, type NoteVerifier, parseVerifierKey } from '#src/ballot-log/signed-note.ts';

/** The algorithm byte of timestamped Ed25519 cosignatures (C2SP tlog-cosignature, `cosignature/v1`). */
const COSIGNATURE_V1 = 0x04;
const KEY_ID_BYTES = 4;
const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;
const LINE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/u;

/** Reads a witness's verifier key: `<name>+<key ID>+<base64 of 0x04 and the Ed25519 key>`. @throws NoteRefused */
export const parseWitnessKey = (text: string): NoteVerifier => parseVerifierKey(text, COSIGNATURE_V1);

export interface Cosignature {
  /** The signature line without its newline. */
  readonly line: string;
  /** When the witness signed, by its own clock, in Unix ms. */
  readonly cosignedAt: number;
}

/** Finds the witness's cosignature of the text `body` among signature lines. @throws NoteRefused if it is missing or false */
export function openCosignature(answer: string, body: string, witness: NoteVerifier): Cosignature {
  for (const line of answer.split('\n')) {
    const [, name, encoded = ''] = LINE.exec(line) ?? [];
    const bytes = decodeBase64(encoded);
    const isOwn = name === witness.name && bytes?.subarray(0, KEY_ID_BYTES).equals(witness.keyId) === true;
    if (!isOwn || bytes === undefined) continue;
    if (bytes.length !== KEY_ID_BYTES + TIME_BYTES + SIGNATURE_BYTES)
      throw new NoteRefused('a cosignature has 72 bytes');
    const seconds = bytes.readBigUInt64BE(KEY_ID_BYTES);
    const signed = Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`);
    const cosignedAt = Number(seconds) * 1_000;
    if (!Number.isSafeInteger(cosignedAt)) throw new NoteRefused('the time of a cosignature is none');
    if (!verify(null, signed, witness.publicKey, bytes.subarray(KEY_ID_BYTES + TIME_BYTES)))
      throw new NoteRefused('a cosignature is false');
    return { line, cosignedAt };
  }
  throw new NoteRefused('there is no cosignature of this witness');
}
