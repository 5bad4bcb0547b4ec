import type { Executor, Transaction } from '#src/database/client.ts';
import { findTile, insertLeaves, insertTile, readLeaves, readTileRoots } from './repository.ts';

/** Where a log's leaves and full tiles are read from. */
export interface TreeReader {
  /** The data of leaves `from` to before `to`, in order. */
  readLeaves(from: number, to: number): Promise<Buffer[]>;
  /** The 256 hashes of a full tile; undefined where it is not full. */
  findTile(level: number, index: number): Promise<Buffer | undefined>;
  /** The root hashes of full tiles of a level, `from` to before `to`, in order. */
  readTileRoots(level: number, from: number, to: number): Promise<Buffer[]>;
}

export interface NewTile {
  readonly level: number;
  readonly tileIndex: number;
  /** 256 hashes. */
  readonly hashes: Buffer;
  readonly root: Buffer;
}

/** Where they are written to as well. */
export interface TreeStore extends TreeReader {
  insertLeaves(first: number, leaves: readonly Buffer[]): Promise<void>;
  insertTile(tile: NewTile): Promise<void>;
}

/** The log of an event. */
export const eventTree = (executor: Executor, eventId: string): TreeReader => ({
  readLeaves: (from, to) => readLeaves(executor, eventId, from, to),
  findTile: (level, index) => findTile(executor, eventId, level, index),
  readTileRoots: (level, from, to) => readTileRoots(executor, eventId, level, from, to),
});

/** The log of an event, to be appended to. */
export const eventTreeStore = (tx: Transaction, eventId: string): TreeStore => ({
  ...eventTree(tx, eventId),
  insertLeaves: (first, leaves) => insertLeaves(tx, eventId, first, leaves),
  insertTile: (tile) => insertTile(tx, eventId, tile),
});
