import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** The fields of a confirmed ballot from which its leaf of the log is computed. */
export interface ConfirmedBallot {
  readonly codeTag: Uint8Array;
  readonly salt: Uint8Array;
  /** Packed, not encrypted. */
  readonly entries: Uint8Array;
  readonly weightMicro: bigint;
}

/** What a confirm needs of the ballot log. Declared here and implemented by `ballot-log`, because `ballots` must not import it. */
export interface LogReceipts {
  /**
   * The signed promise that the ballot will be in the log. Deterministic: a repeated confirm gets the same promise.
   * @param untilMs the promised date
   */
  promise(definition: BallotDefinition, ballot: ConfirmedBallot, untilMs: number): string;
  /**
   * Called after each confirm that took effect: it has a full queue sealed soon, and detects a ballot that direct SQL removes.
   * Never throws, never blocks.
   */
  confirmed(event: VotingEvent, ballot: { readonly ballotId: string; readonly leafTag: Buffer }): void;
}
