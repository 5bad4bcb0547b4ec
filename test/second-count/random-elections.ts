import type { VotingMethod } from '#src/ballot-definition/types.ts';
import { BallotReader, packEntries } from '#src/ballots/ballot-encoding.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { addAnswer } from '#src/results/running-count.ts';
import type { PositionResult } from '#src/tally/position-result.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { PositionCount } from '#src/tally/types.ts';
import type { PlainBallot, PlainOptions, PlainPosition, PlainResult } from './count-plainly.ts';

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

/** The number of the first candidate: some take one byte, some two. */
const FIRST_NUMBER = 120;

export interface Election {
  readonly position: PlainPosition;
  readonly ballots: readonly PlainBallot[];
  readonly options: PlainOptions;
}

type Random = (below: number) => number;

const METHODS: readonly VotingMethod[] = [
  'plurality',
  'approval',
  'referendum',
  'score',
  'cumulative',
  'quadratic',
  'ranked_choice',
  'ranked_choice',
  'ranked_choice',
];
const ROLES = ['yes', 'no', 'abstain', null] as const;
/** Scales with 0 in the middle, at an end, and nowhere. */
const SCALES = [
  [0, 5],
  [-2, 4],
  [1, 5],
  [-5, -1],
  [3, 4],
] as const;

const pick = <T>(random: Random, from: readonly T[], otherwise: T): T => from[random(from.length)] ?? otherwise;
const hex = (random: Random, bytes: number): string =>
  Array.from({ length: bytes }, () => random(256).toString(16).padStart(2, '0')).join('');

/**
 * A random election, small more often than not: ties, blanks, withdrawn candidates, voids and odd weights are where counts
 * go wrong. One in twenty is large: many candidates, ballots and weights.
 */
export function randomElection(random: Random): Election {
  const votingMethod = pick(random, METHODS, 'plurality');
  const large = random(20) === 0;
  const size = large ? 9 + random(random(4) === 0 ? 72 : 32) : 1 + random(random(3) === 0 ? 8 : 4);
  const many = large ? 40 + random(120) : random(random(4) === 0 ? 60 : 12);
  const [scoreMin, scoreMax] = pick(random, SCALES, [0, 5] as const);
  const marking = votingMethod === 'plurality' || votingMethod === 'approval';
  const single = votingMethod === 'plurality' || votingMethod === 'referendum';
  const maxSelections = single || random(3) > 0 ? undefined : 1 + random(size);
  const kind = random(4);
  const weightOf = (): bigint => {
    if (kind === 0) return 1_000_000n;
    if (kind === 1) return BigInt(1 + random(large ? 100 : 4)) * 1_000_000n;
    if (kind === 2) return BigInt(1 + random(3_000_000));
    // The same small numbers in hundredths: what they decide must not depend on their unit.
    return BigInt(1 + random(4)) * 10_000n;
  };
  const position: PlainPosition = {
    id: 'pos_x',
    title: 'A position',
    votingMethod,
    seats: votingMethod === 'referendum' ? 1 : pick(random, [1, 1, 2, 3, 1 + random(5), 1 + random(9)], 1),
    ...(maxSelections === undefined ? {} : { maxSelections }),
    ...(votingMethod === 'score' ? { scoreMin, scoreMax } : {}),
    ...(marking && random(2) === 0
      ? { majorityRequired: { numerator: 1 + random(3), denominator: 4 + random(3) } }
      : {}),
    tieBreak: pick(random, ['joint', 'lot', 'candidate_order'] as const, 'joint'),
    rules: votingMethod === 'referendum' ? randomRules(random) : null,
    candidates: Array.from({ length: size }, (_, index) => ({
      id: `cnd_${random(36 ** 4).toString(36)}_${index}`,
      name: `Candidate ${index}`,
      sortOrder: random(4),
      withdrawn: random(8) === 0,
      referendumRole:
        votingMethod === 'referendum' ? pick(random, random(10) === 0 ? [null] : ROLES.slice(0, 3), null) : null,
    })),
  };
  const ballots = Array.from({ length: many }, () => ({
    marks: randomMarks(position, random),
    weight: weightOf(),
    voided: random(10) === 0,
  }));
  const counted = ballots.filter(({ voided }) => !voided).map(({ weight }) => weight);
  return {
    position,
    ballots,
    options: {
      lot: random(2) === 0 ? null : { seed: hex(random, 4), root: hex(random, 4) },
      electorate: random(5) === 0 ? null : BigInt(random(40)) * 1_000_000n,
      whole: counted.every((weight) => weight % 1_000_000n === 0n),
      // Now and then somebody who did not vote has another weight.
      unit: random(8) > 0 && counted.every((weight) => weight === 1_000_000n),
    },
  };
}

function randomRules(random: Random): NonNullable<PlainPosition['rules']> {
  const fraction = () => ({ numerator: 1 + random(3), denominator: 3 + random(3), inclusive: random(2) === 0 });
  const threshold = random(2) === 0 ? { numerator: 1, denominator: 2, inclusive: false } : fraction();
  return {
    threshold: { ...threshold, base: pick(random, ['yes_no', 'yes_no', 'answers', 'electorate'] as const, 'yes_no') },
    turnoutQuorum: random(2) === 0 ? null : fraction(),
    approvalQuorum: random(2) === 0 ? null : fraction(),
  };
}

function randomMarks(position: PlainPosition, random: Random): PlainBallot['marks'] {
  if (random(6) === 0) return [];
  const size = position.candidates.length;
  const method = position.votingMethod;
  const order = Array.from({ length: size }, (_, index) => index);
  for (let index = size - 1; index > 0; index -= 1) {
    const other = random(index + 1);
    [order[index], order[other]] = [order[other] ?? 0, order[index] ?? 0];
  }
  const most = method === 'plurality' || method === 'referendum' ? 1 : (position.maxSelections ?? size);
  const step = 1 + random(2);
  return order
    .slice(0, 1 + random(most))
    .map((candidate, index) => ({ candidate, value: randomValue(position, index * step, random) }));
}

function randomValue(position: PlainPosition, place: number, random: Random): number {
  const { votingMethod, scoreMin = 0, scoreMax = 5 } = position;
  if (votingMethod === 'score') return scoreMin + random(scoreMax - scoreMin + 1);
  if (votingMethod === 'cumulative' || votingMethod === 'quadratic') return 1 + random(9);
  // Gaps are closed up: ranks need not follow each other.
  return votingMethod === 'ranked_choice' ? place + 1 : 1;
}

/** What the service's own count says of an election, in the shape of the plain one. */
export function countByService(election: Election): PlainResult {
  return plainOf(countOf(election).report(reportOptions(election)));
}

export function reportOptions({ options }: Election) {
  return {
    lot: options.lot,
    electorateMicro: options.electorate,
    wholeWeights: options.whole,
    unitWeights: options.unit,
  };
}

/**
 * The service's count with all ballots in, and the void ones taken out again. Every second ballot comes packed, as the box holds
 * it, the others as arrays: however they come, identical ones belong together.
 */
export function countOf({ position, ballots }: Election): PositionCount {
  const count = startCount(position);
  const reader = new BallotReader();
  const indexes = {
    places: Int32Array.from({ length: position.candidates.length + FIRST_NUMBER }, (_, number) => number),
    indexes: Int32Array.from({ length: position.candidates.length + FIRST_NUMBER }, (_, place) =>
      Math.max(-1, place - FIRST_NUMBER),
    ),
  };
  const addPacked = ({ marks, weight }: PlainBallot, times: 1 | -1): void => {
    const entries = marks.map(({ candidate, value }) => ({ candidate: candidate + FIRST_NUMBER, value }));
    reader.open(packEntries([{ position: 1, entries }]));
    reader.nextPosition();
    const counted = {
      count,
      indexes,
      named: new Float64Array(),
      unlisted: [],
      hasUnlisted: false,
      groupId: null,
    };
    addAnswer(counted, reader, weight, times);
  };
  const addArrays = ({ marks, weight }: PlainBallot, times: 1 | -1): void => {
    const [candidates, values] = [marks.map((mark) => mark.candidate), marks.map((mark) => mark.value)];
    count.add({ length: marks.length, candidates, values }, weight, times);
  };
  const add = (index: number, ballot: PlainBallot, times: 1 | -1): void =>
    index % 2 === 0 ? addPacked(ballot, times) : addArrays(ballot, times);
  for (const [index, ballot] of ballots.entries()) {
    add(index, ballot, 1);
  }
  for (const [index, ballot] of ballots.entries()) if (ballot.voided) add(index, ballot, -1);
  return count;
}

function plainOf(result: PositionResult): PlainResult {
  const { id: _, title: __, votingMethod: ___, seats: ____, candidates, ...rest } = result;
  const plain: unknown = {
    ...rest,
    candidates: candidates.map(({ id, votesWon, weightWon, winner, tied }) => ({
      id,
      votesWon,
      weightWon,
      winner,
      tied,
    })),
  };
  return plain as PlainResult;
}

/** One text for each result: equal results have equal texts. */
export function fingerprint(result: PlainResult): string {
  return canonicalJson(result);
}
