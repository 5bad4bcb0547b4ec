import { requireFeature } from '#src/accounts/plans.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, kept } from '#src/http/answer.ts';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { KeptText } from '#src/http/kept-text.ts';
import { type Claim, type RequestContext, type Route, readRoute, workRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import { requireVoteCaller, type VoteCaller } from '#src/voting-events/access.ts';
import { FINISH_PAYMENT, finishPaymentBody } from '#src/voting-events/schemas.ts';
import { contextView } from '#src/voting-events/view-schemas.ts';
import { viewContext } from '#src/voting-events/views.ts';
import { KeptBallots } from './kept-ballots.ts';
import type { BallotPaper } from './paper.ts';
import type { RegistrationCheckout } from './pay-to-register.ts';
import { checkRegistration, type Registration, registerCandidate } from './register-candidate.ts';
import { ballotQuery, paidRegistrationBody, registerCandidateBody } from './schemas.ts';
import { ballotView, registeredCandidateView } from './view-schemas.ts';
import { viewRegisteredCandidate } from './views.ts';

export function publicBallotPaperRoutes(deps: Deps, checkout: RegistrationCheckout): Route[] {
  const withPaper = async (context: RequestContext): Promise<VoteCaller & { paper: BallotPaper }> => {
    const caller = await requireVoteCaller(deps, context);
    const paper = await deps.papers.take(caller.event);
    if (paper === undefined) throw notFound();
    return { ...caller, paper };
  };
  const register = (target: VoteCaller, registration: Registration, claim: Claim | undefined) =>
    inTransaction(deps.db, async (tx) => {
      const candidate = await registerCandidate(tx, deps, target.event.id, registration, {
        keyId: target.caller.keyId,
      });
      const answer = created(viewRegisteredCandidate(candidate));
      await claim?.store(tx, answer);
      return answer;
    }).finally(() => deps.events.forget(target.event.id));
  const ballots = new KeptBallots();
  const path = '/public/voting-events/:idOrCode';
  const embedded = deps.config.databaseUrl === undefined;
  return [
    readRoute({
      operationId: 'getContext',
      summary: 'Read the settings a voting page is built from',
      method: 'GET',
      path,
      scope: 'vote',
      description: 'A draft is not found yet.',
      answers: answersOne(contextView, 'The settings of the event.'),
      find: withPaper,
      read: async ({ target }) => {
        const { event: row, paper } = target;
        const votingMethods = [...new Set(paper.positions.map((position) => position.votingMethod))];
        const quadraticCredits = paper.positions.some((position) => position.quadraticTopUp !== null);
        const data = viewContext(row, deps.clock.now(), { votingMethods, quadraticCredits });
        return kept(await KeptText.of([JSON.stringify({ data })]));
      },
    }),
    readRoute({
      operationId: 'getBallot',
      summary: 'Read the ballot',
      method: 'GET',
      path: `${path}/ballot`,
      scope: 'vote',
      description:
        'Positions in their order, and approved candidates only. Where the event shuffles candidates, the same `seed` gives the same order: send one for each voter.',
      answers: answersOne(ballotView, 'The ballot.'),
      query: ballotQuery,
      find: withPaper,
      read: async ({ target, query }) => kept(await ballots.take(target.paper, query.seed)),
    }),
    workRoute({
      operationId: 'registerCandidate',
      summary: 'Register a candidate',
      method: 'POST',
      path: `${path}/register/candidate`,
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
        RegisterCandidateBody: {
          summary: 'A candidate; the first call where registration is paid',
          schema: registerCandidateBody(embedded),
          example: {
            name: 'Amir Haddad',
            positionIds: [EXAMPLE.position],
            email: 'amir@club.example',
            returnUrl: 'https://club.example/paid',
          },
        },
        FinishPaymentBody: FINISH_PAYMENT,
      },
      bodyFor: ({ event: { payToRegisterCandidate, paymentProvider } }, raw) => {
        if ('paymentAttemptId' in raw) return finishPaymentBody;
        return payToRegisterCandidate !== null && paymentProvider !== null
          ? paidRegistrationBody(embedded, paymentProvider)
          : registerCandidateBody(embedded);
      },
      find: (context: RequestContext) => requireVoteCaller(deps, context),
      requirePlan: ({ event: { payToRegisterCandidate }, ownerPlan }, raw) => {
        if (payToRegisterCandidate !== null && !('paymentAttemptId' in raw))
          requireFeature(deps.plans[ownerPlan], 'paid_features');
      },
      work: async ({ target, body }, claim) => {
        if ('paymentAttemptId' in body) {
          const { paymentAttemptId } = body;
          return checkout.finish(target, paymentAttemptId, claim).finally(() => deps.events.forget(target.event.id));
        }
        const { returnUrl, cancelUrl, ...registration } = body;
        const price = target.event.payToRegisterCandidate;
        if (price === null) return register(target, registration, claim);
        await inTransaction(deps.db, (tx) => checkRegistration(tx, target, registration, deps.clock.now()));
        return checkout.start({ caller: target, price, registration, returnUrl, cancelUrl }, claim);
      },
    }),
  ];
}
