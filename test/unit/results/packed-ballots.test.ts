import { describe, expect, test } from 'vitest';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { VotingMethod } from '#src/ballot-definition/types.ts';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { BallotDefinitionLacks, RunningCount } from '#src/results/running-count.ts';
import type { PositionResult } from '#src/tally/position-result.ts';
import { startCount } from '#src/tally/start-count.ts';
import { createRandom } from '#test/second-count/random-elections.ts';

const WHOLE = 1_000_000n;
const OPTIONS = { lot: null, electorateMicro: null, wholeWeights: false, unitWeights: false };

interface Vote {
  readonly entries: readonly { readonly candidate: number; readonly value: number }[];
  readonly weightMicro: bigint;
}

/** Candidates whose numbers take one byte or two, and do not stand in the order of their numbers. */
const numbersOf = (candidates: number): number[] =>
  Array.from({ length: candidates }, (_, index) => 1 + ((index * 77) % 149));

function definitionOf(votingMethod: VotingMethod, numbers: readonly number[]): BallotDefinition {
  const allCandidates = numbers.map((number, sortOrder) => ({
    ...{
      id: `cnd_${number}`,
      name: `Candidate ${number}`,
      number,
      sortOrder,
      status: 'approved',
      referendumRole: null,
    },
  }));
  const settings = { seats: 1, tieBreak: 'joint', rules: null, scoreMin: -9, scoreMax: 9, majorityRequired: null };
  const position = { id: 'pos', number: 1, title: 'Position', votingMethod, ...settings, allCandidates };
  return { event: { definitionVersion: 1 }, positions: [position] } as unknown as BallotDefinition;
}

/** The same votes counted without being packed. */
function countPlainly(votingMethod: VotingMethod, numbers: readonly number[], votes: readonly Vote[]): PositionResult {
  const candidates = numbers.map((number, sortOrder) => ({
    ...{ id: `cnd_${number}`, name: `Candidate ${number}`, sortOrder, withdrawn: false, referendumRole: null },
  }));
  const settings = { seats: 1, tieBreak: 'joint', rules: null, scoreMin: -9, scoreMax: 9 } as const;
  const count = startCount({ id: 'pos', title: 'Position', votingMethod, ...settings, candidates });
  for (const { entries, weightMicro } of votes) {
    const [of, values] = [
      entries.map(({ candidate }) => numbers.indexOf(candidate)),
      entries.map(({ value }) => value),
    ];
    count.add({ length: entries.length, candidates: of, values }, weightMicro);
  }
  return count.report(OPTIONS);
}

function randomVotes(
  numbers: readonly number[],
  drawValue: (place: number, random: (below: number) => number) => number,
) {
  const random = createRandom(numbers.length);
  return Array.from({ length: 1_500 }, (): Vote => {
    const mixed = numbers.map((number) => [random(1_000_000), number] as const).toSorted(([a], [b]) => a - b);
    const chosen = mixed.slice(0, random(4) === 0 ? random(numbers.length + 1) : numbers.length);
    const entries = chosen.map(([, candidate], place) => ({ candidate, value: drawValue(place, random) }));
    return { entries, weightMicro: random(5) === 0 ? WHOLE / 2n : WHOLE };
  });
}

async function countPacked(definition: BallotDefinition, votes: readonly Vote[]): Promise<PositionResult | undefined> {
  const running = new RunningCount(definition);
  const stored = votes.map(({ entries, weightMicro }) => ({
    ...{ entries: packEntries([{ position: 1, entries }]), weightMicro },
  }));
  await running.add(stored, 1);
  // Taken out and put in again: as ballots that are kept back are.
  await running.add(stored.slice(0, 300), -1);
  await running.add(stored.slice(0, 300), 1);
  expect(running.weightMicro).toBe(votes.reduce((sum, { weightMicro }) => sum + weightMicro, 0n));
  return (await running.report(OPTIONS))[0];
}

describe('ballots that are counted from their packed bytes', () => {
  test.each([3, 20, 32, 33, 60])(
    'give the same ranked result as from arrays, with %i candidates',
    async (candidates) => {
      const numbers = numbersOf(candidates);
      // Most ranks have no gap; every eighth ballot has some.
      let gap = 0;
      const votes = randomVotes(numbers, (place, random) => {
        if (place === 0) gap = random(8) === 0 ? 2 : 1;
        return 1 + place * gap;
      });
      expect(await countPacked(definitionOf('ranked_choice', numbers), votes)).toEqual(
        countPlainly('ranked_choice', numbers, votes),
      );
    },
  );

  test.each([3, 20, 33])('give the same sums as from arrays, with %i candidates', async (candidates) => {
    const numbers = numbersOf(candidates);
    const votes = randomVotes(numbers, (_, random) => (random(50) === 0 ? 1_000_000 + random(9) : random(19) - 9));
    expect(await countPacked(definitionOf('score', numbers), votes)).toEqual(countPlainly('score', numbers, votes));
  });

  test('are refused where a rank stands twice, a candidate twice, or a value is none of the method', () => {
    const add = (votingMethod: VotingMethod, entries: Vote['entries']): void => {
      const packed = packEntries([{ position: 1, entries }]);
      new RunningCount(definitionOf(votingMethod, [1, 2, 3])).addPacked(packed, 0, packed.length, WHOLE, 1);
    };
    const [first, second] = [
      { candidate: 1, value: 1 },
      { candidate: 2, value: 1 },
    ];
    expect(() => add('ranked_choice', [first, second])).toThrow('a rank twice');
    expect(() => add('ranked_choice', [{ candidate: 1, value: 0 }])).toThrow('not a positive whole number');
    expect(() => add('ranked_choice', [first, { candidate: 1, value: 2 }])).toThrow('names a candidate twice');
    expect(() => add('approval', [first, { candidate: 2, value: 2 }])).toThrow('its method forbids');
    expect(() => add('cumulative', [first, { candidate: 2, value: 0 }])).toThrow('its method forbids');
    expect(() => add('approval', [first, { candidate: 1, value: 1 }])).toThrow('names a candidate twice');
    for (const method of ['approval', 'ranked_choice'] as const)
      expect(() => add(method, [{ candidate: 4, value: 1 }])).toThrow(BallotDefinitionLacks);
  });
});
