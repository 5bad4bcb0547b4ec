import { describe, expect, test } from 'vitest';
import { BREAKAGES, countPlainly } from '#test/second-count/count-plainly.ts';
import { countByService, createRandom, fingerprint, randomElection } from '#test/second-count/random-elections.ts';

/** Replays one run: `COUNT_SEED=7 npm test`. */
const FIRST_SEED = Number(process.env['COUNT_SEED'] ?? 1);
/** A sample, and the full form by night: `npm run elections`. */
const ELECTIONS = Number(process.env['ELECTIONS'] ?? 3_000);

describe('the count', () => {
  test(`agrees with a second, plain one in every figure, winner, tie and round of ${ELECTIONS} random elections`, () => {
    let ballots = 0;
    const methods = new Set<string>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + ELECTIONS; seed += 1) {
      const election = randomElection(createRandom(seed));
      const { position, ballots: box, options } = election;
      ballots += box.length;
      methods.add(position.votingMethod);
      const [service, plain] = [
        fingerprint(countByService(election)),
        fingerprint(countPlainly(position, box, options)),
      ];
      if (service !== plain) expect({ seed, result: service }).toEqual({ seed, result: plain });
    }
    console.info(`${ballots} ballots of random elections were counted twice`);
    expect(methods.size).toBe(7);
    expect(ballots).toBeGreaterThan(15 * ELECTIONS);
  });

  // A broken rule that the elections above do not show would pass them.
  test.each(BREAKAGES)('is told from a broken one: %s', (broken) => {
    const caught = Array.from({ length: ELECTIONS }, (_, seed) => seed).find((seed) => {
      const election = randomElection(createRandom(seed));
      const { position, ballots, options } = election;
      return fingerprint(countByService(election)) !== fingerprint(countPlainly(position, ballots, options, broken));
    });
    expect(caught).toBeDefined();
  });
});
