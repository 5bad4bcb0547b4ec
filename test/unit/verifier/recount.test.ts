import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PlainResult } from '#test/second-count/count-plainly.ts';
import { countByService, createRandom, type Election, randomElection } from '#test/second-count/random-elections.ts';
import { type BallotPosition, readBallotDefinition } from '../../../verifier/ballot-definition.ts';
import { areTooMany, showRound } from '../../../verifier/check-results.ts';
import { type Lot, PositionTally, recount } from '../../../verifier/recount.ts';

/** A sample, and the full form by night: `npm run elections`. */
const ELECTIONS = Number(process.env['ELECTIONS'] ?? 3_000);
const VERIFIER = path.resolve(import.meta.dirname, '../../../verifier');

/** As the configuration of a log gives it, so that reading it is tried too. */
function definitionOf({ position }: Election): BallotPosition {
  const { candidates, scoreMin = null, scoreMax = null, majorityRequired = null, rules } = position;
  const [definition] = readBallotDefinition({
    v: 2,
    positions: [{ ...position, groupId: null, scoreMin, scoreMax, majorityRequired, rules }],
    candidates: candidates.map((one) => ({
      ...one,
      positionIds: [position.id],
      status: one.withdrawn ? 'withdrawn' : 'approved',
    })),
  });
  if (definition === undefined) throw new Error('a configuration without its position');
  return definition;
}

function recounted(election: Election, lot: Lot) {
  const { position, ballots, options } = election;
  const tally = new PositionTally(definitionOf(election));
  for (const { marks, weight, voided } of ballots) {
    const votes = marks.map(({ candidate, value }) => ({
      positionId: position.id,
      candidateId: position.candidates[candidate]?.id ?? '',
      ...(position.votingMethod === 'ranked_choice' ? { rank: value } : { value }),
    }));
    tally.add(votes, weight, 1n);
    if (voided) tally.add(votes, weight, -1n);
  }
  const { whole, unit, electorate } = options;
  const own = recount(tally, { ...lot, whole, unit, electorate });
  return {
    votes: position.candidates.map(({ id }) => Number(own.votesWon.get(id))),
    weights: position.candidates.map(({ id }) => own.weightWon.get(id)),
    winners: own.winners,
    tied: own.tied.toSorted(),
    totalVotes: Number(own.totalVotes),
    outcome: own.referendum?.outcome ?? null,
    rounds: areTooMany(own.rounds ?? [])
      ? null
      : (own.rounds?.map((round, index) => showRound(round, index, tally, whole)) ?? null),
    further: own.further,
    rules: own.referendum?.rules ?? null,
  };
}

/** As the service lists candidates: rows of a result stand in that order. */
function inCandidateOrder(election: Election): Election {
  const { candidates } = election.position;
  const order = candidates.toSorted((a, b) => a.sortOrder - b.sortOrder || (a.id < b.id ? -1 : 1));
  const ballots = election.ballots.map((ballot) => ({
    ...ballot,
    marks: ballot.marks.map(({ candidate, value }) => ({
      ...{ candidate: order.findIndex(({ id }) => id === candidates[candidate]?.id), value },
    })),
  }));
  return { ...election, ballots, position: { ...election.position, candidates: order } };
}

function outcomeOf({ referendum }: PlainResult): string | null {
  if (typeof referendum !== 'object' || referendum === null) return null;
  return String(Reflect.get(referendum, 'outcome'));
}

function fine(decimal: string): bigint {
  const [units = '0', decimals = ''] = decimal.replace('-', '').split('.');
  const scaled = BigInt(units) * 10n ** 11n + BigInt(decimals.padEnd(11, '0'));
  return decimal.startsWith('-') ? -scaled : scaled;
}

describe("the verifier's own count", () => {
  test(`agrees with the service's in ${ELECTIONS} random elections of every method`, () => {
    let compared = 0;
    for (let number = 1; number <= ELECTIONS; number += 1) {
      const drawn = randomElection(createRandom(number));
      const lot = drawn.options.lot ?? { seed: 'c0ffee', root: 'f0f0' };
      const election = inCandidateOrder({ ...drawn, options: { ...drawn.options, lot } });
      const service = countByService(election);
      const expected = {
        votes: service.candidates.map(({ votesWon }) => votesWon),
        weights: service.candidates.map(({ weightWon }) => fine(weightWon)),
        winners: service.winners,
        tied: service.candidates.flatMap(({ id, tied }) => (tied ? id : [])).toSorted(),
        totalVotes: service.totalVotes,
        outcome: outcomeOf(service),
      };
      const own = recounted(election, lot);
      const { runnerUp, runoff, margin, tie, firstChoices, pairwise, finalTwo } = service;
      const further = { runnerUp, runoff, margin, tie, firstChoices, pairwise, finalTwo };
      const rules = Reflect.get(Object(service.referendum), 'rules') ?? null;
      // Too many rounds for one answer are left out of it: then the figures are compared.
      expect(own.rounds === null).toBe(service.rounds === null);
      compared += service.rounds?.length ?? 0;
      expect({ number, ...own }).toEqual({ number, ...expected, further, rules, rounds: service.rounds });
    }
    expect(compared).toBeGreaterThan(1_000);
  });
});

test('the verifier imports nothing but itself and Node: what it says does not rest on the service it checks', () => {
  const importsOf = (folder: string): string[] =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => {
        const source = readFileSync(path.join(folder, name), 'utf8');
        return [...source.matchAll(/from '([^']+)'|import\('([^']+)'\)/g)].map((match) => match[1] ?? match[2] ?? '');
      });
  expect(importsOf(VERIFIER).filter((from) => !/^(?:node:|\.\/)/.test(from))).toEqual([]);
  // A browser hashes and verifies with libraries in the place of Node.
  const ofPage = importsOf(path.join(VERIFIER, 'browser')).filter((from) => !/^\.\.?\/[\w-]+\.ts$/.test(from));
  expect([...new Set(ofPage)].sort()).toEqual(['@noble/ed25519', '@noble/hashes/sha2.js', 'buffer']);
});
