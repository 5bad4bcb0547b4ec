import path from 'node:path';
import type { Mutant } from './copy-project.ts';

/** One wrong rule: a text of a file of src/tally, which must stand there once, and what it is replaced by. */
type Slip = readonly [name: string, find: string, replace: string];

/** Slips that a programmer could make in each rule of docs/counting.md, by file. */
const SLIPS: Readonly<Record<string, readonly Slip[]>> = {
  'earlier-rounds.ts': [
    [
      'an elimination is decided by the earliest round in which the tied differ',
      'let [at, against] = [mine.rounds.length - 1, theirs.rounds.length - 1];',
      'const [own, others] = [mine.tallies, theirs.tallies]; if (own[0] !== others[0]) return (own[0] ?? 0n) < (others[0] ?? 0n) ? -1 : 1; let [at, against] = [mine.rounds.length - 1, theirs.rounds.length - 1];',
    ],
    [
      'only the first of those who were lowest in an earlier round is kept',
      'else if (order === 0) best.push(candidate);',
      '',
    ],
  ],
  'ties.ts': [
    ['the higher of an earlier round is eliminated', 'earlier.best(tied, -1)', 'earlier.best(tied, 1)'],
    [
      'the smaller of equal surpluses in an earlier round is passed on first',
      'earlier.best(tied, 1)',
      'earlier.best(tied, -1)',
    ],
    [
      'a joint position eliminates by candidate order',
      "this.#position.tieBreak !== 'candidate_order';",
      "this.#position.tieBreak === 'lot';",
    ],
    ['the lot is drawn without the root of the log', ".update(root, 'hex')", ".update(root.slice(0, 0), 'hex')"],
    ['the lot hashes the hex text of the seed', ".update(seed, 'hex')", ".update(seed, 'utf8')"],
    [
      'the largest lot number is the luckiest',
      '(place[a] ?? 0) - (place[b] ?? 0)',
      '(place[b] ?? 0) - (place[a] ?? 0)',
    ],
    [
      'a lot that is not drawn yet elects all of the tied',
      'return { winners: [], decision, separated: false, undecided: true };',
      'return { winners: this.inCandidateOrder(tied), decision, separated: false, undecided: true };',
    ],
    ['a provisional round is not marked', 'provisional: byLot && !drawn', 'provisional: false'],
    [
      'candidates of equal sort order stand in the order of the position',
      "compare(orders[a] ?? 0, orders[b] ?? 0) || compare(ids[a] ?? '', ids[b] ?? '')",
      'compare(orders[a] ?? 0, orders[b] ?? 0)',
    ],
  ],
  'instant-runoff.ts': [
    [
      'half of the active weight is a majority',
      'count.tally(candidate) * 2n > active',
      'count.tally(candidate) * 2n >= active',
    ],
    [
      'a majority is shown in whole units whatever the weights',
      'wholeWeights ? TALLY_DECIMALS : VALUE_DECIMALS',
      'wholeWeights || active > 0n ? TALLY_DECIMALS : VALUE_DECIMALS',
    ],
    [
      'the last two of a runoff are shown in candidate order',
      'return [...first, ...rest].map(',
      'return count.ties.inCandidateOrder([...first, ...rest]).map(',
    ],
  ],
  'single-transferable-vote.ts': [
    ['the quota is whole for every weight', 'if (!unitWeights) return', 'if (!unitWeights && seats < 0) return'],
    [
      'the exact quota is reached by being equal to it',
      'numerator: valid, denominator, inclusive: false',
      'numerator: valid, denominator, inclusive: true',
    ],
    [
      'the quota of unit weights is not rounded up',
      '(valid / (denominator * WHOLE) + 1n) * WHOLE',
      '(valid / (denominator * WHOLE)) * WHOLE',
    ],
    [
      'the smallest surplus is passed on first',
      '(one > most ? one : most), 0n)',
      '(one > 0n && (most === 0n || one < most) ? one : most), 0n)',
    ],
    [
      'what cutting down loses is forgotten',
      'this.#lost += tally - this.#kept - moved;',
      'this.#lost += (tally - this.#kept - moved) * 0n;',
    ],
    [
      'a surplus takes the heads of all its ballots along',
      'passed.reduce((sum, { heads }) => sum + heads, 0n)',
      'passed.reduce((sum, { heads }) => sum + heads + heads, 0n)',
    ],
    [
      'those elected below the quota are elected in the order of the ballot',
      'const elected = this.#count.ties.byFigure(candidates, (candidate) => this.#count.tally(candidate));',
      'const elected = [...candidates];',
    ],
  ],
  'ranked-choice.ts': [
    [
      'ranks above 29 are lost',
      'rankings.add(reader.places, ballot.length, weightMicro, times);',
      'rankings.add(reader.places, Math.min(ballot.length, 29), weightMicro, times);',
    ],
    [
      'gaps of ranks stay open',
      'if (!this.#readWithoutGaps(ballot)) this.#readWithGaps(ballot);',
      'this.#readWithoutGaps(ballot);',
    ],
  ],
  'piles.ts': [
    ['a withdrawn candidate receives ballots', '(out ? 0 : 1)', '(out ? 1 : 1)'],
    [
      'a surplus is passed on at six decimals',
      'Number((BigInt(value) * numerator) / denominator)',
      'Number((BigInt(value) * numerator + denominator - 1n) / denominator)',
    ],
    [
      'with many candidates only the newest ballot of each is found again',
      'next[group] = first[receiver] as number;',
      'next[group] = -1;',
    ],
    [
      'ballots that differ from all others weigh a head each',
      'if (heads[group] !== 1 || weightIndexOf[group] !== 0) return false;',
      'if (heads[group] !== 1) return false;',
    ],
    [
      'identical ballots are one where ballots of one kind are moved',
      'if (heads[group] !== 1 || weightIndexOf[group] !== 0) return false;',
      'if (weightIndexOf[group] !== 0) return false;',
    ],
  ],
  'rankings.ts': [
    [
      'different rankings of one beginning share a group',
      'return this.cells[start + length] === this.candidates;',
      'return true;',
    ],
    [
      'rankings of different weights share a group',
      'if (this.weightIndexOf[group] !== weightIndex) return',
      'if (this.weightIndexOf[group] === undefined) return',
    ],
  ],
  'round-log.ts': [
    [
      'exhausted ballots hold what cutting down lost',
      'this.#piles.rankedWeight - held - lost',
      'this.#piles.rankedWeight - held',
    ],
    [
      'figures of a candidate are those of its first round',
      'this.#lastWeight[candidate] = weight[candidate] ?? 0n;',
      'this.#lastWeight[candidate] ||= weight[candidate] ?? 0n;',
    ],
    ['the lowest of a long round are listed', 'compare(tally(b), tally(a))', 'compare(tally(a), tally(b))'],
  ],
  'highest-sums.ts': [
    ['a withdrawn candidate may win by sum', '?.withdrawn === false', '!== undefined'],
    [
      'a candidate without a vote may win by sum',
      'this.#rule.zeroMayWin || this.#figure(candidate) > 0n',
      'this.#rule.zeroMayWin || this.#figure(candidate) >= 0n',
    ],
    [
      'a required majority is reached by being equal to it',
      'return reached > this.#sums.answeredMicro * BigInt(majority.numerator);',
      'return reached >= this.#sums.answeredMicro * BigInt(majority.numerator);',
    ],
    ['a runoff has one candidate too few', 'this.#best(others, open + 1)', 'this.#best(others, open)'],
    [
      'a tie at the last seat goes to the first candidates',
      '|| this.#figure(lastSeat) > this.#figure(firstLoser)',
      '|| this.#figure(lastSeat) >= this.#figure(firstLoser)',
    ],
  ],
  'start-count.ts': [
    ['a score that is left out is always 0', 'lowest > 0 || highest < 0 ? lowest : 0', 'lowest > 1000 ? lowest : 0'],
  ],
  'ballot-sums.ts': [
    [
      'an abstention gives the lowest mark too',
      'if (ballot.length > 0) this.#answered.add(',
      'if (ballot.length >= 0) this.#answered.add(',
    ],
    [
      'sums of more than 64 weights are heads',
      'weights[candidate] = (weights[candidate] ?? 0n) + value * weightMicro;',
      'weights[candidate] = (weights[candidate] ?? 0n) + value * 1_000_000n;',
    ],
    ['a sum of weights forgets the last run of one weight', 'this.#sum = this.micro;', ''],
  ],
  'referendum.ts': [
    [
      'abstentions stand outside of the answers',
      "threshold.base === 'answers' ? yes + no + abstain : yes + no",
      "threshold.base === 'answers' ? yes + no : yes + no",
    ],
    [
      'blank ballots are no turnout',
      'turnoutMicro += weightMicro * BigInt(times);',
      'if (ballot.length > 0) turnoutMicro += weightMicro * BigInt(times);',
    ],
    ['a threshold is always inclusive', '(fraction.inclusive && reached === required)', 'reached === required'],
  ],
  'margin.ts': [
    [
      'a margin is rounded down',
      '(numerator + denominator * step - 1n) / (denominator * step)',
      'numerator / (denominator * step)',
    ],
  ],
  'pairwise.ts': [
    [
      'a pair counts ballots that leave both out',
      '(named[one] ?? 0n) - (above[other * size + one] ?? 0n)',
      '(named[one] ?? 0n) - (above[one * size + other] ?? 0n)',
    ],
    [
      'being level with everybody makes a Condorcet winner',
      'over(one, other) > over(other, one)',
      'over(one, other) >= over(other, one)',
    ],
    [
      'a pair of ballots that differ from all others is turned around',
      'this.#counts.count(other, one) * worth',
      'this.#counts.count(one, other) * worth',
    ],
  ],
  'bit-counts.ts': [['what eight masks carry is lost', '(fours & four1) | (half & four2)', 'fours & four1']],
  '../ballots/ballot-encoding.ts': [
    [
      'a packed ranking keeps the order of its candidates',
      'cells[start + rank - 1] = candidate;',
      'cells[start + entry] = candidate;',
    ],
    ['a packed value below zero loses its sign', '(zigzagged >> 1) ^ -(zigzagged & 1)', 'zigzagged >> 1'],
  ],
};

export const MUTANTS: readonly Mutant[] = Object.entries(SLIPS).flatMap(([file, slips]) =>
  slips.map(([name, find, replace]) => ({ name, file: path.join('src/tally', file), find, replace })),
);
