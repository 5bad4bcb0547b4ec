import { generateKeyPairSync, sign } from 'node:crypto';

const TAG = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  nothing: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  time: 0x17,
  sequence: 0x30,
  set: 0x31,
};
/** ecdsa-with-SHA256, sha256WithRSAEncryption, commonName, subjectAltName, as their DER bodies. */
const OID = { ec: '2a8648ce3d040302', rsa: '2a864886f70d01010b', commonName: '550403', altName: '551d11' };

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const oid = (hex: string): Buffer => der(TAG.oid, Buffer.from(hex, 'hex'));
const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value));
const pem = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

/** A certificate that signs itself, for one DNS name; made on the spot, so that no key lies in the repository. */
export function selfSignedCertificate(
  name: string,
  kind: 'ec' | 'rsa' = 'ec',
): { readonly cert: string; readonly key: string } {
  const { privateKey, publicKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const subject = der(TAG.sequence, der(TAG.set, der(TAG.sequence, oid(OID.commonName), text(TAG.utf8, name))));
  const algorithm = der(TAG.sequence, oid(OID[kind]), ...(kind === 'rsa' ? [der(TAG.nothing)] : []));
  const names = der(TAG.sequence, text(0x82, name));
  const body = der(
    TAG.sequence,
    der(0xa0, der(TAG.integer, Buffer.from([2]))),
    der(TAG.integer, Buffer.from([1])),
    algorithm,
    subject,
    der(TAG.sequence, text(TAG.time, '200101000000Z'), text(TAG.time, '491231235959Z')),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(TAG.sequence, der(TAG.sequence, oid(OID.altName), der(TAG.octets, names)))),
  );
  const signature = sign('sha256', body, privateKey);
  const cert = der(TAG.sequence, body, algorithm, der(TAG.bits, Buffer.from([0]), signature));
  return { cert: pem(cert), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
