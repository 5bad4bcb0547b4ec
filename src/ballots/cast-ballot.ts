import { Hono } from 'hono';
import type { z } from 'zod';
import { requireFeature } from '#src/accounts/plans.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, created } from '#src/http/answer.ts';
import { claimFirst, claimWithin, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { bodyFor } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import type { DeferredClaim } from '#src/http/idempotent-request.ts';
import { requirePlan } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import { PAYMENT_REQUIRED, SECOND_CALL_REFUSALS } from '#src/payments/payment.ts';
import type { CheckoutDeps } from '#src/payments/payment-deps.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { SharedTurns } from '#src/platform/shared-turns.ts';
import { isRefusal } from '#src/voters/eligibility.ts';
import { approveByKey, dropUnconfirmed } from '#src/voters/voter-key.ts';
import { identityGeneration, judgeTagged } from '#src/voters/voter-tag.ts';
import { loadPublicEvent, type VoteCaller } from '#src/voting-events/access.ts';
import { keepingOf } from '#src/voting-events/ballot-keys.ts';
import { FINISH_PAYMENT, finishPaymentBody } from '#src/voting-events/event-body.ts';
import { takesLoopback } from '#src/voting-events/event-mail.ts';
import { refuseForged } from '#src/voting-events/forged-rows.ts';
import { worldChanged } from '#src/voting-events/guard-change.ts';
import { requireSameWorld } from '#src/voting-events/rehearsal.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { type CastBody, castElectionBody, castPaidPollBody, castPollBody, castResultView } from './ballot.ts';
import { startPaidVote } from './pay-to-vote.ts';
import {
  insufficientCredits,
  judgeCastParts,
  type PrepareDeps,
  prepareBallot,
  refusedVoter,
} from './prepare-ballot.ts';
import { deriveConfirmationCode, generateConfirmationCode } from './waiting-ballot.ts';

const EXAMPLE_VOTES = [{ positionId: EXAMPLE.position, candidateId: EXAMPLE.candidate }];

/**
 * The operation "Cast a ballot". The order of its steps is fixed, because it decides between refusals (completions 1.6). `remake` must give
 * the same bytes as `castBallot`: otherwise a repeated request would get another code.
 */
export function castRouter(deps: Deps, payments: CheckoutDeps): Hono<Env> {
  const embedded = deps.config.databaseUrl === undefined;
  const paidFeature = requirePlan(({ event: { payToVote }, ownerPlan }: VoteCaller, raw) => {
    if (payToVote !== null && !('paymentAttemptId' in raw)) requireFeature(deps.plans[ownerPlan], 'paid_features');
  });
  const castBody = bodyFor(
    ({ event: row }: VoteCaller, raw) => {
      const { type, payToVote, paymentProvider } = row;
      const loopback = takesLoopback(embedded, row);
      if (type === 'election') return castElectionBody;
      if ('paymentAttemptId' in raw) return finishPaymentBody;
      return payToVote !== null && paymentProvider !== null
        ? castPaidPollBody(loopback, providerKind(paymentProvider).needs)
        : castPollBody(loopback);
    },
    async ({ event: row }, sent, isFaulty) =>
      'paymentAttemptId' in sent ? [] : judgeCastParts(deps, row, sent, isFaulty),
  );
  const keep = keepingOf(deps);
  const router = new Hono<Env>();
  router.on(
    ...operation('castBallot', 'POST /cast', {
      untraced: true,
      urgency: 'cast',
      summary: 'Cast a ballot',
      scope: 'vote',
      description:
        'The ballot does not count yet: confirm it. Casting again before that replaces it. In a paid poll the first call answers 402 with a checkout, and the second one, with only `paymentAttemptId`, casts the ballot that was sent first.',
      answers: {
        ...answersCreated(castResultView, 'The ballot is cast, and waits to be confirmed.'),
        ...answersOne(castResultView, 'A second call that was made before: the same code.'),
        ...PAYMENT_REQUIRED,
      },
      refusals: [
        'event_not_open',
        'event_closed',
        'voter_key_invalid',
        'voter_pending',
        'voter_rejected',
        'already_voted',
        'not_in_group',
        'insufficient_credits',
        'ballot_key_unavailable',
        ...SECOND_CALL_REFUSALS,
      ],
      bodies: {
        CastElectionBallotInput: {
          summary: 'In an election',
          schema: castElectionBody,
          example: { voterKey: EXAMPLE.voterKey, email: 'vera@club.example', votes: EXAMPLE_VOTES },
        },
        CastPollBallotInput: {
          summary: 'In a poll; the first call where voting is paid',
          schema: castPollBody(embedded),
          example: { visitorId: EXAMPLE.visitor, votes: EXAMPLE_VOTES, returnUrl: 'https://club.example/paid' },
        },
        FinishPaymentInput: FINISH_PAYMENT,
      },
    }),
    loadPublicEvent(deps),
    paidFeature,
    takeIdempotencyKey(async (target: VoteCaller, sent) => {
      const keeping = await keep(target);
      if (keeping === undefined || keeping === 'never') return keeping;
      const votesCount = Array.isArray(sent?.['votes']) ? sent['votes'].length : 0;
      const remake = (seed: Buffer) => {
        const confirmationCode = deriveConfirmationCode(keeping.secrets, keeping.eventId, seed);
        return { status: 201, body: JSON.stringify({ data: { confirmationCode, votesCount } satisfies CastAnswer }) };
      };
      return { ...keeping, remake };
    }),
    castBody,
    (c) => {
      const [target, ballot] = [c.get('target'), c.get('body')];
      if ('paymentAttemptId' in ballot) {
        const order = { votingEventId: target.event.id, purpose: 'vote', attemptId: ballot.paymentAttemptId } as const;
        return claimFirst(c, (claim) => finishCheckout(payments, order, claim));
      }
      const price = target.event.payToVote;
      if (price === null) return claimWithin(c, (claim) => castBallot(deps, target, ballot, claim));
      if (!('visitorId' in ballot)) throw new Error('only ballots of polls are paid for');
      return claimFirst(c, (claim) => startPaidVote({ ...deps, ...payments }, target, price, ballot, claim));
    },
  );
  return router;
}

type CastDeps = PrepareDeps & Pick<Deps, 'definitions' | 'ballots'>;

type CastAnswer = z.output<typeof castResultView>;

/** Verdict of `cast_ballots_together` if the encrypted weight or identity generation is not the voter's. Nothing was stored. */
const OTHER_WEIGHT = 'other_weight';

/** How often a ballot is prepared and sent before giving up, if its definition or encrypted weight is outdated each time. */
const MOST_TRIES = 5;
/** Tries without the event's lock. The next tries hold the lock, so that no change can outdate the ballot. */
const TRIES_UNHELD = 2;
/** One cast of an account at a time holds its event, because this takes a second connection of the pool. */
const holding = new SharedTurns();

/** A random confirmation code. In an election with an Idempotency-Key, it is derived from claim and event key: a retry gets the same. */
async function codeFor(
  { ballotKeys }: CastDeps,
  event: VotingEvent,
  claim: DeferredClaim | undefined,
): Promise<string> {
  const secrets = event.type === 'poll' || claim === undefined ? undefined : await ballotKeys.find(event);
  return secrets === undefined || claim === undefined
    ? generateConfirmationCode()
    : deriveConfirmationCode(secrets, event.id, claim.seed);
}

/** Stores a ballot as pending (contract, "Cast body"). @throws ApiError 422 with all faults; 403, 409 for the voter; 429 for wrong keys */
export async function castBallot(
  deps: CastDeps,
  { caller, event }: VoteCaller,
  body: CastBody,
  claim: DeferredClaim | undefined,
): Promise<Answer> {
  let current = event;
  let weight: bigint | undefined;
  let generation: number | undefined;
  const send = async (read: VotingEvent) => {
    const definition = orNotFound(await deps.definitions.get(read));
    // A ballot sent during a rehearsal must not be cast in the real vote, and vice versa.
    requireSameWorld(event, definition.event);
    // The event became paid while this request was read. The caller has not seen the price and must retry.
    if (definition.event.payToVote !== null) throw worldChanged();
    const code = await codeFor(deps, definition.event, claim);
    const answer = created({ confirmationCode: code, votesCount: body.votes.length } satisfies CastAnswer);
    const row = await prepareBallot(deps, definition, body, code, caller.keyId, deps.db, weight, generation);
    const judged = await deps.ballots.cast({ row, claim: claim?.valuesFor(answer) });
    return { ...judged, definition, answer, identity: row.voter?.identity };
  };
  const sendHeld = () =>
    holding.take(event.accountId, () =>
      inTransaction(deps.db, async (tx) => send(orNotFound(await holdEvent(tx, event.id)))),
    );
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const sent = tries < TRIES_UNHELD ? await send(current) : await sendHeld();
    const { definition, answer, verdict, shortage, stored, weightMicro, tagged } = sent;
    if (stored !== undefined && claim !== undefined) return claim.replay(stored);
    const judged = judgeTagged(deps.secrets, event.id, { tagged, verdict });
    claim?.claimed(verdict === 'cast' && judged?.isForged !== true);
    if (judged?.isForged === true) {
      // Drop the ballot that the statement stored: its code is never returned.
      await inTransaction(deps.db, (tx) => dropUnconfirmed(tx, event.id, [judged.voter.id]));
      throw await refuseForged(deps, event.id, judged.voter.id);
    }
    if (judged?.lacksApproval === true) await approveByKey(deps, definition.event, judged.voter);
    if (verdict === 'cast') return answer;
    if (verdict === OTHER_WEIGHT && weightMicro !== undefined) {
      weight = weightMicro;
      generation = judged && identityGeneration(judged.voter.keyGeneration);
      continue;
    }
    if (shortage !== undefined) throw insufficientCredits(shortage);
    if (verdict === 'rows_disagree') throw await refuseForged(deps, event.id);
    if (isRefusal(verdict)) throw await refusedVoter(deps, definition.event, sent.identity, verdict, caller.keyId);
    if (verdict !== 'stale') throw new Error(`a cast was judged in an unknown way: ${verdict}`);
    current = orNotFound(await findEventById(deps.db, event.id));
  }
  throw worldChanged();
}
