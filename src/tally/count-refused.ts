/**
 * The count got impossible input: a ballot that its method forbids, or a void without its ballot. Ballots were checked when they were
 * cast, so this is a bug; counting on would publish a wrong result.
 */
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

/** Throws unconditionally, for hot loops in which calling `requireThat` per entry would cost too much. @throws CountRefused */
export function refuseCount(reason: string): never {
  throw new CountRefused(reason);
}
