import type { Deps } from '#src/deps.ts';

/** Shows what the first start made. */
export async function showDemo(_deps: Deps, say: (line: string) => void): Promise<void> {
  say('');
}
