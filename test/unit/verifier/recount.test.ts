import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { countByService, createRandom, type Election, randomElection } from '#test/second-count/random-elections.ts';
import type { PaperPosition } from '../../../verifier/paper.ts';
import { PositionTally, recount } from '../../../verifier/recount.ts';

const ELECTIONS = 10_000;
const VERIFIER = path.resolve(import.meta.dirname, '../../../verifier');

function paperOf({ position }: Election): PaperPosition {
  const { id, title, votingMethod: method, seats, tieBreak, rules } = position;
  const candidates = position.candidates
    .toSorted((a, b) => a.sortOrder - b.sortOrder || (a.id < b.id ? -1 : 1))
    .map((one) => ({ id: one.id, withdrawn: one.withdrawn, role: one.referendumRole ?? '' }));
  return { id, title, method, seats, tieBreak, grouped: false, rules: { ...rules }, candidates };
}

function recounted(election: Election, seed: string) {
  const { position, ballots, options } = election;
  const tally = new PositionTally(paperOf(election));
  for (const { marks, weight } of ballots) {
    const votes = marks.map(({ candidate, value }) => ({
      positionId: position.id,
      candidateId: position.candidates[candidate]?.id ?? '',
      ...(position.votingMethod === 'ranked_choice' ? { rank: value } : { value }),
    }));
    tally.add(votes, weight, 1n);
  }
  const own = recount(tally, { seed, whole: options.whole, electorate: options.electorate });
  return {
    votes: position.candidates.map(({ id }) => Number(own.votesWon.get(id))),
    weights: position.candidates.map(({ id }) => own.weightWon.get(id)),
    winners: own.winners,
    tied: own.tied.toSorted(),
    totalVotes: Number(own.totalVotes),
    outcome: own.outcome,
    rounds: own.rounds ?? [],
  };
}

function fine(decimal: string): bigint {
  const [units = '0', decimals = ''] = decimal.replace('-', '').split('.');
  const scaled = BigInt(units) * 10n ** 11n + BigInt(decimals.padEnd(11, '0'));
  return decimal.startsWith('-') ? -scaled : scaled;
}

describe("the verifier's own count", () => {
  test(`agrees with the service's in ${ELECTIONS} random elections of every method`, { timeout: 120_000 }, () => {
    for (let number = 1; number <= ELECTIONS; number += 1) {
      const drawn = randomElection(createRandom(number));
      const seed = drawn.options.seed ?? 'c0ffee';
      const election = { ...drawn, options: { ...drawn.options, seed } };
      const service = countByService(election);
      const expected = {
        votes: service.figures.map(({ votes }) => votes),
        weights: service.figures.map(({ weight }) => fine(weight)),
        winners: service.winners,
        tied: service.tied.toSorted(),
        totalVotes: service.totalVotes,
        outcome: service.outcome,
        rounds: service.rounds.map(({ elected, eliminated }) => ({ elected, eliminated })),
      };
      expect({ number, ...recounted(election, seed) }).toEqual({ number, ...expected });
    }
  });
});

test('the verifier imports nothing but itself and Node: what it says does not rest on the service it checks', () => {
  for (const name of readdirSync(VERIFIER)) {
    const source = readFileSync(path.join(VERIFIER, name), 'utf8');
    const imported = [...source.matchAll(/from '([^']+)'|import\('([^']+)'\)/g)].map((match) => match[1] ?? match[2]);
    expect(imported.filter((from) => !/^(?:node:|\.\/)/.test(from ?? ''))).toEqual([]);
  }
});
