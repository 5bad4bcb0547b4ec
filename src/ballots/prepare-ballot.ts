import type { BallotDefinition, BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import { listBalances } from '#src/credits/quadratic-credits.ts';
import type { Executor } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { RefusalCase } from '#src/http/refusals.ts';
import { type IsFaulty, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import type { Clock } from '#src/platform/clock.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { type ApiError, type Issue, invalidField, validationError } from '#src/platform/errors.ts';
import { checkCast, isRefusal, type Refusal, refusalError } from '#src/voters/eligibility.ts';
import {
  countWrongKey,
  type Identity,
  identityIssues,
  identityOf,
  participantIssues,
  participantsOf,
} from '#src/voters/voter-identity.ts';
import { hashSentKey } from '#src/voters/voter-key.ts';
import { taggedVoter, tagOfIdentity } from '#src/voters/voter-tag.ts';
import { refuseForged } from '#src/voting-events/forged-rows.ts';
import { worldChanged } from '#src/voting-events/guard-change.ts';
import { isFinalAt, notOpen, paperOf } from '#src/voting-events/lifecycle.ts';
import { MAX_ENTRIES } from '#src/voting-events/opening.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { CastBody } from './ballot.ts';
import { type PackedPosition, packEntries, varintBytes } from './ballot-encoding.ts';
import {
  ANY_GROUP,
  type BallotEntry,
  type CreditShortage,
  costOf,
  describeShortage,
  type Judgement,
  judgeBallot,
} from './ballot-rules.ts';
import type { CastRow, CreditNeed } from './repository.ts';
import { codeTagOf, sealEntries, sealSecretBallot, waitingTag } from './waiting-ballot.ts';

export type PrepareDeps = Pick<Deps, 'db' | 'ballotKeys' | 'secrets' | 'log'> & { readonly clock: Clock };

/**
 * Validates a ballot against a definition and packs and encrypts it for the cast statement.
 * @param apiKeyId the API key for which wrong voter keys are counted
 * @param executor reads the visitor's credits
 * @param expectedWeight encrypted with the ballot, in millionths; the cast statement refuses a ballot whose voter has another weight
 * @throws ApiError 422 with all faults; 403 and 429 for the voter, if a position asks for the voter's group
 */
export async function prepareBallot(
  deps: PrepareDeps,
  definition: BallotDefinition,
  body: CastBody,
  code: string,
  apiKeyId: string,
  executor: Executor = deps.db,
  expectedWeight = MICRO,
  expectedGeneration = 0,
): Promise<CastRow> {
  const { event } = definition;
  if (definition.isForged) throw await refuseForged(deps, event.id);
  const isPoll = event.type === 'poll';
  const identity = isPoll ? undefined : identityOf(event, body);
  const missing = isPoll ? participantIssues(event, body) : identityIssues(event, body, NOTHING_FAULTY);
  // Report faults that do not depend on the voter's group before the voter key is checked (completions 1.6).
  if (!isPoll && (missing.length > 0 || asksForGroup(definition)))
    requireValid(judgeBallot(definition, body.votes, ANY_GROUP), missing);
  const group =
    identity === undefined ? null : await groupFor(deps, definition, identity, body.voterKey ?? '', apiKeyId);
  const expectedGroup = group === undefined ? undefined : (group ?? '');
  const budgets = isPoll ? await budgetsOf(executor, definition, body) : undefined;
  const positions = requireValid(judgeBallot(definition, body.votes, group ?? null, budgets), missing);
  const participants = isPoll ? participantsOf(event, { ...body, visitorId: body.visitorId ?? '' }) : [''];
  if (participants === undefined) throw new Error('a participant without an identity was taken');
  const packed = packEntries(positions);
  const secrets = await deps.ballotKeys.find(event);
  // The event's key is destroyed once the event is final. Before that, a missing key means that a rehearsal ended meanwhile.
  if (secrets === undefined) throw isFinalAt(event, deps.clock.now()) ? notOpen('closed') : worldChanged();
  const tag = waitingTag(secrets, event, code);
  const entries =
    identity === undefined
      ? sealEntries(secrets, event.id, tag, packed)
      : sealSecretBallot(secrets, event.id, tag, {
          ...{ codeTag: codeTagOf(code), packed, room: roomOf(definition), weightMicro: expectedWeight },
          voter: tagOfIdentity(secrets, event.id, identity, expectedGeneration, expectedGroup),
        });
  return {
    eventId: event.id,
    paper: paperOf(event),
    voter: identity && { identity, keyHash: hashSentKey(deps.secrets, event, body.voterKey ?? '') },
    expectedGroup,
    participants,
    codeTag: tag,
    entries,
    sealedWeight: isPoll ? undefined : expectedWeight,
    sealedGeneration: isPoll ? undefined : BigInt(expectedGeneration),
    visitorId: body.visitorId ?? null,
    voterId: body.voterId ?? null,
    // A poll that does not save voter information uses the address only for a payment.
    email: isPoll && !event.saveVoterInfo ? null : (body.email ?? null),
    name: isPoll && !event.saveVoterInfo ? null : (body.name ?? null),
    countryCode: body.countryCode ?? null,
    credits: event.type === 'poll' ? needsOf(definition, body.votes) : undefined,
  };
}

/** @throws ApiError 422 with all faults of a ballot, after the missing fields of the request */
function requireValid(judgement: Judgement, missing: readonly Issue[]): readonly PackedPosition[] {
  if (judgement.valid) {
    if (missing.length > 0) throw validationError(missing);
    return judgement.positions;
  }
  const { credits, issues, notInGroup } = judgement;
  const isCreditsAlone = credits !== undefined && missing.length === 0;
  const group = notInGroup ? { reason: 'not_in_group' satisfies RefusalCase } : {};
  throw validationError(
    [...missing, ...issues],
    isCreditsAlone ? { reason: 'insufficient_credits' satisfies RefusalCase, ...credits } : group,
  );
}

/** Validates the readable values of a ballot with a refused shape, so that one answer has all faults. Does not look up the voter. */
export async function judgeCastParts(
  { db, definitions }: Pick<Deps, 'db' | 'definitions'>,
  event: VotingEvent,
  sent: SoundParts<CastBody & { readonly paymentAttemptId?: string | undefined }>,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const definition = await definitions.get(event);
  if (definition === undefined) return [];
  const isPoll = event.type === 'poll';
  const missing = isPoll ? participantIssues(event, sent) : identityIssues(event, sent, isFaulty);
  if (sent.votes === undefined) return missing;
  const entries = sent.votes.map((entry) => entry ?? {});
  const budgets = isPoll ? await budgetsOf(db, definition, { visitorId: sent.visitorId, votes: entries }) : undefined;
  const judgement = judgeBallot(definition, sent.votes, isPoll ? null : ANY_GROUP, budgets);
  return [...missing, ...(judgement.valid ? [] : judgement.issues)];
}

const asksForGroup = ({ positions }: BallotDefinition): boolean => positions.some(({ groupId }) => groupId !== null);

/** The voter's group if a position asks for it, else undefined. Checks the key first: a caller without it must not learn the group. */
async function groupFor(
  deps: PrepareDeps,
  definition: BallotDefinition,
  identity: Identity,
  voterKey: string,
  apiKeyId: string,
): Promise<string | null | undefined> {
  if (!asksForGroup(definition)) return undefined;
  const { verdict, tagged } = await checkCast(deps.db.$client, deps.secrets, definition.event, { identity, voterKey });
  if (isRefusal(verdict)) throw await refusedVoter(deps, definition.event, identity, verdict, apiKeyId);
  return tagged === null ? null : taggedVoter(definition.event.id, tagged).groupId;
}

/** The refusal of a voter at a cast. Counts wrong voter keys only, and answers 429 past the limit (completions 4.5). */
export async function refusedVoter(
  deps: PrepareDeps,
  event: VotingEvent,
  identity: Identity | undefined,
  verdict: Refusal,
  apiKeyId: string,
): Promise<ApiError> {
  if (verdict !== 'voter_key_invalid' || identity === undefined) return refusalError(verdict);
  const { retryAfterMs } = await countWrongKey(deps.db.$client, deps.secrets, event.id, identity, apiKeyId);
  return retryAfterMs > 0 ? refusalError('locked', retryAfterMs) : refusalError(verdict);
}

/** The cost of a poll's ballot on each quadratic position; undefined if the definition has no such position. */
function needsOf(definition: BallotDefinition, votes: readonly SoundParts<BallotEntry>[]): CreditNeed[] | undefined {
  const quadratic = definition.positions.filter(({ votingMethod }) => votingMethod === 'quadratic');
  if (quadratic.length === 0) return undefined;
  return quadratic.flatMap(({ id, quadraticBaseCreditBudget }) => {
    const credits = costOf(votes.filter(({ positionId }) => positionId === id));
    return credits === 0 ? [] : [{ position: id, credits, base: quadraticBaseCreditBudget ?? 0 }];
  });
}

/** The visitor's credits per position, read only if the ballot exceeds the base credits. The cast statement subtracts held credits. */
async function budgetsOf(
  executor: Executor,
  definition: BallotDefinition,
  body: { readonly visitorId?: string | undefined; readonly votes: readonly SoundParts<BallotEntry>[] },
): Promise<ReadonlyMap<string, number> | undefined> {
  const beyond = needsOf(definition, body.votes)?.some(({ credits, base }) => credits > base);
  if (beyond !== true || body.visitorId === undefined) return undefined;
  const balances = await listBalances(executor, definition.event.id, body.visitorId);
  return new Map([...balances].map(([id, { base, purchased, spent }]) => [id, base + purchased - spent]));
}

/** The refusal of a ballot that costs more credits than the visitor has (completions 1.6). */
export function insufficientCredits(shortage: CreditShortage): ApiError {
  return invalidField('votes', describeShortage(shortage), {
    reason: 'insufficient_credits' satisfies RefusalCase,
    ...shortage,
  });
}

/** The largest absolute value that an entry may have. */
function magnitudeOf(position: BallotPosition): number {
  switch (position.votingMethod) {
    case 'score':
      return Math.max(Math.abs(position.scoreMin ?? 0), Math.abs(position.scoreMax ?? 0));
    case 'cumulative':
      return position.cumulativePointBudget ?? 0;
    case 'quadratic':
      // n votes cost n² credits.
      return Math.floor(Math.sqrt(position.quadraticBaseCreditBudget ?? 0));
    case 'ranked_choice':
      return position.candidates.length;
    default:
      return 1;
  }
}

const rooms = new WeakMap<BallotDefinition, number>();

/** The size in bytes of the largest packed ballot of a definition. Election ballots are padded to it, so that sizes reveal nothing. */
const roomOf = (definition: BallotDefinition): number => rooms.getOrInsertComputed(definition, measure);

function measure(definition: BallotDefinition): number {
  let room = 1;
  let entriesLeft = MAX_ENTRIES;
  const positions = definition.positions.map((position) => {
    const entries = Math.min(position.selectionLimit, position.candidates.length);
    room += varintBytes(position.number) + varintBytes(entries);
    const lastCandidate = Math.max(0, ...position.candidates.map(({ number }) => number));
    // A value is packed as an unsigned number of twice its size (`zigzag`).
    return { entries, bytes: varintBytes(lastCandidate) + varintBytes(2 * magnitudeOf(position)) };
  });
  // A ballot has at most `MAX_ENTRIES` entries: assume the longest entries.
  for (const { entries, bytes } of positions.toSorted((one, other) => other.bytes - one.bytes)) {
    const taken = Math.min(entries, entriesLeft);
    room += taken * bytes;
    entriesLeft -= taken;
  }
  return room;
}
