import { monotonicMs } from './clock.ts';

/** How long an account counts as present after its latest request. */
const PRESENT_MS = 10_000;

/** Which accounts have sent a request lately. Some limits are lower while several accounts are present. */
export class Presence {
  /** When each account sent its latest request, by `monotonicMs`, the earliest first. */
  readonly #seen = new Map<string, number>();

  note(account: string): void {
    this.#seen.delete(account);
    this.#seen.set(account, monotonicMs());
    this.#forget();
  }

  /** Whether the account and at least one other account are present. */
  isShared(account: string): boolean {
    this.#forget();
    return this.#seen.size > 1 && this.#seen.has(account);
  }

  #forget(): void {
    const since = monotonicMs() - PRESENT_MS;
    for (const [account, atMs] of this.#seen) {
      if (atMs > since) return;
      this.#seen.delete(account);
    }
  }
}
