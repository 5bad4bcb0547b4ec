/** One wrong rule: a text of a file of src/tally, which must stand there once, and what it is replaced by. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Slips that a programmer could make in each rule of docs/counting.md. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'an elimination is decided by the earliest round in which the tied differ',
    file: 'earlier-rounds.ts',
    find: 'let [at, against] = [mine.rounds.length - 1, theirs.rounds.length - 1];',
    replace:
      'const [own, others] = [mine.tallies, theirs.tallies]; if (own[0] !== others[0]) return (own[0] ?? 0n) < (others[0] ?? 0n) ? -1 : 1; let [at, against] = [mine.rounds.length - 1, theirs.rounds.length - 1];',
  },
  {
    name: 'only the first of those who were lowest in an earlier round is kept',
    file: 'earlier-rounds.ts',
    find: 'else if (order === 0) best.push(candidate);',
    replace: '',
  },
  {
    name: 'the higher of an earlier round is eliminated',
    file: 'ties.ts',
    find: 'earlier.best(tied, -1)',
    replace: 'earlier.best(tied, 1)',
  },
  {
    name: 'the smaller of equal surpluses in an earlier round is passed on first',
    file: 'ties.ts',
    find: 'earlier.best(tied, 1)',
    replace: 'earlier.best(tied, -1)',
  },
  {
    name: 'a joint position eliminates by candidate order',
    file: 'ties.ts',
    find: "this.#position.tieBreak !== 'candidate_order';",
    replace: "this.#position.tieBreak === 'lot';",
  },
  {
    name: 'the lot is drawn without the root of the log',
    file: 'ties.ts',
    find: ".update(root, 'hex')",
    replace: ".update(root.slice(0, 0), 'hex')",
  },
  {
    name: 'the lot hashes the hex text of the seed',
    file: 'ties.ts',
    find: ".update(seed, 'hex')",
    replace: ".update(seed, 'utf8')",
  },
  {
    name: 'the largest lot number is the luckiest',
    file: 'ties.ts',
    find: '(place[a] ?? 0) - (place[b] ?? 0)',
    replace: '(place[b] ?? 0) - (place[a] ?? 0)',
  },
  {
    name: 'a lot that is not drawn yet elects all of the tied',
    file: 'ties.ts',
    find: 'return { winners: [], decision, separated: false, undecided: true };',
    replace: 'return { winners: this.inCandidateOrder(tied), decision, separated: false, undecided: true };',
  },
  {
    name: 'a provisional round is not marked',
    file: 'ties.ts',
    find: 'provisional: byLot && !drawn',
    replace: 'provisional: false',
  },
  {
    name: 'candidates of equal sort order stand in the order of the position',
    file: 'ties.ts',
    find: "compare(orders[a] ?? 0, orders[b] ?? 0) || compare(ids[a] ?? '', ids[b] ?? '')",
    replace: 'compare(orders[a] ?? 0, orders[b] ?? 0)',
  },
  {
    name: 'half of the active weight is a majority',
    file: 'instant-runoff.ts',
    find: 'count.tally(candidate) * 2n > active',
    replace: 'count.tally(candidate) * 2n >= active',
  },
  {
    name: 'a majority is shown in whole units whatever the weights',
    file: 'instant-runoff.ts',
    find: 'wholeWeights ? TALLY_DECIMALS : VALUE_DECIMALS',
    replace: 'wholeWeights || active > 0n ? TALLY_DECIMALS : VALUE_DECIMALS',
  },
  {
    name: 'the last two of a runoff are shown in candidate order',
    file: 'instant-runoff.ts',
    find: 'return [...first, ...rest].map(',
    replace: 'return count.ties.inCandidateOrder([...first, ...rest]).map(',
  },
  {
    name: 'the quota is whole for every weight',
    file: 'single-transferable-vote.ts',
    find: 'if (!unitWeights) return',
    replace: 'if (!unitWeights && seats < 0) return',
  },
  {
    name: 'the exact quota is reached by being equal to it',
    file: 'single-transferable-vote.ts',
    find: 'numerator: valid, denominator, inclusive: false',
    replace: 'numerator: valid, denominator, inclusive: true',
  },
  {
    name: 'the quota of unit weights is not rounded up',
    file: 'single-transferable-vote.ts',
    find: '(valid / (denominator * WHOLE) + 1n) * WHOLE',
    replace: '(valid / (denominator * WHOLE)) * WHOLE',
  },
  {
    name: 'the smallest surplus is passed on first',
    file: 'single-transferable-vote.ts',
    find: '(one > most ? one : most), 0n)',
    replace: '(one > 0n && (most === 0n || one < most) ? one : most), 0n)',
  },
  {
    name: 'what cutting down loses is forgotten',
    file: 'single-transferable-vote.ts',
    find: 'this.#lost += tally - this.#kept - moved;',
    replace: 'this.#lost += (tally - this.#kept - moved) * 0n;',
  },
  {
    name: 'a surplus takes the heads of all its ballots along',
    file: 'single-transferable-vote.ts',
    find: 'passed.reduce((sum, { heads }) => sum + heads, 0n)',
    replace: 'passed.reduce((sum, { heads }) => sum + heads + heads, 0n)',
  },
  {
    name: 'those elected below the quota are elected in the order of the ballot',
    file: 'single-transferable-vote.ts',
    find: 'const elected = this.#count.ties.byFigure(candidates, (candidate) => this.#count.tally(candidate));',
    replace: 'const elected = [...candidates];',
  },
  {
    name: 'ranks above 29 are lost',
    file: 'ranked-choice.ts',
    find: 'rankings.add(reader.places, ballot.length, weightMicro, times);',
    replace: 'rankings.add(reader.places, Math.min(ballot.length, 29), weightMicro, times);',
  },
  {
    name: 'gaps of ranks stay open',
    file: 'ranked-choice.ts',
    find: 'if (!this.#readWithoutGaps(ballot)) this.#readWithGaps(ballot);',
    replace: 'this.#readWithoutGaps(ballot);',
  },
  {
    name: 'a withdrawn candidate receives ballots',
    file: 'piles.ts',
    find: '(out ? 0 : 1)',
    replace: '(out ? 1 : 1)',
  },
  {
    name: 'a surplus is passed on at six decimals',
    file: 'piles.ts',
    find: 'Number((BigInt(value) * numerator) / denominator)',
    replace: 'Number((BigInt(value) * numerator + denominator - 1n) / denominator)',
  },
  {
    name: 'with many candidates only the newest ballot of each is found again',
    file: 'piles.ts',
    find: 'next[group] = first[receiver] as number;',
    replace: 'next[group] = -1;',
  },
  {
    name: 'different rankings of one beginning share a group',
    file: 'rankings.ts',
    find: 'return this.cells[start + length] === this.candidates;',
    replace: 'return true;',
  },
  {
    name: 'rankings of different weights share a group',
    file: 'rankings.ts',
    find: 'if (this.weightIndexOf[group] !== weightIndex) {',
    replace: 'if (this.weightIndexOf[group] === undefined) {',
  },
  {
    name: 'exhausted ballots hold what cutting down lost',
    file: 'round-log.ts',
    find: 'this.#piles.rankedWeight - held - lost',
    replace: 'this.#piles.rankedWeight - held',
  },
  {
    name: 'figures of a candidate are those of its first round',
    file: 'round-log.ts',
    find: 'this.#lastWeight[candidate] = weight[candidate] ?? 0n;',
    replace: 'this.#lastWeight[candidate] ||= weight[candidate] ?? 0n;',
  },
  {
    name: 'the lowest of a long round are listed',
    file: 'round-log.ts',
    find: 'compare(tally(b), tally(a))',
    replace: 'compare(tally(a), tally(b))',
  },
  {
    name: 'a withdrawn candidate may win by sum',
    file: 'highest-sums.ts',
    find: '?.withdrawn === false',
    replace: '!== undefined',
  },
  {
    name: 'a candidate without a vote may win by sum',
    file: 'highest-sums.ts',
    find: 'this.#rule.zeroMayWin || this.#figure(candidate) > 0n',
    replace: 'this.#rule.zeroMayWin || this.#figure(candidate) >= 0n',
  },
  {
    name: 'a required majority is reached by being equal to it',
    file: 'highest-sums.ts',
    find: 'return reached > this.#sums.answeredMicro * BigInt(majority.numerator);',
    replace: 'return reached >= this.#sums.answeredMicro * BigInt(majority.numerator);',
  },
  {
    name: 'a runoff has one candidate too few',
    file: 'highest-sums.ts',
    find: 'this.#best(others, open + 1)',
    replace: 'this.#best(others, open)',
  },
  {
    name: 'a tie at the last seat goes to the first candidates',
    file: 'highest-sums.ts',
    find: '|| this.#figure(lastSeat) > this.#figure(firstLoser)',
    replace: '|| this.#figure(lastSeat) >= this.#figure(firstLoser)',
  },
  {
    name: 'a score that is left out is always 0',
    file: 'sum-methods.ts',
    find: 'lowest > 0 || highest < 0 ? lowest : 0',
    replace: 'lowest > 1000 ? lowest : 0',
  },
  {
    name: 'an abstention gives the lowest mark too',
    file: 'ballot-sums.ts',
    find: 'if (ballot.length > 0) this.#answered.add(',
    replace: 'if (ballot.length >= 0) this.#answered.add(',
  },
  {
    name: 'sums of more than 64 weights are heads',
    file: 'ballot-sums.ts',
    find: 'weights[candidate] = (weights[candidate] ?? 0n) + value * weightMicro;',
    replace: 'weights[candidate] = (weights[candidate] ?? 0n) + value * 1_000_000n;',
  },
  {
    name: 'abstentions stand outside of the answers',
    file: 'referendum.ts',
    find: "threshold.base === 'answers' ? yes + no + abstain : yes + no",
    replace: "threshold.base === 'answers' ? yes + no : yes + no",
  },
  {
    name: 'blank ballots are no turnout',
    file: 'referendum.ts',
    find: 'turnoutMicro += weightMicro * BigInt(times);',
    replace: 'if (ballot.length > 0) turnoutMicro += weightMicro * BigInt(times);',
  },
  {
    name: 'a threshold is always inclusive',
    file: 'referendum.ts',
    find: '(fraction.inclusive && reached === required)',
    replace: 'reached === required',
  },
  {
    name: 'a margin is rounded down',
    file: 'margin.ts',
    find: '(numerator + denominator * step - 1n) / (denominator * step)',
    replace: 'numerator / (denominator * step)',
  },
  {
    name: 'a pair counts ballots that leave both out',
    file: 'pairwise.ts',
    find: '(named[one] ?? 0n) - (above[other * size + one] ?? 0n)',
    replace: '(named[one] ?? 0n) - (above[one * size + other] ?? 0n)',
  },
  {
    name: 'being level with everybody makes a Condorcet winner',
    file: 'pairwise.ts',
    find: 'over(one, other) > over(other, one)',
    replace: 'over(one, other) >= over(other, one)',
  },
  {
    name: 'a pair of ballots that differ from all others is turned around',
    file: 'pairwise.ts',
    find: 'this.#counts.count(other, one) * worth',
    replace: 'this.#counts.count(one, other) * worth',
  },
  {
    name: 'what eight masks carry is lost',
    file: 'bit-counts.ts',
    find: '(fours & four1) | (half & four2)',
    replace: 'fours & four1',
  },
  {
    name: 'ballots that differ from all others weigh a head each',
    file: 'piles.ts',
    find: 'if (heads[group] !== 1 || weightIndexOf[group] !== 0) return false;',
    replace: 'if (heads[group] !== 1) return false;',
  },
  {
    name: 'identical ballots are one where ballots of one kind are moved',
    file: 'piles.ts',
    find: 'if (heads[group] !== 1 || weightIndexOf[group] !== 0) return false;',
    replace: 'if (weightIndexOf[group] !== 0) return false;',
  },
  {
    name: 'a packed ranking keeps the order of its candidates',
    file: '../ballots/ballot-encoding.ts',
    find: 'cells[start + rank - 1] = candidate;',
    replace: 'cells[start + entry] = candidate;',
  },
  {
    name: 'a packed value below zero loses its sign',
    file: '../ballots/ballot-encoding.ts',
    find: '(zigzagged >> 1) ^ -(zigzagged & 1)',
    replace: 'zigzagged >> 1',
  },
  {
    name: 'a sum of weights forgets the last run of one weight',
    file: 'ballot-sums.ts',
    find: 'this.#sum = this.micro;',
    replace: '',
  },
];
