import { randomBytes } from 'node:crypto';
import { Hono } from 'hono';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { databaseErrorCode } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, ok } from '#src/http/answer.ts';
import { claimFirst, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersOne } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { type RateLimiter, tooManyRequests } from '#src/http/rate-limit.ts';
import { DAY_MS, monotonicMs } from '#src/platform/clock.ts';
import { type ApiError, notFound, orNotFound, unlessSpoilt } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { isRefusal, refusalError } from '#src/voters/eligibility.ts';
import { approveByKey } from '#src/voters/voter-key.ts';
import { isCastFor, isGenuine, type TaggedVoter, taggedVoter, tagOfParticipation } from '#src/voters/voter-tag.ts';
import { loadPublicEvent, type VoteCaller } from '#src/voting-events/access.ts';
import { keepingOf } from '#src/voting-events/ballot-keys.ts';
import { refuseForged } from '#src/voting-events/forged-rows.ts';
import { worldChanged } from '#src/voting-events/guard-change.ts';
import { CONFIRM_GRACE_MS, endsOf, isFinalAt, notOpen, secrecyOf, statusAt } from '#src/voting-events/lifecycle.ts';
import { requireSameWorld } from '#src/voting-events/rehearsal.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { type ConfirmationView, confirmationView, confirmBody, type LogReceipts } from './ballot.ts';
import { readChoices } from './ballot-encoding.ts';
import { type ConfirmRow, type ConfirmVerdict, returnPaidBallot, type WaitingVoter } from './repository.ts';
import {
  codeTagOf,
  normaliseCode,
  openBallot,
  openTimes,
  openWaiting,
  openWaitingTime,
  sealTimes,
  sealWaitingTime,
  waitingTag,
} from './waiting-ballot.ts';

export function confirmBallotRouter(deps: Deps, rateLimiter: RateLimiter, receipts: LogReceipts): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('confirmBallot', 'POST /confirm', {
      untraced: true,
      urgency: 'confirm',
      summary: 'Confirm a cast ballot',
      scope: 'vote',
      description:
        'From here on the ballot counts. Confirming again gives the same answer. A ballot cast before the close may be confirmed for 15 minutes after it.',
      answers: answersOne(confirmationView, 'The ballot counts.'),
      refusals: [
        'event_not_open',
        'event_closed',
        'already_voted',
        'voter_rejected',
        'voter_pending',
        'voter_key_invalid',
        'ballot_key_unavailable',
      ],
      example: { confirmationCode: EXAMPLE.confirmationCode },
    }),
    loadPublicEvent(deps),
    takeIdempotencyKey(keepingOf(deps)),
    body(confirmBody),
    (c) =>
      claimFirst(c, () =>
        confirmVotes({ ...deps, rateLimiter, receipts }, c.get('target'), c.get('body').confirmationCode),
      ),
  );
  return router;
}

interface ConfirmDeps
  extends Pick<Deps, 'db' | 'ballotKeys' | 'clock' | 'ids' | 'definitions' | 'secrets' | 'ballots' | 'log'> {
  readonly rateLimiter: RateLimiter;
  readonly receipts: LogReceipts;
}

const SALT_BYTES = 32;
const WRONG_CODES_PER_MINUTE = 20;
const BY_ADDRESS = 'open:wrong-code:';
/** Counts wrong codes by address if many people share an API key or send none: one person's guesses must not block the others. */
export const addressGuesser = (address: string | undefined): string => `${BY_ADDRESS}${address}`;
/** A ballot of an event without an end is sealed within this time of its confirmation. */
export const SEALED_WITHIN_MS = DAY_MS;
/** The promised date is the time at which a ballot is due in the log plus this margin, so that an outage does not break the promise. */
const PROMISE_SLACK_MS = DAY_MS;
/** Verdict of the confirm statement if the event's end or rehearsal is not as the caller read it. Nothing was written. */
const END_MOVED = 'end_moved';
/** Verdict of the confirm statement if the pending ballot is not for the voter that the caller verified. Nothing was written. */
const OTHER_BALLOT = 'changed';
/** Verdict if direct SQL changed the row of the ballot or voter: the confirm then writes nothing. */
const ROWS_DISAGREE = 'rows_disagree';
/** SQLSTATE raised by the confirm statement, which rolls back everything that it did. */
const ALREADY_VOTED = 'VS001';

/**
 * Confirms a cast ballot, which then counts (contract, "Confirm result"; completions 4.7). Confirming again gives the same answer.
 * @throws ApiError 403 outside of the window unless confirmed; 404 for an unknown code; 409 `already_voted`; 429 after many unknown codes
 */
export async function confirmVotes(
  deps: ConfirmDeps,
  { caller, event }: VoteCaller,
  confirmationCode: string,
): Promise<Answer> {
  const code = normaliseCode(confirmationCode);
  // No code exists before the start, and unconfirmed ballots are dropped after the end: report the closed window, not an unknown code.
  const notFoundHere = (): ApiError => {
    const nowMs = deps.clock.now();
    const status = statusAt(event, nowMs);
    return status === 'scheduled' || isFinalAt(event, nowMs) ? notOpen(status) : unknownCode(deps, caller.keyId);
  };
  if (code === undefined) throw notFoundHere();
  let definition = await deps.definitions.get(event);
  if (definition === undefined) throw notFound();
  requireSameWorld(event, definition.event);
  if (definition.isForged) throw await refuseForged(deps, event.id);
  let { verdict, answer } = await confirmUnderKey(deps, definition, code);
  if (verdict === 'unknown' && definition.event.type === 'election' && definition.event.ballotKey === null) {
    // The event may have got its ballot key since this process cached it: look again under that key.
    const newer = await findEventById(deps.db, event.id);
    definition = newer?.ballotKey == null ? undefined : await deps.definitions.get(newer);
    if (definition !== undefined) ({ verdict, answer } = await confirmUnderKey(deps, definition, code));
  }
  if (verdict === 'unknown') throw notFoundHere();
  if (verdict === OTHER_BALLOT) throw worldChanged();
  if (verdict === ROWS_DISAGREE) throw await refuseForged(deps, event.id);
  if (isRefusal(verdict)) throw refusalError(verdict);
  if (answer === undefined) throw new Error(`confirm_ballot answered ${verdict}`);
  return answer;
}

interface Written {
  readonly verdict: string;
  readonly answer: Answer | undefined;
}

/** If the event has no ballot key, no ballot is pending or queued: only the box is searched for the code. */
async function confirmUnderKey(deps: ConfirmDeps, definition: BallotDefinition, code: string): Promise<Written> {
  const secrets = await deps.ballotKeys.find(definition.event);
  const tag = secrets === undefined ? codeTagOf(code) : waitingTag(secrets, definition.event, code);
  return confirmByTag(deps, { definition, code, tag, secrets: secrets ?? deps.secrets });
}

interface Sought {
  readonly definition: BallotDefinition;
  readonly code: string;
  /** The look-up key of the ballot. */
  readonly tag: Buffer;
  /** The keys that encrypt the ballot until it is in the box. */
  readonly secrets: Secrets;
}

/** Confirms with the event's end as cached, and retries with the present end only if it has moved since. */
async function confirmByTag(deps: ConfirmDeps, sought: Sought): Promise<Written> {
  let { definition } = sought;
  let isApproved = false;
  for (;;) {
    const waiting: TaggedVoter[] = [];
    const row = confirmRow(deps, definition.event, sought, waiting);
    const written = await write(deps, sought, row);
    if (written.verdict === 'confirmed') deps.receipts.confirmed(definition.event, row);
    const [voter] = waiting;
    if (written.verdict === 'voter_pending' && voter !== undefined && !isApproved) {
      // The voter key was right at the cast, but the process ended before it wrote the approval: write it now.
      isApproved = true;
      await approveByKey(deps, definition.event, voter);
      continue;
    }
    if (written.verdict !== END_MOVED) return written;
    definition = await judgeMoved(deps, definition.event);
  }
}

/** Reads the definition of an event whose end moved. @throws ApiError if it is gone or forged, or a rehearsal began or ended */
async function judgeMoved({ db, log, definitions }: ConfirmDeps, read: VotingEvent): Promise<BallotDefinition> {
  const definition = orNotFound(await definitions.get(orNotFound(await findEventById(db, read.id))));
  requireSameWorld(read, definition.event);
  if (definition.isForged) throw await refuseForged({ db, log }, read.id);
  return definition;
}

/** @param waiting receives the voter of the pending ballot, once verified */
function confirmRow(
  deps: ConfirmDeps,
  event: VotingEvent,
  { definition, code, tag, secrets }: Sought,
  waiting: TaggedVoter[],
): ConfirmRow {
  const { id: eventId, endsAt } = event;
  const nowMs = deps.clock.now();
  const leafTag = codeTagOf(code);
  const secret = !tag.equals(leafTag);
  // When a ballot that is confirmed now is due in the log, by the present end of the event.
  const dueMs = endsAt === null ? nowMs + SEALED_WITHIN_MS : endsAt + CONFIRM_GRACE_MS;
  const masked = sealTimes(code, { confirmedMs: nowMs, promisedMs: dueMs + PROMISE_SLACK_MS });
  return {
    eventId,
    codeTag: tag,
    leafTag,
    ballotId: deps.ids.random('bal'),
    // The encrypted part of a secret ballot already has its salt.
    salt: secret ? Buffer.alloc(0) : randomBytes(SALT_BYTES),
    sealedTime: secret ? sealWaitingTime(secrets, eventId, tag, masked, dueMs) : masked,
    atMs: nowMs,
    newVoterId: deps.ids.sortable('vtr'),
    ends: endsOf(event),
    admit: secret
      ? (found) => {
          const voter = admitVoter(deps, definition.event, secrets, tag, found);
          if (voter === undefined) return undefined;
          waiting.push(voter);
          const participant = voter.status === 'approved' ? found.participant : null;
          return { participant, tag: tagOfParticipation(secrets, voter) };
        }
      : undefined,
  };
}

/** The voter of a pending ballot; undefined if direct SQL changed the row of the voter or of the ballot. */
function admitVoter(
  deps: ConfirmDeps,
  event: VotingEvent,
  secrets: Secrets,
  tag: Buffer,
  { entries, tagged }: WaitingVoter,
): TaggedVoter | undefined {
  const voter = taggedVoter(event.id, tagged);
  if (!isGenuine(deps.secrets, voter)) return undefined;
  // The statement refuses a rejected voter. The ballot of a pending voter must be checked: its key may approve the voter.
  if (voter.status === 'rejected') return voter;
  const sealed = unlessSpoilt(() => openWaiting(secrets, event, tag, entries))?.sealed;
  const isOwn =
    sealed !== undefined && sealed.weightMicro === voter.weightMicro && isCastFor(secrets, voter, sealed.voter);
  return isOwn ? voter : undefined;
}

function shapeConfirmation(
  deps: ConfirmDeps,
  { definition, code, secrets }: Sought,
  row: ConfirmRow,
  verdict: ConfirmVerdict,
): Answer {
  const { eventId, codeTag, leafTag } = row;
  const { entries, sealed } = openBallot(secrets, definition.event, codeTag, verdict.entries);
  // Promise the weight and salt of the encrypted ballot: a row whose columns differ is detected when it is moved into the log.
  const weightMicro = sealed?.weightMicro ?? verdict.weightMicro;
  const salt = sealed?.salt ?? verdict.salt;
  const { masked: sealedTime } = openWaitingTime(secrets, eventId, codeTag, verdict.sealedTime);
  const { promisedMs } = openTimes(code, sealedTime);
  const logPromise = deps.receipts.promise(definition, { codeTag: leafTag, salt, entries, weightMicro }, promisedMs);
  return ok({ ...viewConfirmation(definition, code, { ...verdict, salt, sealedTime, entries }), logPromise });
}

async function write(deps: ConfirmDeps, sought: Sought, row: ConfirmRow): Promise<Written> {
  try {
    const result = await deps.ballots.confirm(row);
    const { verdict } = result;
    const isConfirmed = verdict === 'confirmed' || verdict === 'confirmed_before';
    return { verdict, answer: isConfirmed ? shapeConfirmation(deps, sought, row, result) : undefined };
  } catch (fault) {
    if (databaseErrorCode(fault) !== ALREADY_VOTED) throw fault;
    await returnPaidBallot(deps.db, row);
    return { verdict: 'already_voted', answer: undefined };
  }
}

/** Limits unknown codes, although 128 random bits cannot be guessed. @param guesser the ID of an API key, or of `addressGuesser` */
export function unknownCode(deps: Pick<ConfirmDeps, 'rateLimiter'>, guesser: string): ApiError {
  const name = guesser.startsWith(BY_ADDRESS) ? guesser : `wrong-code:${guesser}`;
  const state = deps.rateLimiter.take(name, WRONG_CODES_PER_MINUTE, monotonicMs(), WRONG_CODES_PER_MINUTE);
  return state.retryAfterSeconds === undefined
    ? notFound()
    : tooManyRequests(state.retryAfterSeconds, 'Too many unknown confirmation codes.');
}

/** The answer of a confirm. A secret event shows the choices on the first confirm and while it is open, not afterwards. */
function viewConfirmation(
  definition: BallotDefinition,
  code: string,
  result: ConfirmVerdict,
): Omit<ConfirmationView, 'logPromise'> {
  const votes = readChoices(definition, result.entries).map(({ position, candidate }) => ({
    positionName: position.title,
    candidateName: candidate.name,
  }));
  const told = secrecyOf(definition.event) !== 'secret' || result.verdict === 'confirmed' || result.status === 'open';
  return {
    confirmationCode: code,
    confirmedCount: votes.length,
    totalVotes: votes.length,
    submittedAt: openTimes(code, result.sealedTime).confirmedMs,
    votes: told ? votes : [],
    ...(definition.event.ballotReceipt === 'full' ? { salt: result.salt.toString('base64') } : {}),
  };
}
