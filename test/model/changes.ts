/** Bodies of changes, right and wrong ones. */

import type { Json, Random } from './kit.ts';
import { nth } from './send.ts';
import { eventBody, HOUR, MINUTE } from './state.ts';
import { DAY, type World } from './world.ts';

export function eventChange(world: World, index: number, random: Random): Json {
  const event = world.event(index);
  const now = world.driver.now();
  if (event === undefined) return {};
  const ways: (() => Json)[] = [
    () => ({ title: random.pick([`Renamed ${random.int(99)}`, 'T', 'T'.repeat(200)]) }),
    () => ({ description: random.pick([null, 'Words.', '', 'D'.repeat(5000)]) }),
    () => ({ results: { visibility: random.pick(['hidden', 'live', 'published']) } }),
    () => ({ results: { visibility: 'live' } }),
    () => ({ endsAt: now + random.pick([20 * MINUTE, HOUR, 3 * HOUR, DAY * 2]) }),
    () => ({ endsAt: null }),
    () => ({ startsAt: now + random.pick([30 * MINUTE, 2 * HOUR]) }),
    () => ({ startsAt: now - HOUR }),
    () => ({ startsAt: null }),
    () => ({ startsAt: now + 2 * HOUR, endsAt: now + HOUR }),
    () => ({ status: random.pick(['open', 'closed', 'draft', 'scheduled']) }),
    () => ({ status: 'open' }),
    () => ({ status: 'closed' }),
    () => ({ voter: { requireVoterId: random.chance(0.5) } }),
    () => ({ voter: { saveVoterInfo: random.chance(0.5) } }),
    () => ({ voter: { selfRegistration: random.chance(0.5) } }),
    () => ({ voter: { approval: random.pick(['automatic', 'manual']) } }),
    () => ({ candidate: { selfRegistration: random.chance(0.7) } }),
    () => ({ ballot: { candidateOrder: random.pick(['fixed', 'shuffled']) } }),
    () => ({ type: random.pick(['election', 'poll']) }),
    () => ({
      payments: {
        payToVote: random.chance(0.5) ? null : { amountMinor: 7000, currency: random.pick(['usd', 'jpy', 'ngn']) },
      },
    }),
    () => ({ payments: { repeatVotes: random.chance(0.5) } }),
    () => ({
      payments: {
        payToRegisterCandidate: random.chance(0.3)
          ? null
          : { amountMinor: 7000, currency: random.pick(['usd', 'ngn']) },
      },
    }),
    () => ({ code: `Code${random.between(10, 60)}X` }),
    () => ({}),
    () => ({ title: ' ' }),
    () => ({ title: 5, endsAt: 'soon' }),
    () => ({ nonsense: true }),
    () => {
      // What is shown can always be sent back.
      const shown = eventBody(event, now);
      const names = [
        'title',
        'description',
        'type',
        'status',
        'startsAt',
        'endsAt',
        'timeZone',
        'candidate',
        'ballot',
        'payments',
      ];
      return { ...Object.fromEntries(names.map((name) => [name, shown[name]])), voter: { ...event.voter } };
    },
  ];
  return random.pick(ways)();
}
export function positionChange(random: Random, groups: readonly { readonly id: string }[], shown: Json): Json {
  const back = {
    title: shown['title'],
    votingMethod: shown['votingMethod'],
    seats: shown['seats'],
    groupId: shown['groupId'],
    tieBreak: shown['tieBreak'],
    ...(typeof shown['maxSelections'] === 'number' ? { maxSelections: shown['maxSelections'] } : {}),
  };
  return random.pick<() => Json>([
    () => ({ title: `Office ${random.int(99)}` }),
    () => ({ description: 'More words.' }),
    () => ({ seats: random.pick([1, 2, 3, 50]) }),
    () => ({ maxSelections: random.between(1, 3) }),
    () => ({ minSelections: random.between(0, 2) }),
    () => ({ groupId: random.chance(0.5) ? null : (nth(groups, 0)?.id ?? 'grp_unknown') }),
    () => ({ tieBreak: random.pick(['joint', 'lot', 'candidate_order']) }),
    () => ({ scoreMax: 9 }),
    () => ({ cumulativePointBudget: 20 }),
    () => ({ quadraticBaseCreditBudget: 50 }),
    () => ({}),
    () => back,
    () => ({ seats: 0 }),
  ])();
}
