import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { Candidate, ReferendumRole } from '#src/ballot-definition/types.ts';
import type { ReportInput, ReportPosition } from '#src/results/report/report-input.ts';
import { writeReport } from '#src/results/report/write-report.ts';
import { startCount } from '#src/tally/start-count.ts';
import { readPdf } from '#test/harness/read-pdf.ts';

/** What one ballot gives to one position: candidates by their place, and a value each. */
type SampleBallot = readonly (readonly [candidate: number, value: number])[];

/** Ballots that rank candidates, mark them, or give all of them values in turn. */
export const rank = (...order: number[]): SampleBallot => order.map((candidate, index) => [candidate, index + 1]);
export const mark = (...chosen: number[]): SampleBallot => chosen.map((candidate) => [candidate, 1]);
export const give = (...values: number[]): SampleBallot => values.map((value, candidate) => [candidate, value]);

export const members = (count: number): string[] => Array.from({ length: count }, (_, index) => `Member ${index + 1}`);

export interface SamplePosition {
  readonly title: string;
  readonly votingMethod: BallotPosition['votingMethod'];
  readonly names: readonly string[];
  readonly ballots: readonly SampleBallot[];
  readonly settings?: Partial<BallotPosition>;
  /** Of every ballot, in millionths. */
  readonly weightMicro?: bigint;
}

const ROLES: readonly ReferendumRole[] = ['yes', 'no', 'abstain'];
const MADE = { createdAt: 0, updatedAt: 0 };
const EVENT_ID = 'evt_sample';

/** A position counted by the real count, with the definition it was counted under. */
export function samplePosition(sample: SamplePosition, number: number): ReportPosition {
  const { title, votingMethod, names, ballots, settings, weightMicro = 1_000_000n } = sample;
  const id = `pos_${number}`;
  const candidates = names.map(
    (name, index): Candidate => ({
      id: `cnd_${number}_${String(index).padStart(4, '0')}`,
      votingEventId: EVENT_ID,
      number: index + 1,
      name,
      description: null,
      email: null,
      positionIds: [id],
      groupId: null,
      referendumRole: votingMethod === 'referendum' ? (ROLES[index] ?? null) : null,
      avatarUrl: null,
      status: 'approved',
      source: 'organizer' as const,
      rehearsal: false,
      sortOrder: index,
      ...MADE,
    }),
  );
  const rules =
    votingMethod === 'referendum'
      ? {
          threshold: { numerator: 1, denominator: 2, inclusive: false, base: 'yes_no' as const },
          turnoutQuorum: null,
          approvalQuorum: null,
        }
      : null;
  const definition: BallotPosition = {
    id,
    votingEventId: EVENT_ID,
    number,
    title,
    description: null,
    votingMethod,
    groupId: null,
    sortOrder: number,
    seats: 1,
    minSelections: 1,
    maxSelections: null,
    scoreMin: null,
    scoreMax: null,
    cumulativePointBudget: null,
    quadraticBaseCreditBudget: null,
    quadraticTopUp: null,
    tieBreak: 'joint',
    rules,
    majorityRequired: null,
    ...MADE,
    candidates,
    everCandidates: candidates,
    allCandidates: candidates,
    selectionLimit: names.length,
    selectionFloor: 1,
    ...settings,
  };
  const count = startCount({
    ...definition,
    maxSelections: definition.selectionLimit,
    candidates: candidates.map((one) => ({ ...one, withdrawn: false })),
  });
  for (const ballot of ballots) {
    const [places, values] = [ballot.map(([candidate]) => candidate), ballot.map(([, value]) => value)];
    count.add({ length: ballot.length, candidates: places, values }, weightMicro);
  }
  const electorateMicro = BigInt(ballots.length) * 2n * weightMicro;
  const result = count.report({
    lot: { seed: '0f'.repeat(32), root: 'f0'.repeat(32) },
    electorateMicro,
    wholeWeights: weightMicro % 1_000_000n === 0n,
    unitWeights: weightMicro === 1_000_000n,
  });
  return { result, definition, groupName: null };
}

/** A report on such positions. */
export function sampleReport(positions: readonly SamplePosition[], changes: Partial<ReportInput> = {}): ReportInput {
  const ballots = Math.max(0, ...positions.map((one) => one.ballots.length));
  return {
    event: {
      id: EVENT_ID,
      code: 'SAMPLE7',
      title: 'Sample',
      type: 'election',
      status: 'closed',
      secrecy: 'secret',
      timeZone: 'Africa/Lagos',
      language: 'en',
      rehearsal: false,
      openedAt: Date.UTC(2026, 10, 1, 8),
      closesAt: Date.UTC(2026, 10, 20, 17),
    },
    final: true,
    disputed: false,
    asOf: Date.UTC(2026, 10, 21, 7, 15),
    ballots,
    ballotsAfterReversals: null,
    roll: {
      approved: ballots * 2,
      voted: ballots,
      approvedWeightMicro: BigInt(ballots) * 2_000_000n,
      votedWeightMicro: BigInt(ballots) * 1_000_000n,
    },
    groups: [],
    unitWeights: true,
    positions: positions.map((one, index) => samplePosition(one, index + 1)),
    log: { size: ballots + 2, rootHash: 'XUdE7UlLs1BxsYxS0ytL9pBrwE2RhW4kf4wGqfKM6Oc=' },
    lot: { root: null, seedHash: 'ab'.repeat(32), seed: '0f'.repeat(32) },
    issuer: { company: 'Example Votes', baseUrl: 'https://votes.example' },
    ...changes,
  };
}

/** A report as a reader of the file has it. */
export async function print(input: ReportInput, paper: 'a4' | 'letter' = 'a4') {
  const pdf = readPdf(await writeReport(input, paper));
  return { ...pdf, text: pdf.pages.join('\n'), lines: pdf.pages.flatMap((page) => page.split('\n')) };
}
