import { describe, expect, test, vi } from 'vitest';
import { assembleBallotDefinition, type BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Candidate, VotingMethod } from '#src/ballot-definition/types.ts';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { hasLargeResults } from '#src/results/counting.ts';
import { RunningCount } from '#src/results/running-count.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { sealBallots, votesFor } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { createRandom } from '#test/second-count/random-elections.ts';

const WHOLE = 1_000_000n;

/** @param numbers of the candidates, who stand for every position */
function definitionOf(
  votingMethod: VotingMethod,
  numbers: readonly number[],
  positions = 1,
  status: Candidate['status'] = 'approved',
): BallotDefinition {
  const rows = {
    positions: Array.from({ length: positions }, (_, at) => ({
      ...{ id: `pos_${at}`, number: at + 1, title: 'Board', votingMethod, seats: 1, tieBreak: 'joint', rules: null },
      ...{ groupId: null, minSelections: 0, maxSelections: null, scoreMin: -9, scoreMax: 9, majorityRequired: null },
    })),
    candidates: numbers.map((number, sortOrder) => ({
      ...{ id: `cnd_${number}`, number, name: `C ${number}`, status, sortOrder, referendumRole: null },
      positionIds: Array.from({ length: positions }, (_, at) => `pos_${at}`),
    })),
    ...{ groups: [], sponsors: [], mayBeLogged: false },
  };
  return assembleBallotDefinition({ id: 'evt', definitionVersion: 1 } as never, rows as never);
}

const MARKED = packEntries([{ position: 1, entries: [{ candidate: 1, value: 3 }] }]);
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

/** What counts with as many ballots take outside of the heap, where their arrays are, and what they weigh. */
function weigh(definition: BallotDefinition, counts: number, ballots: readonly Buffer[], weights = 1) {
  const before = process.memoryUsage().arrayBuffers;
  const made = Array.from({ length: counts }, () => {
    const count = new RunningCount(definition);
    for (const [at, bytes] of ballots.entries())
      count.addPacked(bytes, 0, bytes.length, WHOLE * BigInt(1 + (at % weights)), 1);
    return count;
  });
  return {
    takes: process.memoryUsage().arrayBuffers - before,
    weighs: made.reduce((sum, { heldBytes }) => sum + heldBytes, 0),
  };
}

describe('a count weighs what it takes in memory', () => {
  const random = createRandom(7);
  const ranked = Array.from({ length: 20_000 }, () => {
    const order = upTo(10)
      .map((candidate) => ({ candidate, place: random(1_000_000) }))
      .toSorted((one, other) => one.place - other.place);
    return packEntries([{ position: 1, entries: order.map(({ candidate }, at) => ({ candidate, value: at + 1 })) }]);
  });

  const KINDS: Readonly<Record<string, readonly [BallotDefinition, readonly Buffer[], number]>> = {
    'rankings that all differ': [definitionOf('ranked_choice', upTo(10)), ranked, 1],
    'sums of many weights': [definitionOf('score', upTo(300)), upTo(64).map(() => MARKED), 64],
    'candidates of large numbers': [definitionOf('plurality', [1, 499_999], 100), [], 1],
  };
  test.for(Object.keys(KINDS))('with %s', (kind) => {
    const [definition, ballots, weights] = KINDS[kind] ?? expect.fail('a kind');
    const { takes, weighs } = weigh(definition, 20, ballots, weights);
    expect(takes).toBeLessThan(2 * weighs);
  });

  test('whatever numbers its candidates have, it takes little for each', () => {
    const few = definitionOf('plurality', [1, 499_999], 100);
    expect(weigh(few, 1, []).weighs).toBeLessThan(4_000_000);
  });
});

test('candidates who were rejected count as rows of a result: it is made in a thread', () => {
  expect(hasLargeResults(definitionOf('plurality', upTo(5), 100))).toBe(false);
  expect(hasLargeResults(definitionOf('plurality', upTo(50), 100, 'rejected'))).toBe(true);
});

const { service, account } = await useAccount({ worker: false });

test('a count that is asked for stays, although others ask for large ones in between', async () => {
  const definitionIn = async (id: string) => {
    const event = (await findEventById(service.deps.db, id)) ?? expect.fail('the event is there');
    return (await service.deps.definitions.get(event)) ?? expect.fail('the event is there');
  };
  const poll = await account.event();
  for (let ballot = 0; ballot < 12; ballot += 1) await account.votePoll(poll, votesFor(poll));
  await sealBallots(service, poll.id, 12);
  const positions = upTo(100).map((at) => ({ id: `p${at}`, title: `Position ${at}`, votingMethod: 'plurality' }));
  const positionIds = positions.map(({ id }) => id);
  const { id: large } = await account.make('/voting-events/definition', {
    ...{ version: 1, event: { title: 'Large', type: 'poll' }, groups: [], sponsors: [], positions },
    candidates: upTo(1_000).map((at) => ({ id: `c${at}`, name: `C ${at}`, positionIds })),
  });
  const definition = await definitionIn(large);
  const counter = new EventCounter(service.deps);
  const add = vi.spyOn(RunningCount.prototype, 'addPacked');
  const results = async (of: BallotDefinition) => counter.results(of, 'organizer', Date.now());
  // Each takes some 50 MB, of 256 that counts may take.
  for (let turn = 0; turn < 8; turn += 1) {
    expect((await results(await definitionIn(poll.id))).stats.ballots).toBe(12);
    const version = definition.event.definitionVersion + turn;
    await results({ ...definition, event: { ...definition.event, id: `${large}${turn}`, definitionVersion: version } });
  }
  expect(add).toHaveBeenCalledTimes(12);
});
