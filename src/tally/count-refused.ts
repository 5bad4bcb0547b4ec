/** The count got impossible input, such as a ballot that the method forbids. A bug: counting on could publish a wrong result. */
export class CountRefused extends Error {
  constructor(reason: string) {
    super(`The count refuses to go on: ${reason}.`);
    this.name = 'CountRefused';
  }
}

/** Throws `CountRefused` unless the condition holds. The reason names the rule, never a ballot's content. */
export function requireThat(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new CountRefused(reason);
}

/** Always throws; for hot loops, in which a call of `requireThat` per entry would be too slow. @throws CountRefused */
export function refuseCount(reason: string): never {
  throw new CountRefused(reason);
}
