import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { ReferendumRole, VotingMethod } from '#src/ballot-definition/types.ts';
import { createLogReceipts } from '#src/ballot-log/promise-leaf.ts';
import { proveBallot } from '#src/ballot-log/prove.ts';
import { castElectionBody } from '#src/ballots/ballot.ts';
import { castBallot } from '#src/ballots/cast-ballot.ts';
import { confirmVotes } from '#src/ballots/confirm-ballot.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { RateLimiter } from '#src/http/rate-limit.ts';
import type { Voter } from '#src/voters/voter.ts';
import { generateKeySeed, hashStoredKey, insertVoterKey, makeVoterKey } from '#src/voters/voter-key.ts';
import { voteCallerOf } from '#src/voting-events/access.ts';
import { DISCLOSED_TOGETHER } from '#src/voting-events/voting-event.ts';
import type { EmptyDemo, MadePosition, Receipt } from './create-demo.ts';

/** How many of the 36 ballots are in the log when the demo is shown. Four stay queued: with the next ballot, a job seals five. */
const SEALED = 32;
const SEAL_TRIES = 50;
const SEAL_PAUSE_MS = 100;

/** Rankings of the three candidates of a ranked position, as indexes. */
const ORDERS = [[2, 1], [0, 2, 1], [1, 2], [2, 0], [0, 1, 2], [2], [1, 0]];
const ANSWERS: readonly ReferendumRole[] = ['yes', 'yes', 'no', 'yes', 'no', 'yes', 'abstain'];
const ROLE_PLACES: Readonly<Record<ReferendumRole, number>> = { yes: 0, no: 1, abstain: 2 };

/** Indexes of the candidates that a voter chooses, first choice first: the same in every demo. */
function placesOf(method: VotingMethod, voter: number): readonly number[] {
  if (method === 'ranked_choice') return ORDERS[voter % ORDERS.length] ?? [];
  if (method === 'referendum') return [ROLE_PLACES[ANSWERS[voter % ANSWERS.length] ?? 'yes']];
  return [voter % 3 === 0 ? 1 : 0];
}

const entriesOf = ({ id, candidateIds, votingMethod }: MadePosition, voter: number) =>
  placesOf(votingMethod, voter).map((place, index) => ({
    positionId: id,
    candidateId: candidateIds[place] ?? '',
    ...(votingMethod === 'ranked_choice' ? { rank: index + 1 } : {}),
  }));

const castAnswer = z.object({ data: z.object({ confirmationCode: z.string() }) });
const confirmAnswer = z.object({ data: z.object({ confirmationCode: z.string(), logPromise: z.string() }) });

/**
 * Lets the first 36 voters of the demo's election vote. Afterwards 35 are disclosed as having voted, and 32 ballots are in
 * the log.
 * @param seal moves queued ballots of an event into its log
 * @returns the receipt of a voter whose ballot is in the log
 */
export async function voteInDemo(
  deps: Deps,
  demo: EmptyDemo,
  seal: (eventId: string) => Promise<unknown>,
): Promise<Receipt> {
  const { election, positions, voters, caller } = demo;
  const target = voteCallerOf(caller, election);
  const receipts = createLogReceipts(deps);
  const confirmDeps = { ...deps, receipts, rateLimiter: new RateLimiter() };
  const keys = await giveKeys(deps, demo);
  const vote = async ({ email }: Voter, place: number): Promise<Receipt> => {
    const votes = positions.flatMap((position) => entriesOf(position, place));
    const ballot = castElectionBody.parse({ voterKey: keys[place], email, votes });
    const cast = castAnswer.parse((await castBallot(deps, target, ballot, undefined)).body);
    const answer = await confirmVotes(confirmDeps, target, cast.data.confirmationCode);
    const { confirmationCode, logPromise: promise } = confirmAnswer.parse(answer.body).data;
    return { confirmationCode, promise };
  };
  const sealUntilIn = async ({ confirmationCode }: Receipt): Promise<void> => {
    for (let tries = 0; tries < SEAL_TRIES; tries += 1) {
      await seal(election.id);
      if ((await proveBallot(deps, election, confirmationCode))?.status === 'logged') return;
      // A job had locked the log: try again.
      await setTimeout(SEAL_PAUSE_MS);
    }
    throw new Error('the ballots of the demo did not get into the log');
  };
  let sealed: Receipt | undefined;
  for (let from = 0; from < voters.length; ) {
    const groupEnd = from - (from % DISCLOSED_TOGETHER) + DISCLOSED_TOGETHER;
    const group = voters.slice(from, from < SEALED ? Math.min(groupEnd, SEALED) : groupEnd);
    const [first] = await Promise.all(group.map((voter, index) => vote(voter, from + index)));
    from += group.length;
    // Discloses after every five voters: the job would run later and disclose more voters together.
    if (from % DISCLOSED_TOGETHER === 0) await deps.counting.disclosure.step(election.id);
    if (from === SEALED && first !== undefined) {
      await sealUntilIn(first);
      sealed = first;
    }
  }
  if (sealed === undefined) throw new Error(`the demo has at least ${SEALED} voters`);
  return sealed;
}

async function giveKeys(deps: Deps, { election, voters }: EmptyDemo): Promise<string[]> {
  return inTransaction(deps.db, async (tx) => {
    const keys: string[] = [];
    for (const voter of voters) {
      const key = makeVoterKey(deps.secrets, voter, generateKeySeed());
      const keyHash = hashStoredKey(deps.secrets, voter, key);
      const stored = await insertVoterKey(tx, election, voter, voter.email ?? '', keyHash);
      if (!stored) throw new Error('a voter of the demo got no key');
      keys.push(key);
    }
    return keys;
  });
}
