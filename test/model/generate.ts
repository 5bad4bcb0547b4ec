/** Histories made by a seed: one or two prepared openings, then a mixture of everything. */

import { type Json, Random } from './kit.ts';
import type { Op } from './send.ts';
import { HOUR, MINUTE } from './state.ts';

const METHODS = ['plurality', 'approval', 'score', 'cumulative', 'ranked_choice', 'quadratic'];

/** Operations of one prepared opening for the event with this number. */
export function opening(shape: number, e: number, random: Random): Op[] {
  const ops: Op[] = [];
  const add = (k: string, i = 0, j = 0, x?: Json) =>
    ops.push({ k, p: random.int(2), e, i, j, r: random.int(2 ** 31), ...(x === undefined ? {} : { x }) });
  const candidates = (position: number, count: number) => {
    for (let j = 0; j < count; j += 1) add('candidate', position, j);
  };
  const settings: Json = { title: `Opening ${shape}` };
  if (random.chance(0.5)) settings['results'] = { visibility: random.pick(['live', 'live', 'published']) };
  if (random.chance(0.2))
    settings['ballot'] = { candidateOrder: 'shuffled', ...(random.chance(0.5) ? { receipt: 'full' } : {}) };
  if (random.chance(0.4)) settings['endsIn'] = random.pick([HOUR, 3 * HOUR, 2 * HOUR + 30 * MINUTE]);
  if (random.chance(0.25)) settings['startsIn'] = 30 * MINUTE;
  const election = (voter: Json = {}) => add('event', 0, 0, { ...settings, type: 'election', voter });
  const poll = (voter: Json = {}) => add('event', 0, 0, { ...settings, type: 'poll', voter });
  const seats = random.between(1, 2);
  const tieBreak = random.pick(['joint', 'lot', 'candidate_order']);
  let voters: Json | undefined = { count: random.pick([4, 6, 8, 12]) };
  switch (shape) {
    case 0:
      election(random.chance(0.3) ? { requireVoterId: true } : {});
      add('position', 0, 0, { title: 'Chair', votingMethod: 'plurality', tieBreak });
      candidates(0, random.between(2, 4));
      break;
    case 1:
      election({ requireVoterId: random.chance(0.5) });
      add('position', 0, 0, { title: 'Board', votingMethod: 'approval', seats, tieBreak });
      candidates(0, 4);
      voters = {
        count: 8,
        weights: random.pick([
          [1, 2, 3],
          [0.5, 1.25, 2],
          [1, 1, 1, 0.333333],
        ]),
      };
      break;
    case 2:
      election();
      add('position', 0, 0, { title: 'Chair', votingMethod: 'ranked_choice', seats, tieBreak });
      candidates(0, random.between(3, 5));
      voters = { count: 10 };
      break;
    case 3:
      election();
      add('position', 0, 0, {
        title: 'Question',
        votingMethod: 'referendum',
        ...(random.chance(0.5)
          ? { rules: { threshold: { numerator: 2, denominator: 3, inclusive: random.chance(0.5) } } }
          : {}),
      });
      for (const [j, role] of ['yes', 'no', 'abstain'].entries()) add('candidate', 0, j, { referendumRole: role });
      break;
    case 4:
      election();
      for (const [i, method] of random.shuffle(METHODS).slice(0, 3).entries()) {
        add('position', i, 0, { title: `Position ${i}`, votingMethod: method });
        candidates(i, 3);
      }
      break;
    case 5:
      poll();
      add('business', random.int(2));
      add('position', 0, 0, {
        title: 'Budget',
        votingMethod: 'quadratic',
        quadraticBaseCreditBudget: random.pick([10, 30]),
      });
      candidates(0, 3);
      ops.push({ k: 'topUp', p: 0, e, i: 0, j: 0, r: random.int(2 ** 31) });
      voters = undefined;
      break;
    case 6:
    case 7: {
      const provider = shape - 6;
      poll({ saveVoterInfo: random.chance(0.5), requireVoterId: random.chance(0.3) });
      add('business', provider);
      const currency = provider === 0 ? random.pick(['usd', 'jpy']) : 'ngn';
      add('patchEvent', 0, 0, {
        payments: {
          payToVote: { amountMinor: random.pick([5000, 12_500]), currency },
          repeatVotes: random.chance(0.3),
        },
      });
      add('position', 0, 0, { title: 'Song', votingMethod: random.pick(['plurality', 'approval']) });
      candidates(0, 3);
      voters = undefined;
      break;
    }
    case 8:
    case 9:
      poll({ saveVoterInfo: random.chance(0.5), requireVoterId: random.chance(0.5) });
      add('position', 0, 0, { title: 'Favourite', votingMethod: random.pick(METHODS) });
      candidates(0, 3);
      voters = undefined;
      break;
    case 10:
      election({ selfRegistration: true, approval: random.pick(['automatic', 'manual']) });
      add('position', 0, 0, { title: 'Chair', votingMethod: 'plurality' });
      candidates(0, 2);
      voters = { count: 2 };
      break;
    case 11:
      election();
      add('group', 0);
      add('group', 1);
      add('position', 0, 0, { title: 'North', votingMethod: 'plurality', group: 0 });
      add('position', 1, 0, { title: 'All', votingMethod: 'approval' });
      candidates(0, 2);
      candidates(1, 3);
      voters = { count: 8 };
      break;
    default:
      election();
      add('business', 0);
      add('patchEvent', 0, 0, {
        candidate: { selfRegistration: true },
        payments: { payToRegisterCandidate: { amountMinor: 9000, currency: 'usd' } },
      });
      add('position', 0, 0, { title: 'Chair', votingMethod: 'plurality' });
      candidates(0, 2);
  }
  if (voters !== undefined) add('voters', 0, 0, voters);
  if (random.chance(0.15)) add('rehearse');
  if (settings['startsIn'] === undefined || random.chance(0.6)) add('open');
  else add('advanceTo');
  if (voters !== undefined && random.chance(0.8)) add('keys', 0, 12);
  if (shape === 10) for (let i = 0; i < 4; i += 1) add('registerVoter', i);
  if (shape === 12) {
    add('registerCandidate', 0);
    add('pay', 0);
    add('second', 0);
  }
  const many = random.chance(0.5) ? random.between(3, 10) : 0;
  for (let i = 0; i < many; i += 1) add('vote', i);
  return ops;
}

const WEIGHTS: readonly (readonly [number, string])[] = [
  [14, 'vote'],
  [8, 'cast'],
  [6, 'castOdd'],
  [8, 'confirm'],
  [3, 'confirmAgain'],
  [4, 'keys'],
  [1, 'keyUnknown'],
  [1, 'sendKey'],
  [4, 'check'],
  [8, 'patchEvent'],
  [1.5, 'moveStart'],
  [3, 'patchPosition'],
  [5, 'patchCandidate'],
  [6, 'patchVoter'],
  [3, 'remove'],
  [0.2, 'removeEvent'],
  [2, 'voter'],
  [1, 'candidate'],
  [0.5, 'position'],
  [0.5, 'group'],
  [0.3, 'sponsor'],
  [4, 'advance'],
  [3, 'advanceTo'],
  [1.5, 'close'],
  [1.5, 'open'],
  [6, 'read'],
  [2, 'readOne'],
  [5, 'look'],
  [2, 'walk'],
  [3, 'payment'],
  [4, 'pay'],
  [5, 'second'],
  [3, 'credits'],
  [3, 'buyCredits'],
  [2, 'registerVoter'],
  [2, 'registerCandidate'],
  [5, 'repeat'],
  [1.2, 'reverse'],
  [0.6, 'plan'],
  [0.4, 'downgrade'],
  [0.5, 'revoke'],
  [1.2, 'hold'],
  [2.5, 'odd'],
  [0.3, 'business'],
  [0.3, 'unlink'],
  [0.8, 'invite'],
  [0.2, 'accept'],
  [0.3, 'uninvite'],
  [2, 'helper'],
  [0.5, 'hook'],
  [0.8, 'hookChange'],
  [0.6, 'audit'],
  [0.8, 'file'],
  [0.3, 'page'],
  [0.6, 'beside'],
  [0.8, 'log'],
  [0.8, 'notify'],
  [0.5, 'letters'],
  [0.8, 'importRoll'],
  [0.6, 'bulk'],
  [0.3, 'copy'],
  [0.6, 'define'],
  [0.4, 'sponsorChange'],
  [0.5, 'refund'],
  [0.3, 'retry'],
  [0.4, 'rehearse'],
];

const SHAPES: readonly (readonly [number, number])[] = [
  ...[0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12].map((shape) => [1, shape] as const),
  ...[6, 7].map((shape) => [1.6, shape] as const),
];

/** A few who share devices, addresses and member numbers, at once: every step is theirs, in any order. */
function crowd(e: number, random: Random, unconfirmed = false): Op[] {
  const step = (): Op => {
    const k = random.weighted<string>([
      [5, 'cast'],
      [3, 'check'],
      [4, 'pay'],
      [5, 'second'],
      [unconfirmed ? 0.5 : 3, 'confirm'],
      [1.5, 'patchVoter'],
      [0.5, 'repeat'],
    ]);
    // Where all pay at once, it is by people who didn't vote yet.
    const from = unconfirmed ? 50 : 0;
    const who = {
      visitor: from + random.int(3),
      address: from + random.int(2),
      member: from + random.int(2),
      recent: 3,
    };
    return { k, p: random.int(2), e, i: random.int(3), j: random.int(4), r: random.int(2 ** 31), x: who };
  };
  return Array.from({ length: unconfirmed ? random.between(10, 20) : random.between(6, 14) }, step);
}

export interface GenerateOptions {
  readonly ops: number;
  readonly restarts: number;
}
export function generate(seed: number, options: GenerateOptions): Op[] {
  const random = new Random(seed);
  const events = random.weighted([
    [5, 1],
    [3, 2],
    [1, 3],
  ]);
  const ops: Op[] = [];
  for (let e = 0; e < events; e += 1) ops.push(...opening(random.weighted(SHAPES), e, random));
  // Where votes are paid for, several pay at once before anybody confirms.
  const paying = new Random(seed ^ 0x2545f491);
  for (let e = 0; e < events; e += 1)
    if (ops.some((one) => one.e === e && /^Opening [67]$/.test(String(one.x?.['title']))) && paying.chance(0.6))
      ops.push(...crowd(e, paying, true));
  // In every third history each kind comes once, however rare it is in the mixture.
  const deck = seed % 3 === 0 ? random.shuffle(WEIGHTS.map(([, kind]) => kind)) : [];
  const length = deck.length > 0 ? ops.length + deck.length : random.between(20, options.ops);
  while (ops.length < length) {
    if (deck.length === 0 && random.chance(0.03)) ops.push(...crowd(random.int(events), random));
    const k = deck.pop() ?? random.weighted(WEIGHTS);
    const op: Op = {
      k,
      p: random.int(2),
      e: random.int(events),
      i: random.int(40),
      j: random.int(40),
      r: random.int(2 ** 31),
    };
    ops.push(k === 'downgrade' ? { ...op, k: 'plan', x: { plan: 'free' } } : op);
  }
  for (let count = 0; count < options.restarts; count += 1)
    ops.splice(random.int(ops.length), 0, {
      k: random.chance(0.7) ? 'restart' : 'rotate',
      p: random.int(2),
      e: 0,
      i: 0,
      j: 0,
      r: 1,
    });
  return ops;
}
