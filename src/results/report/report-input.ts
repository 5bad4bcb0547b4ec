import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { CandidateResult, PositionResult } from '#src/tally/position-result.ts';
import type { EventStatus, Secrecy, VotingEvent } from '#src/voting-events/voting-event.ts';
import type { EventResults } from '../event-results.ts';
import { decimalToScaled } from './exact-figures.ts';
import type { ReportWords } from './report-words.ts';

/** How many voters of a group voted. A null name means all other voters. */
export interface GroupTurnout {
  readonly name: string | null;
  readonly voters: number;
  readonly voted: number;
}

export interface ReportPosition {
  readonly result: PositionResult;
  readonly definition: BallotPosition;
  readonly groupName: string | null;
}

/** The content of a report at one moment. Times are Unix milliseconds. */
export interface ReportInput extends Pick<EventResults, 'final' | 'disputed' | 'asOf' | 'lot'> {
  readonly event: Pick<VotingEvent, 'id' | 'code' | 'title' | 'type' | 'timeZone' | 'language'> & {
    readonly status: EventStatus;
    readonly secrecy: Secrecy;
    /** Whether the votes are from a rehearsal; each page then says so. */
    readonly rehearsal: boolean;
    readonly openedAt: number | null;
    readonly closesAt: number | null;
  };
  readonly ballots: number;
  /** Number of ballots that still count after payments were reversed since the final result; null without such a reversal. */
  readonly ballotsAfterReversals: number | null;
  /** Numbers of voters and their weight (in millionths) at the time of the report; null in polls, which have no roll. */
  readonly roll: {
    readonly approved: number;
    readonly voted: number;
    readonly approvedWeightMicro: bigint;
    readonly votedWeightMicro: bigint;
  } | null;
  /** Empty until the result is final. */
  readonly groups: readonly GroupTurnout[];
  /** Whether every voter's weight is 1. Then figures are numbers of ballots, and can be given as shares of the ballots. */
  readonly unitWeights: boolean;
  readonly positions: readonly ReportPosition[];
  readonly log: Pick<EventResults['log'], 'size' | 'rootHash'>;
  readonly issuer: { readonly company: string; readonly baseUrl: string };
}

/** Disputed comes first, because disputed figures are unreliable even if they are final. */
export function standingOf({ final, disputed }: ReportInput): 'final' | 'provisional' | 'disputed' {
  if (disputed) return 'disputed';
  return final ? 'final' : 'provisional';
}

/** The standing that a report states: a rehearsal is never final. */
export const stampOf = (input: ReportInput, { cover }: ReportWords): string =>
  input.event.rehearsal ? cover.rehearsed : cover[standingOf(input)];

/** If more candidates than this have no votes, they are folded into one line. */
export const FEW = 4;

export function namesOf({ candidates }: PositionResult): (id: string) => string {
  const names = new Map(candidates.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/** Sorts the winners first, in the order of their seats. Then, in ranked counts, the candidates who stayed longer; then by figure. */
export function inOrderOfResult(result: PositionResult): CandidateResult[] {
  if (result.referendum !== null) return [...result.candidates];
  const rounds = result.rounds ?? [];
  const lastRound = new Map<string, number>();
  for (const { candidateId } of rounds[0]?.tallies ?? []) lastRound.set(candidateId, rounds.length);
  for (const { round, eliminated } of rounds) for (const id of eliminated) lastRound.set(id, round);
  const seatOf = (candidate: CandidateResult): number => {
    const seat = result.winners.indexOf(candidate.id);
    return seat === -1 ? result.winners.length : seat;
  };
  const figures = new Map(result.candidates.map(({ id, weightWon }) => [id, decimalToScaled(weightWon)]));
  return result.candidates.toSorted((left, right) => {
    if (seatOf(left) !== seatOf(right)) return seatOf(left) - seatOf(right);
    const stayed = (lastRound.get(right.id) ?? 0) - (lastRound.get(left.id) ?? 0);
    if (stayed !== 0) return stayed;
    const [mine = 0n, other = 0n] = [figures.get(left.id), figures.get(right.id)];
    return mine === other ? 0 : other > mine ? 1 : -1;
  });
}
