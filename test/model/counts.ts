/** Figures: every ballot is looked at again; the second count decides winners and rounds. */
import { countPlainly, type PlainBallot, type PlainPosition } from '#test/second-count/count-plainly.ts';
import { disclosureBody, fewHolders, isMarked, type Shown } from './disclosure.ts';
import type { Json } from './kit.ts';
import * as kit from './kit.ts';
import {
  type Ballot,
  type Candidate,
  type Event,
  frozen,
  isRoundClosing,
  type Position,
  shownStatus,
} from './state.ts';

const MICRO = 1_000_000n;
const scaled = (weight: number): bigint => BigInt(Math.round(weight * 1e6));
export function decimal(micro: bigint): string {
  const sign = micro < 0n ? '-' : '';
  const digits = (micro < 0n ? -micro : micro).toString().padStart(7, '0');
  const fraction = digits.slice(-6).replace(/0+$/, '');
  return sign + digits.slice(0, -6) + (fraction === '' ? '' : `.${fraction}`);
}

/** Candidates that a result shows: those who are, or who have votes. */
function shownFor(event: Event, position: Position, ballots: readonly Ballot[]): Candidate[] {
  return event.candidates.filter(
    (one) =>
      one.positionIds.includes(position.id) &&
      (one.status === 'approved' ||
        one.status === 'withdrawn' ||
        ballots.some((ballot) =>
          ballot.votes.some((vote) => vote.candidateId === one.id && vote.positionId === position.id),
        )),
  );
}
/** The weighted figure is shown when every weight of the event is whole. */
function isWhole(event: Event): boolean {
  return event.voters.every((one) => scaled(one.weight) % MICRO === 0n);
}
interface Figures {
  readonly votes: ReadonlyMap<string, number>;
  readonly weights: ReadonlyMap<string, bigint>;
  readonly answered: number;
}
function sums(
  position: Position,
  candidates: readonly Candidate[],
  ballots: readonly Ballot[],
  whole: boolean,
): Figures {
  const heads = new Map(candidates.map((one) => [one.id, 0n]));
  const weights = new Map(candidates.map((one) => [one.id, 0n]));
  let answered = 0;
  for (const ballot of ballots) {
    const entries = ballot.votes.filter((one) => one.positionId === position.id);
    if (entries.length === 0) continue;
    answered += 1;
    const weight = scaled(ballot.weight);
    const lowest = position.votingMethod === 'score' && (position.scoreMin ?? 0) > 0 ? (position.scoreMin ?? 0) : 0;
    const none = position.votingMethod === 'score' && (position.scoreMax ?? 0) < 0 ? (position.scoreMin ?? 0) : lowest;
    for (const one of candidates) {
      const entry = entries.find((vote) => vote.candidateId === one.id);
      const points = entry === undefined ? BigInt(none) : BigInt(entry.value ?? 1);
      heads.set(one.id, (heads.get(one.id) ?? 0n) + points);
      weights.set(one.id, (weights.get(one.id) ?? 0n) + points * weight);
    }
  }
  const votes = new Map(
    candidates.map((one) => [one.id, Number(whole ? (weights.get(one.id) ?? 0n) / MICRO : (heads.get(one.id) ?? 0n))]),
  );
  return { votes, weights, answered };
}

/** The second count of a position. `open`: a lot decided that nobody can foresee, so only what it cannot change is compared. */
function counted(
  event: Event,
  position: Position,
  candidates: readonly Candidate[],
  ballots: readonly Ballot[],
  electorate: bigint,
) {
  const box: PlainBallot[] = ballots.map((ballot) => ({
    weight: scaled(ballot.weight),
    voided: false,
    marks: ballot.votes
      .filter((one) => one.positionId === position.id)
      .map((one) => ({
        candidate: candidates.findIndex((candidate) => candidate.id === one.candidateId),
        value: one.rank ?? one.value ?? 1,
      })),
  }));
  const count = (lot: { readonly seed: string; readonly root: string } | null) =>
    countPlainly(
      {
        ...position,
        maxSelections: position.maxSelections ?? undefined,
        scoreMin: position.scoreMin ?? undefined,
        scoreMax: position.scoreMax ?? undefined,
        candidates: candidates.map((one, index) => ({
          id: one.id,
          name: one.name,
          sortOrder: one.sortOrder ?? index,
          referendumRole: one.referendumRole,
          withdrawn: one.status !== 'approved',
        })),
      } as unknown as PlainPosition,
      box,
      {
        lot,
        electorate: event.type === 'election' ? electorate : null,
        whole: isWhole(event),
        unit: event.voters.every((one) => one.weight === 1),
      },
    );
  const result = count(null);
  const unordered = candidates.some((one) => one.sortOrder === null);
  const drawn = (tie: { readonly policy: string } | null): boolean =>
    tie !== null && (tie.policy === 'lot' || (unordered && tie.policy === 'candidate_order'));
  const open = drawn(result.tie) || (result.rounds ?? []).some((one) => one.provisional || drawn(one.tie));
  // Counted on to two, a lot may decide that the rounds don't tell of: then what follows from it is that of some lot.
  const onByLot = position.tieBreak !== 'candidate_order' && result.finalTwo !== null;
  let lots: ReturnType<typeof count>[] | undefined;
  const ofSomeLot = (name: 'finalTwo' | 'runnerUp' | 'margin') =>
    onByLot
      ? new kit.Match(`${kit.short(result[name])}, or what another lot gives`, (got) => {
          if (kit.differences(result[name], got).length === 0) return true;
          lots ??= Array.from({ length: 40 }, (_, seed) =>
            count({ seed: seed.toString(16).padStart(64, '0'), root: '' }),
          );
          return lots.some((one) => kit.differences(one[name], got).length === 0);
        })
      : result[name];
  return { result, open, ofSomeLot };
}

function positionResult(event: Event, position: Position, ballots: readonly Ballot[], electorate: bigint): Json {
  const candidates = shownFor(event, position, ballots).toSorted(
    (a, b) => (a.sortOrder ?? 0) - (b.sortOrder ?? 0) || (a.id < b.id ? -1 : 1),
  );
  // Who may not vote on a position doesn't abstain from it.
  const could = ballots.filter((one) => position.groupId === null || one.voter?.groupId === position.groupId);
  const figures = sums(position, candidates, could, isWhole(event));
  const { result, open, ofSomeLot } = counted(event, position, candidates, could, electorate);
  const ranked = position.votingMethod === 'ranked_choice';
  const rows = result.candidates.map((one) => ({
    id: one.id,
    votesWon: ranked && open ? kit.INTEGER : one.votesWon,
    weightWon: ranked && open ? kit.STRING : one.weightWon,
    ...(open ? {} : { winner: one.winner, tied: one.tied }),
  }));
  for (const one of ranked ? [] : result.candidates)
    if (one.votesWon !== figures.votes.get(one.id)) throw new Error('the second count and the sums differ');
  return {
    id: position.id,
    title: position.title,
    votingMethod: position.votingMethod,
    seats: position.seats,
    totalVotes: result.totalVotes,
    ballots: result.ballots,
    abstentions: result.abstentions,
    candidates: new kit.Bag(rows.map((one, index) => ({ ...one, name: candidates[index]?.name }))),
    referendum: result.referendum,
    ...(open
      ? {}
      : {
          winners: new kit.Bag(result.winners),
          vacantSeats: result.vacantSeats,
          runnerUp: ofSomeLot('runnerUp'),
          runoff: result.runoff,
          margin: ofSomeLot('margin'),
          tie: result.tie,
          rounds: result.rounds,
          firstChoices: result.firstChoices,
          finalTwo: ofSomeLot('finalTwo'),
        }),
  };
}

/** Figures of a final result stay those of the close; what is left after later reversals is told beside them. */
function afterReversals(event: Event): unknown {
  if (!event.ballots.some((one) => one.voidedLate)) return null;
  const left = event.ballots.filter((one) => !one.voided && !one.voidedLate);
  const positions = event.positions.map((one) => {
    const { id, totalVotes, ballots, candidates } = positionResult(
      event,
      one,
      left,
      electorateOf(event, undefined, true).sure,
    );
    return { id, totalVotes, ballots, candidates };
  });
  return { ballots: left.length, positions: new kit.Bag(positions) };
}

/**
 * Weight of the approved voters, as far as it is shown: an approval by a first key follows the mark. `open`: of those who used a
 * key and did not vote it is left open when.
 */
function electorateOf(event: Event, shown: Shown | undefined, final: boolean): { sure: bigint; open: bigint } {
  const found = { sure: 0n, open: 0n };
  for (const one of event.voters) {
    const status = final || shown === undefined ? one.status : shownStatus(one, isMarked(one, shown));
    if (status === 'approved') found.sure += scaled(one.weight);
    else if (status instanceof kit.Match && status.test('approved')) found.open += scaled(one.weight);
  }
  return found;
}

/** What an event's results are with these ballots. */
export function resultsBody(event: Event, given: readonly Ballot[], now: number, shown: Shown): Json {
  const ballots = given.filter((one) => !one.voided);
  const final = frozen(event, now);
  const isClosing = isRoundClosing(event, now);
  const found = electorateOf(event, shown, final);
  // No more than all have voted: what the ballots show of approvals that are kept back is in it (a share is from 0 to 1).
  const cast = ballots.reduce((sum, one) => sum + scaled(one.weight), 0n);
  const electorate = found.sure > cast ? found.sure : cast;
  const most = found.sure + found.open > cast ? found.sure + found.open : cast;
  const electorateFor = ({ groupId }: Position): bigint => {
    if (groupId === null) return electorate;
    const voters = event.voters.filter((one) => one.groupId === groupId);
    const could = ballots.filter((one) => one.voter?.groupId === groupId);
    const inGroup = could.reduce((sum, one) => sum + scaled(one.weight), 0n);
    const { sure } = electorateOf({ ...event, voters }, shown, final);
    return sure > inGroup ? sure : inGroup;
  };
  const positions = event.positions
    .toSorted((a, b) => (a.sortOrder ?? 0) - (b.sortOrder ?? 0))
    .map((one) => positionResult(event, one, ballots, electorateFor(one)));
  return {
    votingEventId: event.id,
    title: event.title,
    final: isClosing ? kit.oneOf(true, false) : final,
    asOf: kit.TIME,
    afterReversals: isClosing ? kit.ANY : final ? afterReversals(event) : null,
    stats: {
      ballots: ballots.length,
      disclosure: disclosureBody(event, now, shown),
      electorate:
        event.type === 'poll'
          ? null
          : new kit.Match(`${decimal(electorate)} to ${decimal(most)}`, (got) => {
              const value = scaled(kit.number(got));
              return value >= electorate && value <= most;
            }),
    },
    positions,
  };
}

/** The rows of the votes list. */
export function voteRows(event: Event, positionId: string | null, candidateId: string | null): Json[] {
  const secret = event.type === 'election';
  // All weights are shown or none: the only ballot without one would be that of a voter whose weight is rare.
  const few = secret ? fewHolders(event) : 'no';
  const rows: Json[] = [];
  for (const ballot of event.ballots) {
    if (ballot.voided) continue;
    for (const vote of ballot.votes) {
      if (positionId !== null && vote.positionId !== positionId) continue;
      if (candidateId !== null && vote.candidateId !== candidateId) continue;
      // Where only one group votes, fewer hold the weight: whether it is left out then is open.
      const shown =
        event.groups.length > 0 || few === 'open'
          ? kit.oneOf(null, undefined, ballot.weight, String(ballot.weight))
          : numeric(ballot.weight);
      const visible = [ballot.identity?.visitorId, ballot.identity?.voterId, ballot.identity?.email].filter(
        (one) => typeof one === 'string',
      );
      rows.push({
        positionId: vote.positionId,
        candidateId: vote.candidateId,
        value:
          vote.value === undefined
            ? kit.oneOf(null, 1)
            : ['score', 'cumulative', 'quadratic'].includes(methodOf(event, vote.positionId))
              ? vote.value
              : kit.oneOf(null, 1),
        rank: vote.rank ?? null,
        weight: few === 'yes' ? kit.oneOf(null, undefined) : secret ? shown : numeric(ballot.weight),
        channel: 'api',
        countryCode: secret ? null : ballot.country,
        voterId: secret ? null : kit.oneOf(...visible),
        submittedAt: secret ? null : kit.TIME_OR_NULL,
      });
    }
  }
  return rows;
}
const numeric = (weight: number) => new kit.Match(String(weight), (got) => got === weight || got === String(weight));
const methodOf = (event: Event, positionId: string): string =>
  event.positions.find((one) => one.id === positionId)?.votingMethod ?? '';
