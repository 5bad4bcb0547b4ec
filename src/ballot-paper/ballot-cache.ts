import { CachedJson } from '#src/http/cached-json.ts';
import type { BallotPaper } from './paper.ts';
import { pickOrder } from './shuffle.ts';
import { BallotText } from './views.ts';

const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/**
 * Keeps ballots as they go out: the one of a paper whose order is fixed, and those of shuffled ones by their seed, the newest
 * of them. Without a seed each ballot has an order of its own, which is asked for once.
 */
export class BallotCache {
  readonly #kept = new Map<string, CachedJson>();
  /** Those that are being made: all who ask meanwhile wait for one. */
  readonly #making = new Map<string, Promise<CachedJson>>();
  /** Gone with their papers. */
  readonly #texts = new WeakMap<BallotPaper, BallotText>();

  /** The ballot of a paper as an answer (contract, "Ballot"; completions 4.2). @param seed keeps a shuffled order stable */
  async take(paper: BallotPaper, seed: string | undefined): Promise<CachedJson> {
    const { id, paperVersion, candidateOrder } = paper.event;
    const order = candidateOrder === 'shuffled' ? pickOrder(seed, id) : undefined;
    if (order !== undefined && seed === undefined) return CachedJson.of(this.#textOf(paper).write(order));
    const name = `${id} ${paperVersion} ${order ?? 'fixed'}`;
    const kept = this.#kept.get(name);
    if (kept !== undefined) {
      // The one that was asked for last is the last to go.
      this.#kept.delete(name);
      this.#kept.set(name, kept);
      return kept;
    }
    return this.#making.get(name) ?? this.#make(name, paper, order);
  }

  #textOf(paper: BallotPaper): BallotText {
    const text = this.#texts.get(paper) ?? new BallotText(paper);
    this.#texts.set(paper, text);
    return text;
  }

  async #make(name: string, paper: BallotPaper, order: string | undefined): Promise<CachedJson> {
    const making = CachedJson.of(this.#textOf(paper).write(order));
    this.#making.set(name, making);
    try {
      const fresh = await making;
      this.#kept.set(name, fresh);
      this.#makeRoom(name);
      return fresh;
    } finally {
      this.#making.delete(name);
    }
  }

  /** Texts shrink once they are compressed, so what they hold is summed again. */
  #makeRoom(newest: string): void {
    let held = 0;
    for (const { heldBytes } of this.#kept.values()) held += heldBytes;
    for (const [oldest, { heldBytes }] of this.#kept) {
      if (held <= MAX_KEPT_BYTES || oldest === newest) break;
      this.#kept.delete(oldest);
      held -= heldBytes;
    }
  }
}
