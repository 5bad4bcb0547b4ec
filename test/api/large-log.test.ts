import { beforeAll, describe, expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { recordCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { drawSeed } from '#src/ballot-log/lot.ts';
import { CompactRange, hashLeaf, inclusionProof, nodesOfInclusion } from '#src/ballot-log/merkle-tree.ts';
import { loadNodes } from '#src/ballot-log/read-log.ts';
import { insertHead } from '#src/ballot-log/repository.ts';
import { TILE_WIDTH } from '#src/ballot-log/tiles.ts';
import { appendLeaves, eventTree } from '#src/ballot-log/tree-store.ts';
import { inTransaction } from '#src/database/client.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { demand } from '#test/harness/answers.ts';
import { LogReader } from '#test/harness/ballot-log.ts';
import { verifyConsistency, verifyInclusion } from '#test/harness/read-log-proofs.ts';
import { useService } from '#test/harness/test-service.ts';

/** A tile of each of two levels is full, and the third has begun. */
const SIZE = TILE_WIDTH ** 2 + 3 * TILE_WIDTH + 7;
/** A size in between that was signed too. */
const EARLIER = TILE_WIDTH ** 2 - 1;
const CHUNK = 8_192;

let seedHash = '';
/** The first leaf commits to the seed of the lot, as in every log. */
const leafOf = (index: number): Buffer =>
  Buffer.from(`{"v":1,"t":"note","index":${index}${index === 0 ? `,"seed":"${seedHash}"` : ''}}`);

let eventId: string;
let log: LogReader;
/** Roots of the sizes that were signed, as a frontier in memory has them. */
const rootAt = new Map<number, Uint8Array>();

const service = await useService({ worker: false });
beforeAll(async () => {
  const account = await service.account();
  ({ id: eventId } = await account.event());
  log = new LogReader(service, eventId, account.vote);
  const { deps } = service;
  const event = await findEventById(deps.db, eventId);
  if (event === undefined) throw new Error('the event is there');
  const frontier = new CompactRange();
  const lot = drawSeed(deps.secrets, event);
  seedHash = sha256(lot.seed).toString('hex');
  let note = '';
  for (let from = 0; from < SIZE; from = frontier.size) {
    const to = from < EARLIER ? Math.min(from + CHUNK, EARLIER) : Math.min(from + CHUNK, SIZE);
    await inTransaction(deps.db, async (tx) => {
      const leaves = Array.from({ length: to - from }, (_, at) => leafOf(from + at));
      await appendLeaves(tx, eventId, frontier, leaves);
      if (to !== EARLIER && to !== SIZE) return;
      rootAt.set(to, frontier.root());
      note = await recordCheckpoint(tx, deps, event, frontier, 0);
    });
  }
  const { definitionVersion } = event;
  await inTransaction(deps.db, (tx) =>
    insertHead(tx, eventId, {
      ...{ frontier, ballots: 0, configHash: '', configSeq: 0, dropped: 0, definitionVersion, note },
      ...{ closedSize: null, end: null, rollMixedAt: null, rollScatteredAt: null, lotSeed: lot.sealed, lotRoot: null },
      ...{ confirmed: 0, confirmedAtChange: null, rollSeq: 0, closeSalt: null, closeContent: null },
      ...{ rollHeads: null, rollWeight: null, rollIdentityChanges: null, rollOtherChanges: null },
    }),
  );
});

const decode = (texts: readonly string[]): Buffer[] => texts.map((text) => Buffer.from(text, 'base64'));

describe(`a log of ${SIZE} leaves`, () => {
  test('proves leaves of every part of it from a few stored tiles', async () => {
    const root = rootAt.get(SIZE) ?? Buffer.alloc(0);
    for (const index of [0, 1, 255, 256, 40_000, EARLIER - 1, EARLIER, TILE_WIDTH ** 2, SIZE - 8, SIZE - 1]) {
      const read = await loadNodes(eventTree(service.deps.db, eventId), nodesOfInclusion(index, SIZE), SIZE);
      const hashes = inclusionProof(index, SIZE, read);
      expect(hashes.length).toBeLessThanOrEqual(17);
      expect(verifyInclusion({ index, size: SIZE, root, hashes, leafHash: hashLeaf(leafOf(index)) })).toBe(true);
    }
  });

  test('shows an earlier head to be its beginning', async () => {
    const { hashes } = demand(await log.get(`consistency?from=${EARLIER}&to=${SIZE}`), 200);
    const [fromRoot, toRoot] = [rootAt.get(EARLIER) ?? Buffer.alloc(0), rootAt.get(SIZE) ?? Buffer.alloc(0)];
    expect(verifyConsistency({ from: EARLIER, to: SIZE, fromRoot, toRoot, hashes: decode(hashes) })).toBe(true);
  });

  test('serves the tiles of three levels, each made of those below', async () => {
    const upper = await log.bytes('tile/1/000');
    expect(upper).toHaveLength(TILE_WIDTH * 32);
    expect(await log.bytes('tile/1/001.p/3')).toHaveLength(3 * 32);
    expect(await log.bytes('tile/2/000.p/1')).toHaveLength(32);
    expect(await log.bytes('tile/0/259.p/7')).toHaveLength(7 * 32);
    for (const index of [0, 17, 255]) {
      const lower = new CompactRange();
      const hashes = await log.bytes(`tile/0/${String(index).padStart(3, '0')}`);
      for (let at = 0; at < TILE_WIDTH; at += 1) lower.append(hashes.subarray(at * 32, at * 32 + 32));
      expect(upper.subarray(index * 32, index * 32 + 32)).toEqual(Buffer.from(lower.root()));
    }
    expect((await log.get('tile/1/001')).status).toBe(404);
    expect((await log.get('tile/2/000')).status).toBe(404);
  });

  test('is found well by the check, and a changed tile of the second level is found', async () => {
    expect(await checkLog(service.deps, eventId)).toBeUndefined();
    const flip = 'UPDATE log_tiles SET hashes = set_byte(hashes, 77, get_byte(hashes, 77) # 1) WHERE level = 1';
    await service.behindTheGuards([flip]);
    expect(await checkLog(service.deps, eventId)).toBe('tile 1/0 is another one');
  });
});
