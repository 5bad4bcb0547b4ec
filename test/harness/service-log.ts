import { createHash } from 'node:crypto';
import { openHead } from '#src/ballot-log/checkpoint.ts';
import { parseVerifierKey } from '#src/ballot-log/signed-note.ts';
import { TILE_WIDTH, tilePath } from '#src/ballot-log/tiles.ts';
import { decodeBundle } from './read-log-proofs.ts';
import type { TestService } from './test-service.ts';

const hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The leaf that a checkpoint of an event must have, made from its note as any outsider would. */
export function expectedLeaf(note: string) {
  const [origin = '', size = '', root = ''] = note.split('\n');
  return { v: 2, t: 'checkpoint', e: hex(`event${origin}`), c: hex(`checkpoint${origin}\n${size}\n${root}\n`) };
}

/** Reads the service's own log over HTTP, without a key. */
export class ServiceLogReader {
  readonly #service: TestService;

  constructor(service: TestService) {
    this.#service = service;
  }

  async note(): Promise<string> {
    const answer = await this.#service.call('GET', '/log/checkpoint');
    if (answer.status !== 200) throw new Error(`the checkpoint answered ${answer.status}`);
    return String(answer.body);
  }

  async verifierKey(): Promise<string> {
    return String((await this.#service.call('GET', '/.well-known/voting-service-log-key')).body).trim();
  }

  /** The signed head, its signature checked. */
  async head() {
    return openHead(await this.note(), parseVerifierKey(await this.verifierKey()));
  }

  async entries(size: number): Promise<Buffer[]> {
    const entries: Buffer[] = [];
    for (let index = 0; index * TILE_WIDTH < size; index += 1) {
      const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH);
      const path = `/log/${tilePath({ level: 'entries', index, width })}`;
      const response = await fetch(`http://127.0.0.1:${this.#service.port}${path}`);
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
      entries.push(...decodeBundle(Buffer.from(await response.arrayBuffer())));
    }
    return entries;
  }
}
