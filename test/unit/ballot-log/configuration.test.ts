import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { assembleBallotDefinition, type BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { configurationOf, encodeConfiguration } from '#src/ballot-log/configuration.ts';
import { hashOfJson } from '#src/ballot-log/leaf.ts';

function definitionOf(title: string, positions: number, candidates: number): BallotDefinition {
  const settings = { startsAt: null, endsAt: null, requireVoterId: false, voterSelfRegistration: false };
  const more = { voterApproval: 'automatic', saveVoterInfo: false, ballotOpening: 'none', ballotReceipt: 'full' };
  const event = {
    title,
    type: 'poll',
    ...settings,
    ...more,
    ...{ description: title, language: 'en' },
    repeatVotes: false,
  } as unknown as BallotDefinition['event'];
  const plain = {
    votingMethod: 'approval',
    groupId: null,
    seats: 1,
    minSelections: 0,
    maxSelections: null,
    rules: null,
  };
  const bounds = {
    scoreMin: null,
    scoreMax: null,
    cumulativePointBudget: null,
    quadraticBaseCreditBudget: null,
    quadraticTopUp: null,
  };
  const rows = {
    positions: Array.from({ length: positions }, (_, number) => ({
      ...{ id: `pos_${number}`, number, title, ...plain, ...bounds, tieBreak: 'lot', majorityRequired: null },
      ...{ description: title, sortOrder: number },
    })),
    candidates: Array.from({ length: candidates }, (_, number) => ({
      ...{ id: `cnd_${number}`, number, name: title, status: 'approved', sortOrder: number, referendumRole: null },
      ...{ description: title, groupId: null, avatarUrl: null },
      positionIds: Array.from({ length: positions }, (__, position) => `pos_${position}`),
    })),
    ...{ groups: [{ id: 'grp_1', name: title, description: title }], sponsors: [] },
  };
  return assembleBallotDefinition(event, rows as unknown as Parameters<typeof assembleBallotDefinition>[1]);
}

test('the hash of a configuration is that of its canonical text, whatever its texts hold', async () => {
  for (const title of ['Board', '"candidates":[]', '\\"candidates\\":[]', '"positions":[]', '山田 "x"'])
    for (const candidates of [0, 1, 3]) {
      const definition = definitionOf(title, 2, candidates);
      expect((await encodeConfiguration(definition)).hash).toBe(hashOfJson(configurationOf(definition)));
    }
});

test('the configuration of the largest event is hashed in steps, and the event loop has its turn in between', async () => {
  const definition = definitionOf('Largest', 100, 1_000);
  let turns = 0;
  let ended = false;
  const other = (async () => {
    while (!ended) {
      await setImmediate();
      turns += 1;
    }
  })();
  const before = turns;
  // As often as it takes: a fast machine hashes several between two pauses.
  for (let times = 0; times < 400 && turns - before <= 10; times += 1) await encodeConfiguration(definition);
  ended = true;
  await other;
  expect(turns - before).toBeGreaterThan(10);
});
