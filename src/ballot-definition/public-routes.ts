import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, kept } from '#src/http/answer.ts';
import { claimFirst, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { bodyFor } from '#src/http/body.ts';
import { CachedJson } from '#src/http/cached-json.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import { requirePlan } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { markRehearsal } from '#src/http/rehearsal.ts';
import { inTurn } from '#src/http/request-life.ts';
import { answer } from '#src/http/send.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { loadPublicEvent, type VoteCaller } from '#src/voting-events/access.ts';
import { FINISH_PAYMENT, finishPaymentBody } from '#src/voting-events/event-body.ts';
import { takesLoopback } from '#src/voting-events/event-mail.ts';
import { contextView, viewContext } from '#src/voting-events/voting-event.ts';
import { loadPublicBallotDefinition } from './ballot-definition.ts';
import { BallotCache, ballotQuery, ballotView } from './ballot-text.ts';
import {
  paidRegistrationBody,
  registerCandidateBody,
  registeredCandidateView,
  viewRegisteredCandidate,
} from './candidate.ts';
import { registrationIssues } from './change-candidate.ts';
import {
  checkRegistration,
  type Registration,
  type RegistrationCheckout,
  registerCandidate,
} from './register-candidate.ts';

export function publicBallotDefinitionRouter(deps: Deps, checkout: RegistrationCheckout): Hono<Env> {
  const event = loadPublicEvent(deps);
  const withBallotDefinition = loadPublicBallotDefinition(deps);
  const register = (target: VoteCaller, registration: Registration, claim: Claim | undefined) =>
    inTransaction(deps.db, async (tx) => {
      const candidate = await registerCandidate(tx, deps, target.event.id, registration, {
        keyId: target.caller.keyId,
        read: target.event,
      });
      const answer = created(viewRegisteredCandidate(candidate));
      await claim?.store(tx, answer);
      return answer;
    }).finally(() => deps.events.forget(target.event.id));
  const ballots = new BallotCache();
  const embedded = deps.config.databaseUrl === undefined;
  const paidFeature = requirePlan(({ event: { payToRegisterCandidate }, ownerPlan }: VoteCaller, raw) => {
    if (payToRegisterCandidate !== null && !('paymentAttemptId' in raw))
      requireFeature(deps.plans[ownerPlan], 'paid_features');
  });
  const registrationBody = bodyFor(
    ({ event: row }: VoteCaller, raw) => {
      const { payToRegisterCandidate, paymentProvider } = row;
      const loopback = takesLoopback(embedded, row);
      if ('paymentAttemptId' in raw) return finishPaymentBody;
      return payToRegisterCandidate !== null && paymentProvider !== null
        ? paidRegistrationBody(loopback, providerKind(paymentProvider).needs)
        : registerCandidateBody(loopback);
    },
    async ({ event: { id } }, sent) => {
      const [positionIds, groupId] = ['positionIds' in sent && sent.positionIds, 'groupId' in sent && sent.groupId];
      return registrationIssues(deps.db, id, { positionIds: positionIds || [], groupId: groupId || undefined });
    },
  );
  const router = new Hono<Env>();
  router.on(
    ...operation('getContext', 'GET /', {
      summary: 'Read the settings a voting page is built from',
      scope: 'vote',
      description: 'A draft is not found yet.',
      answers: answersOne(contextView, 'The settings of the event.'),
    }),
    withBallotDefinition,
    async (c) => {
      const { event: row, definition } = c.get('target');
      const votingMethods = [...new Set(definition.positions.map((position) => position.votingMethod))];
      const quadraticCredits = definition.positions.some((position) => position.quadraticTopUp !== null);
      const data = viewContext(row, deps.clock.now(), { votingMethods, quadraticCredits });
      const body = { data };
      return answer(
        c,
        kept(await CachedJson.of([JSON.stringify(row.rehearsalSince === null ? body : markRehearsal(body))])),
      );
    },
  );
  router.on(
    ...operation('getBallot', 'GET /ballot', {
      summary: 'Read the ballot',
      scope: 'vote',
      description:
        'Positions in their order, and approved candidates only. Where the event shuffles candidates, the same `seed` gives the same order: send one for each voter.',
      answers: answersOne(ballotView, 'The ballot.'),
      query: ballotQuery,
    }),
    withBallotDefinition,
    async (c) => {
      const [life, { definition }] = [c.get('life'), c.get('target')];
      const enter = () => life.rest(life.take(deps.leases.ballots, definition.event.accountId));
      return answer(c, kept(await ballots.take(definition, c.get('query').seed, enter)));
    },
  );
  router.on(
    ...operation('registerCandidate', 'POST /register/candidate', {
      summary: 'Register a candidate',
      scope: 'vote',
      description:
        'Where the event asks for payment, the first call answers 402 with a checkout, and the second one, with only `paymentAttemptId`, registers the candidate.',
      answers: {
        ...answersCreated(registeredCandidateView, 'The candidate, who waits for the approval of the organizers.'),
        ...answersOne(registeredCandidateView, 'A second call that was made before: the same candidate.'),
        ...checkout.document.answers,
      },
      refusals: [
        'registration_closed',
        'event_closed',
        'plan_limit',
        'event_has_ballots',
        ...checkout.document.refusals,
      ],
      bodies: {
        RegisterCandidateInput: {
          summary: 'A candidate; the first call where registration is paid',
          schema: registerCandidateBody(embedded),
          example: {
            name: 'Amir Haddad',
            positionIds: [EXAMPLE.position],
            email: 'amir@club.example',
            returnUrl: 'https://club.example/paid',
          },
        },
        FinishPaymentInput: FINISH_PAYMENT,
      },
    }),
    event,
    paidFeature,
    takeIdempotencyKey(),
    registrationBody,
    (c) =>
      claimFirst(c, async (claim) => {
        const [target, body] = [c.get('target'), c.get('body')];
        if ('paymentAttemptId' in body) {
          const { paymentAttemptId } = body;
          return checkout.finish(target, paymentAttemptId, claim).finally(() => deps.events.forget(target.event.id));
        }
        const { returnUrl, cancelUrl, ...registration } = body;
        const price = target.event.payToRegisterCandidate;
        if (price === null) return inTurn(c, () => register(target, registration, claim));
        await inTurn(c, () => inTransaction(deps.db, (tx) => checkRegistration(tx, target.event.id, registration)));
        return checkout.start({ caller: target, price, registration, returnUrl, cancelUrl }, claim);
      }),
  );
  return router;
}
