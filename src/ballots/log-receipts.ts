import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** A confirmed ballot, as its leaf of the log is made from it. */
export interface ConfirmedBallot {
  readonly codeTag: Uint8Array;
  readonly salt: Uint8Array;
  /** Packed, in clear. */
  readonly entries: Uint8Array;
  readonly weightMicro: bigint;
}

/** What the ballot log does for a confirm: `ballots` declares it, the log brings it. */
export interface LogReceipts {
  /**
   * The signed promise that the ballot will be in the log. The same ballot gets the same promise each time.
   * @param untilMs the date that it names
   */
  promise(definition: BallotDefinition, ballot: ConfirmedBallot, untilMs: number): string;
  /**
   * Called after each confirm that took effect, so that a full queue is sealed soon, and the ballot is missed where SQL takes it.
   * Never fails, never waits.
   */
  confirmed(event: VotingEvent, ballot: { readonly ballotId: string; readonly leafTag: Buffer }): void;
}
