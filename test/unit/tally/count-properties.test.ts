import { describe, expect, test } from 'vitest';
import type { VotingMethod } from '#src/ballot-definition/types.ts';
import { CountRefused } from '#src/tally/exact.ts';
import type { PositionResult } from '#src/tally/position-result.ts';
import type { PositionBallot, TallyPosition } from '#src/tally/types.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { counted, PLAIN, position, ROOT, ranking, result, scaled, type Votes, votesOf, WHOLE } from './counting.ts';

const METHODS = ['plurality', 'approval', 'referendum', 'score', 'cumulative', 'quadratic', 'ranked_choice'] as const;
const CANDIDATES = 6;
const ROUNDS = 40;

type Random = (below: number) => number;

function randomBallot(method: VotingMethod, random: Random): PositionBallot {
  const shuffled = Array.from({ length: CANDIDATES }, (_, index) => index)
    .map((candidate) => [random(1_000_000), candidate] as const)
    .sort(([a], [b]) => a - b)
    .map(([, candidate]) => candidate);
  const most = method === 'plurality' || method === 'referendum' ? 1 : CANDIDATES;
  const candidates = shuffled.slice(0, random(most + 1));
  return {
    length: candidates.length,
    candidates,
    values: candidates.map((_, place) => randomValue(method, place, random)),
  };
}

function randomValue(method: VotingMethod, place: number, random: Random): number {
  switch (method) {
    case 'ranked_choice':
      return place * 2 + 1;
    case 'score':
      return random(11) - 5;
    case 'cumulative':
    case 'quadratic':
      return random(9) + 1;
    default:
      return 1;
  }
}

function randomVotes(method: VotingMethod, random: Random, unit: bigint): Votes {
  return Array.from({ length: random(60) }, () => [
    randomBallot(method, random),
    random(3) + 1,
    BigInt(random(3) + 1) * unit,
  ]);
}

function randomPosition(method: VotingMethod, random: Random): TallyPosition {
  const rows = Array.from({ length: CANDIDATES }, (_, index) => ({
    sortOrder: random(4),
    withdrawn: random(8) === 0,
    referendumRole: (['yes', 'no', 'abstain'] as const)[index % 3] ?? null,
  }));
  const half = { numerator: 1, denominator: 2, inclusive: random(2) === 0 };
  return position(method, rows, {
    seats: random(3) + 1,
    tieBreak: (['joint', 'lot', 'candidate_order'] as const)[random(3)] ?? 'joint',
    rules: {
      threshold: { ...half, base: 'yes_no' },
      turnoutQuorum: random(2) === 0 ? half : null,
      approvalQuorum: null,
    },
  });
}

/** Runs a check over random elections; a failure names the seed that repeats it. */
function forRandomElections(
  method: VotingMethod,
  check: (of: TallyPosition, votes: Votes, random: Random) => void,
): void {
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const random = createRandom(seed);
    try {
      check(randomPosition(method, random), randomVotes(method, random, WHOLE), random);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
}

const REVEALED = { lot: { seed: 'c0ffee', root: ROOT }, electorateMicro: 90n * WHOLE, unitWeights: false };

function shuffledVotes(votes: Votes, random: Random): Votes {
  return votes
    .map((vote) => [random(1_000_000), vote] as const)
    .sort(([a], [b]) => a - b)
    .map(([, vote]) => vote);
}

describe.each(METHODS)('%s', (method) => {
  test('the order of the ballots does not change the result', () => {
    forRandomElections(method, (of, votes, random) => {
      expect(result(of, shuffledVotes(votes, random), REVEALED)).toEqual(result(of, votes, REVEALED));
    });
  });

  test('identical ballots count the same one by one as all at once', () => {
    forRandomElections(method, (of, votes) => {
      const oneByOne = votes.flatMap(([ballot, heads, weight]) =>
        Array.from({ length: heads }, () => [ballot, 1, weight ?? WHOLE] as const),
      );
      expect(result(of, oneByOne, REVEALED)).toEqual(result(of, votes, REVEALED));
    });
  });

  test('taking ballots out again undoes exactly what adding them did, even before they were added', () => {
    forRandomElections(method, (of, votes, random) => {
      const others = randomVotes(method, random, 1_000_001n);
      const count = counted(of, []);
      for (const sign of [-1, 1]) {
        for (const [ballot, heads, weight = WHOLE] of others) count.add(ballot, weight, sign * heads);
        for (const [ballot, heads, weight = WHOLE] of sign < 0 ? votes : []) count.add(ballot, weight, heads);
      }
      expect(count.report({ ...PLAIN, ...REVEALED })).toEqual(result(of, votes, REVEALED));
    });
  });

  test('a ballot split into two of half its weight moves no weight and no seat', () => {
    forRandomElections(method, (of, votes) => {
      const halves = votes.flatMap(([ballot, heads, weight = WHOLE]) => [
        [ballot, heads, weight / 2n] as const,
        [ballot, heads, weight / 2n] as const,
      ]);
      const options = { ...REVEALED, wholeWeights: false };
      expect(withoutHeads(result(of, halves, options))).toEqual(withoutHeads(result(of, votes, options)));
    });
  });

  test('a report leaves the count as it is', () => {
    forRandomElections(method, (of, votes) => {
      const count = counted(of, votes);
      const first = count.report({ ...PLAIN, ...REVEALED });
      expect(count.report({ ...PLAIN, ...REVEALED })).toEqual(first);
    });
  });

  test('names do not matter: renamed candidates win with the same votes', () => {
    forRandomElections(method, (of, votes) => {
      const renamed = { ...of, candidates: of.candidates.map((row) => ({ ...row, name: `${row.name} Smith` })) };
      const [plain, other] = [result(of, votes, REVEALED), result(renamed, votes, REVEALED)];
      expect({ ...other, candidates: [] }).toEqual({ ...plain, candidates: [] });
      expect(votesOf(other)).toEqual(votesOf(plain));
    });
  });

  test('total votes are the sum of the votes won, or the ballots that ranked; winners are marked as such', () => {
    forRandomElections(method, (of, votes) => {
      const won = result(of, votes, { ...REVEALED, wholeWeights: false });
      const sum = won.candidates.reduce((total, { votesWon }) => total + votesWon, 0);
      expect(won.totalVotes).toBe(method === 'ranked_choice' ? won.ballots : sum);
      const marked = won.candidates.filter(({ winner }) => winner).map(({ id }) => id);
      expect(won.winners.toSorted()).toEqual(marked.toSorted());
      const withdrawn = of.candidates.filter((candidate) => candidate.withdrawn).map(({ id }) => id);
      expect(marked.filter((id) => withdrawn.includes(id))).toEqual([]);
    });
  });
});

/** Splitting a ballot doubles heads and nothing else. */
function withoutHeads(of: PositionResult): unknown {
  return JSON.parse(
    JSON.stringify(of, (key, value: unknown) =>
      ['votesWon', 'totalVotes', 'ballots', 'abstentions'].includes(key) ? undefined : value,
    ),
  );
}

describe('ranked rounds', () => {
  test('tallies, exhausted ballots and rounding loss make up the same weight in every round', () => {
    forRandomElections('ranked_choice', (of, votes) => {
      const won = result(of, votes, REVEALED);
      for (const round of won.rounds ?? []) {
        const rest = scaled(round.exhausted) + scaled(round.roundingLoss);
        const held = round.tallies.reduce((sum, { weightWon }) => sum + scaled(weightWon), rest);
        expect(held).toBe(scaled(String(won.totalVotes)));
      }
    });
  });

  test('transfers lead from one round to the next, for candidates and for exhausted ballots', () => {
    forRandomElections('ranked_choice', (of, votes) => {
      const rounds = result(of, votes, REVEALED).rounds ?? [];
      for (const [index, round] of rounds.slice(1).entries()) {
        const before = rounds[index];
        const moved = (to: string | null): bigint =>
          (before?.transfers ?? []).reduce((sum, row) => (row.to === to ? sum + scaled(row.weight) : sum), 0n);
        expect(scaled(round.exhausted)).toBe(scaled(before?.exhausted ?? '') + moved(null));
        for (const { candidateId, weightWon } of round.tallies) {
          const was = before?.tallies.find((row) => row.candidateId === candidateId)?.weightWon ?? '0';
          const gone = before?.transfers[0]?.from === candidateId ? scaled(was) - scaled(round.threshold) : 0n;
          expect(scaled(weightWon)).toBe(scaled(was) + moved(candidateId) - gone);
        }
      }
    });
  });

  test('no more candidates reach the quota than there are seats', () => {
    forRandomElections('ranked_choice', (of, votes) => {
      const won = result(of, votes, REVEALED);
      expect(won.winners.length <= of.seats || won.tie !== null).toBe(true);
    });
  });
});

describe('many different rankings', () => {
  /** Enough for the count to stop looking for identical rankings. */
  const MANY = 70_000;

  function everyRanking(of: (index: number) => PositionBallot): PositionResult {
    const count = counted(position('ranked_choice', 9, { seats: 2 }), []);
    for (let index = 0; index < MANY; index += 1) count.add(of(index), WHOLE);
    for (let index = 0; index < MANY; index += 3) count.add(of(index), WHOLE, -1);
    return count.report(PLAIN);
  }

  /** The ranking of nine candidates with this number, of 362,880. */
  function permutation(index: number): PositionBallot {
    const left = [...'abcdefghi'];
    let rest = index * 5;
    let letters = '';
    for (let place = 9; place > 0; place -= 1) {
      letters += left.splice(rest % place, 1).join('');
      rest = Math.floor(rest / place);
    }
    return ranking(letters);
  }

  test('are counted the same whether they are grouped or not, and taken out again', () => {
    const ungrouped = everyRanking(permutation);
    const grouped = counted(position('ranked_choice', 9, { seats: 2 }), []);
    for (let index = 0; index < MANY; index += 1) {
      if (index % 3 !== 0) grouped.add(permutation(index), WHOLE);
    }
    expect(ungrouped).toEqual(grouped.report(PLAIN));
    expect(ungrouped.totalVotes).toBe(46_666);
  });

  test('more candidates than a byte can name are told apart', () => {
    const rows = Array.from({ length: 600 }, (_, index) => ({ id: `c${index}` }));
    const count = counted(position('ranked_choice', rows), []);
    const ballot = (...candidates: number[]): PositionBallot => ({
      length: candidates.length,
      candidates,
      values: candidates.map((_, place) => place + 1),
    });
    count.add(ballot(599, 3), WHOLE, 3);
    count.add(ballot(343), WHOLE, 4);
    count.add(ballot(87, 599), WHOLE, 2);
    expect(count.report(PLAIN).winners).toEqual(['c599']);
    expect(() => count.add(ballot(600), WHOLE)).toThrow(CountRefused);
  });
});
