import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { openHead } from '#src/ballot-log/checkpoint.ts';
import { NoteRefused, parseVerifierKey } from '#src/ballot-log/signed-note.ts';
import { verifyConsistency } from './read-log-proofs.ts';

/** What a witness does with a head that it could sign. `honest` follows C2SP tlog-witness. */
export type Manner =
  | 'honest'
  | 'hanging'
  | 'false signature'
  | 'another key'
  | 'another head'
  | 'no line'
  | 'endless answer'
  | 'nonsense size'
  | 'same size'
  | 'ever another size'
  | 'longer log'
  | 'broken';

interface Signed {
  readonly size: number;
  readonly rootHash: Uint8Array;
}

export interface TestWitness {
  /** As `WITNESSES` takes it. */
  readonly setting: string;
  readonly verifierKey: string;
  manner: Manner;
  /** What it signed last, and how often it was asked. */
  last: Signed | undefined;
  asked: number;
  /** Stops answering, and takes the same port again. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

const rawOf = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' }).subarray(-32);

/** A new key of a witness: its verifier key, and what it signs a checkpoint's text with. */
export function keyOf(name: string) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.concat([Buffer.of(0x04), rawOf(createPublicKey(privateKey))]);
  const keyId = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), raw]), 'buffer').subarray(0, 4);
  const verifierKey = `${name}+${keyId.toString('hex')}+${raw.toString('base64')}`;
  const line = (body: string, key: KeyObject = privateKey): string => {
    const time = Buffer.alloc(8);
    const seconds = Math.floor(Date.now() / 1_000);
    time.writeBigUInt64BE(BigInt(seconds));
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`), key);
    return `— ${name} ${Buffer.concat([keyId, time, signature]).toString('base64')}\n`;
  };
  return { verifierKey, line };
}

/** A witness of one log over real HTTP. @param logKey the verifier key of the log, whose name is its origin */
export async function startWitness(name: string, logKey: () => string): Promise<TestWitness> {
  const own = keyOf(name);
  const other = createPrivateKey(generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const conflict = (response: ServerResponse, size: string): void => {
    response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(size);
  };

  /** The rules of the protocol, in the order in which it states them. */
  const judge = (body: string): { status: number; size?: number; head?: Signed; signed?: string } => {
    const [request = '', ...rest] = body.split('\n\n');
    const note = rest.join('\n\n');
    const [oldLine = '', ...proof] = request.split('\n');
    const [, oldText] = /^old (0|[1-9]\d*)$/.exec(oldLine) ?? [];
    if (oldText === undefined || proof.length > 63) return { status: 400 };
    const verifier = parseVerifierKey(logKey());
    if (!note.startsWith(`${verifier.name}\n`)) return { status: 404 };
    let head: Signed;
    try {
      head = openHead(note, verifier);
    } catch (fault) {
      if (fault instanceof NoteRefused) return { status: 403 };
      throw fault;
    }
    const old = Number(oldText);
    if (old > head.size) return { status: 400 };
    const { last } = witness;
    if (old !== (last?.size ?? 0)) return { status: 409, size: last?.size ?? 0 };
    const hashes = proof.map((line) => Buffer.from(line, 'base64'));
    if (last === undefined || old === 0) {
      if (hashes.length > 0) return { status: 422 };
    } else {
      const sizes = { from: old, to: head.size };
      const roots = { fromRoot: last.rootHash, toRoot: head.rootHash };
      if (!verifyConsistency({ ...sizes, ...roots, hashes })) return { status: 422 };
    }
    return { status: 200, head, signed: note.slice(0, note.lastIndexOf('\n\n') + 1) };
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    witness.asked += 1;
    const { status, size, head, signed = '' } = judge(body);
    const { manner } = witness;
    if (manner === 'hanging') return;
    if (manner === 'broken') return void response.writeHead(500).end('out of order');
    if (manner === 'nonsense size') return conflict(response, '-3 or so');
    if (manner === 'same size') return conflict(response, '0\n');
    if (manner === 'ever another size') return conflict(response, `${(witness.asked % 2) + 1}\n`);
    if (manner === 'longer log') return conflict(response, '999999\n');
    if (manner === 'endless answer') {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write('— somebody.example AAAAAAAA\n'.repeat(1_000)));
      };
      response.on('drain', more);
      return more();
    }
    if (request.url !== '/prefix/add-checkpoint' || request.method !== 'POST')
      return void response.writeHead(404).end();
    if (size !== undefined) return conflict(response, `${size}\n`);
    if (head === undefined) return void response.writeHead(status).end('refused');
    if (manner === 'no line') return void response.writeHead(200).end('— unknown.example AAAAAAAA\n');
    if (manner === 'false signature') return void response.writeHead(200).end(own.line(`${signed}more\n`));
    if (manner === 'another key') return void response.writeHead(200).end(own.line(signed, other));
    if (manner === 'another head')
      return void response.writeHead(200).end(own.line(signed.replace(/\n\d+\n/, '\n1\n')));
    witness.last = head;
    response.writeHead(200).end(`— unknown.example AAAAAAAA\n${own.line(signed)}`);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', () => resolve()));
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const witness: TestWitness = {
    setting: `http://127.0.0.1:${port}/prefix ${own.verifierKey}`,
    verifierKey: own.verifierKey,
    manner: 'honest',
    last: undefined,
    asked: 0,
    goAway: close,
    comeBack: () => listen(port),
    stop: close,
  };
  return witness;
}
