import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { PositionResult } from '#src/tally/types.ts';
import type { EventStatus, EventType, Secrecy } from '#src/voting-events/voting-event.ts';

/** Voters by head and by weight (in millionths), as of the report. */
export interface ReportRoll {
  readonly approved: number;
  readonly voted: number;
  readonly approvedWeightMicro: bigint;
  readonly votedWeightMicro: bigint;
}

export interface ReportPosition {
  readonly result: PositionResult;
  readonly definition: BallotPosition;
  /** The group that the position is open to alone. */
  readonly groupName: string | null;
}

/** Everything that a report says, as of one moment. Times are Unix milliseconds. */
export interface ReportInput {
  readonly event: {
    readonly id: string;
    readonly code: string;
    readonly title: string;
    readonly type: EventType;
    readonly status: EventStatus;
    readonly secrecy: Secrecy;
    readonly timeZone: string;
    readonly openedAt: number | null;
    readonly closesAt: number | null;
  };
  readonly final: boolean;
  /** Whether the ballots or their log were found not to be what was signed. */
  readonly disputed: boolean;
  readonly asOf: number;
  readonly ballots: number;
  /** Ballots that still count after reversals of payments behind the final result; null without one. */
  readonly ballotsAfterReversals: number | null;
  /** Null where there is no roll (polls). */
  readonly roll: ReportRoll | null;
  /** Whether every ballot weighs 1: then figures are ballots, and shares of ballots can be given. */
  readonly unitWeights: boolean;
  readonly positions: readonly ReportPosition[];
  readonly log: { readonly size: number; readonly rootHash: string };
  readonly lot: { readonly seedHash: string | null; readonly seed: string | null; readonly root: string | null };
  readonly issuer: { readonly company: string; readonly baseUrl: string };
}

/** Disputed figures are not to be relied on, final or not. */
export function standingOf({
  final,
  disputed,
}: Pick<ReportInput, 'final' | 'disputed'>): 'final' | 'provisional' | 'disputed' {
  if (disputed) return 'disputed';
  return final ? 'final' : 'provisional';
}
