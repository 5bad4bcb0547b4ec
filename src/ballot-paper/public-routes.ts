import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, kept } from '#src/http/answer.ts';
import { claimFirst } from '#src/http/answer-once.ts';
import { bodyFor } from '#src/http/body.ts';
import { CachedJson } from '#src/http/cached-json.ts';
import type { Claim } from '#src/http/claim.ts';
import type { Env } from '#src/http/env.ts';
import { markRehearsal } from '#src/http/rehearsal.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { requirePlan } from '#src/http/require-plan.ts';
import { answer } from '#src/http/send.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { loadPublicEvent, type VoteCaller } from '#src/voting-events/access.ts';
import { finishPaymentBody } from '#src/voting-events/schemas.ts';
import { viewContext } from '#src/voting-events/views.ts';
import { takesLoopback } from '#src/voting-events/voting-page.ts';
import { BallotCache } from './ballot-cache.ts';
import { candidateIssues } from './candidate-issues.ts';
import { loadPublicPaper } from './load-paper.ts';
import type { RegistrationCheckout } from './pay-to-register.ts';
import * as operations from './public-operations.ts';
import { checkRegistration, type Registration, registerCandidate } from './register-candidate.ts';
import { paidRegistrationBody, registerCandidateBody } from './schemas.ts';
import { viewRegisteredCandidate } from './views.ts';

export function publicBallotPaperRouter(deps: Deps, checkout: RegistrationCheckout): Hono<Env> {
  const event = loadPublicEvent(deps);
  const withPaper = loadPublicPaper(deps);
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
      const links = { positionIds: positionIds || [], groupId: groupId || undefined, referendumRole: undefined };
      return candidateIssues(deps.db, id, links);
    },
  );
  const router = new Hono<Env>();
  router.on(...operations.getContext, withPaper, async (c) => {
    const { event: row, paper } = c.get('target');
    const votingMethods = [...new Set(paper.positions.map((position) => position.votingMethod))];
    const quadraticCredits = paper.positions.some((position) => position.quadraticTopUp !== null);
    const data = viewContext(row, deps.clock.now(), { votingMethods, quadraticCredits });
    const body = { data };
    return answer(
      c,
      kept(await CachedJson.of([JSON.stringify(row.rehearsalSince === null ? body : markRehearsal(body))])),
    );
  });
  router.on(...operations.getBallot, withPaper, async (c) =>
    answer(c, kept(await ballots.take(c.get('target').paper, c.get('query').seed))),
  );
  router.on(
    ...operations.registerCandidate(embedded, checkout.document),
    event,
    paidFeature,
    replayIfAnswered(),
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
        if (price === null) return register(target, registration, claim);
        await inTransaction(deps.db, (tx) => checkRegistration(tx, target.event.id, registration));
        return checkout.start({ caller: target, price, registration, returnUrl, cancelUrl }, claim);
      }),
  );
  return router;
}
