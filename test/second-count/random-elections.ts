import { deserialize, serialize } from 'node:v8';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { PositionResult, TallyPosition, VotingMethod } from '#src/tally/types.ts';
import type { PlainBallot, PlainOptions, PlainResult } from './count-plainly.ts';

/** A small generator of whole numbers (mulberry32): the same seed, the same elections, on every machine. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export interface Election {
  readonly position: TallyPosition;
  readonly ballots: readonly PlainBallot[];
  readonly options: PlainOptions;
}

const METHODS: readonly VotingMethod[] = [
  'plurality',
  'approval',
  'referendum',
  'score',
  'cumulative',
  'quadratic',
  'ranked_choice',
  'ranked_choice',
];
const ROLES = ['yes', 'no', 'abstain', null] as const;

/** A random election, small more often than not: ties, blanks, withdrawn candidates and odd weights are where counts go wrong. */
export function randomElection(random: (below: number) => number): Election {
  const votingMethod = METHODS[random(METHODS.length)] ?? 'plurality';
  const size = 1 + random(random(3) === 0 ? 8 : 4);
  const fraction = () => ({ numerator: random(4), denominator: 3 + random(3), inclusive: random(2) === 0 });
  const position: TallyPosition = {
    id: 'pos_x',
    title: 'A position',
    votingMethod,
    seats: votingMethod === 'referendum' ? 1 : ([1, 1, 2, 3, 1 + random(5)][random(5)] ?? 1),
    tieBreak: (['joint', 'lot', 'candidate_order'] as const)[random(3)] ?? 'joint',
    rules:
      votingMethod === 'referendum'
        ? {
            threshold: random(2) === 0 ? { numerator: 1, denominator: 2, inclusive: false } : fraction(),
            turnoutQuorum: random(2) === 0 ? null : fraction(),
            approvalQuorum: random(2) === 0 ? null : fraction(),
          }
        : null,
    candidates: Array.from({ length: size }, (_, index) => ({
      id: `cnd_${random(36 ** 4).toString(36)}_${index}`,
      name: `Candidate ${index}`,
      sortOrder: random(4),
      withdrawn: random(8) === 0,
      referendumRole: votingMethod === 'referendum' ? (ROLES[random(10) === 0 ? 3 : random(3)] ?? null) : null,
    })),
  };
  const kind = random(3);
  const weight = (): bigint =>
    kind === 0 ? 1_000_000n : kind === 1 ? BigInt(1 + random(4)) * 1_000_000n : BigInt(1 + random(3_000_000));
  const ballots = Array.from({ length: random(random(4) === 0 ? 60 : 12) }, () => ({
    marks: randomMarks(votingMethod, size, random),
    weight: weight(),
  }));
  const seed =
    random(2) === 0 ? null : Array.from({ length: 4 }, () => random(256).toString(16).padStart(2, '0')).join('');
  const electorate = random(5) === 0 ? null : BigInt(random(40)) * 1_000_000n;
  return { position, ballots, options: { seed, electorate, whole: kind !== 2 } };
}

function randomMarks(method: VotingMethod, size: number, random: (below: number) => number) {
  if (random(6) === 0) return [];
  const order = Array.from({ length: size }, (_, index) => index);
  for (let index = size - 1; index > 0; index -= 1) {
    const other = random(index + 1);
    [order[index], order[other]] = [order[other] ?? 0, order[index] ?? 0];
  }
  const chosen = method === 'plurality' || method === 'referendum' ? 1 : 1 + random(size);
  return order.slice(0, chosen).map((candidate, index) => ({ candidate, value: randomValue(method, index, random) }));
}

function randomValue(method: VotingMethod, index: number, random: (below: number) => number): number {
  if (method === 'score') return random(7) - 1;
  if (method === 'cumulative' || method === 'quadratic') return 1 + random(9);
  // Gaps are closed up: ranks need not follow each other.
  return method === 'ranked_choice' ? index * 2 + 1 : 1;
}

/**
 * What the service's own count says of an election, in the shape of the plain one.
 * @param savedAt the count is saved after this many ballots, and another one goes on from there
 */
export function countByService({ position, ballots, options }: Election, savedAt?: number): PlainResult {
  let count = startCount(position);
  for (const [index, { marks, weight }] of ballots.entries()) {
    if (index === savedAt) count = startCount(position, deserialize(serialize(count.save())));
    count.add(
      {
        length: marks.length,
        candidates: marks.map((mark) => mark.candidate),
        values: marks.map((mark) => mark.value),
      },
      weight,
    );
  }
  return plainOf(
    count.report({ seed: options.seed, electorateMicro: options.electorate, wholeWeights: options.whole }),
  );
}

function plainOf(result: PositionResult): PlainResult {
  return {
    figures: result.candidates.map((one) => ({ votes: one.votesWon, weight: one.weightWon })),
    winners: result.winners,
    tied: result.candidates.filter((one) => one.tied).map((one) => one.id),
    totalVotes: result.totalVotes,
    ballots: result.ballots,
    abstentions: result.abstentions,
    outcome: result.referendum?.outcome ?? null,
    rounds: (result.rounds ?? []).map((round) => ({
      tallies: Object.fromEntries(round.tallies.map((tally) => [tally.candidateId, tally.weightWon])),
      elected: round.elected,
      eliminated: round.eliminated,
      exhausted: round.exhausted,
      threshold: round.threshold,
    })),
  };
}

/** One text for each result: equal results have equal texts, whatever the order of names. */
export function fingerprint(result: PlainResult): string {
  return canonicalJson({ ...result, tied: result.tied.toSorted() });
}
