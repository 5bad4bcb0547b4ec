import { setTimeout as delay } from 'node:timers/promises';
import { Hono } from 'hono';
import type { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { created, ok } from '#src/http/answer.ts';
import { change, claimFirst, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { body, bodyFor } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { inTurn } from '#src/http/request-life.ts';
import { loadAnyPublicEvent, loadPublicEvent, type VoteCaller } from '#src/voting-events/access.ts';
import { keepingOf } from '#src/voting-events/ballot-keys.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { ROLL_REFUSALS } from './create-voters.ts';
import { checkCast, type Participant, reasonOf } from './eligibility.ts';
import { checkRegistration, judgeRegistration, registerVoter } from './register-voter.ts';
import { requestVoterKey } from './request-voter-key.ts';
import {
  eligibilityView,
  keyRequestView,
  registeredVoterView,
  registerVoterBody,
  requestVoterKeyBody,
  viewRegisteredVoter,
} from './voter.ts';
import { checkElectionBody, checkPollBody, countWrongKey, identityOf, participantsOf } from './voter-identity.ts';
import { approveByKey } from './voter-key.ts';
import { judgeTagged } from './voter-tag.ts';

/** Wrong keys for one identity that are answered without delay. Each further wrong key is answered later, with the same answer. */
export const FREE_TRIES = 10;
const PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;

/** Whether a voter could cast now (contract, "voter/check"). Ineligibility is no error, even after many wrong keys. */
export async function checkVoter(
  deps: Pick<Deps, 'db' | 'secrets' | 'log'>,
  { caller, event, isForged }: VoteCaller,
  sent: Partial<z.output<typeof checkElectionBody> & z.output<typeof checkPollBody>>,
  /** Waits without holding a request slot, so that the delay of a guesser blocks no other request. */
  rest: (pause: Promise<void>) => Promise<void>,
): Promise<{ readonly eligible: true } | { readonly eligible: false; readonly reason: string }> {
  if (isForged) {
    await reportForged(deps, event.id);
    return { eligible: false, reason: 'voter_key_invalid' };
  }
  const participant = participantOf(event, sent);
  const checked = await checkCast(deps.db.$client, deps.secrets, event, participant);
  const judged = judgeTagged(deps.secrets, event.id, checked);
  if (judged?.isForged === true) await reportForged(deps, event.id, judged.voter.id);
  if (judged?.lacksApproval === true) await approveByKey(deps, event, judged.voter);
  const verdict = judged?.isForged === true ? 'voter_key_invalid' : checked.verdict;
  if (verdict === 'voter_key_invalid' && participant !== undefined && 'identity' in participant) {
    const { identity } = participant;
    const { wrong } = await countWrongKey(deps.db.$client, deps.secrets, event.id, identity, caller.keyId);
    await rest(delay(Math.min(MAX_PAUSE_MS, Math.max(0, wrong - FREE_TRIES) * PAUSE_MS)));
  }
  if (verdict === 'cast') return { eligible: true };
  return { eligible: false, reason: reasonOf(verdict) };
}

/** The participant that a request names; undefined if it lacks the required identity. */
function participantOf(event: VotingEvent, sent: Parameters<typeof checkVoter>[2]): Participant | undefined {
  if (event.type === 'poll') {
    const identities = participantsOf(event, { ...sent, visitorId: sent.visitorId ?? '' });
    return identities === undefined ? undefined : { identities };
  }
  const identity = identityOf(event, sent);
  return identity === undefined ? undefined : { identity, voterKey: sent.voterKey ?? '' };
}

export function publicVoterRouter(deps: Deps): Hono<Env> {
  const event = loadPublicEvent(deps);
  const anyEvent = loadAnyPublicEvent(deps);
  const checkBody = bodyFor(({ event: { type } }: VoteCaller) => (type === 'poll' ? checkPollBody : checkElectionBody));
  const registrationBody = body(registerVoterBody, judgeRegistration(deps));
  const router = new Hono<Env>();
  router.on(
    ...operation('registerVoter', 'POST /register/voter', {
      summary: 'Register a voter',
      scope: 'vote',
      answers: answersCreated(
        registeredVoterView,
        'The voter. With automatic approval, the first voter key that is used approves it.',
      ),
      refusals: ['registration_closed', 'voter_exists', ...ROLL_REFUSALS],
      example: { name: 'Tomás Ruiz', email: 'tomas@club.example' },
    }),
    event,
    takeIdempotencyKey(),
    registrationBody,
    (c) =>
      claimFirst(c, async (claim) => {
        await c.get('life').rest(checkRegistration(deps, c.get('target'), c.get('body')));
        return inTurn(c, async () => {
          const voter = await registerVoter(deps, c.get('target'), c.get('body'), async (tx, row) =>
            claim?.store(tx, created(viewRegisteredVoter(row))),
          );
          return created(viewRegisteredVoter(voter));
        });
      }),
  );
  router.on(
    ...operation('requestVoterKey', 'POST /voter-key/request', {
      summary: 'E-mail a voter key',
      scope: 'vote',
      description:
        'Send `voterId` where the event requires voter IDs, else `email`. The answer is the same for everybody: an unknown voter gets no mail.',
      answers: answersOne(keyRequestView, 'The mail is on its way, if there is such a voter.'),
      refusals: ['not_an_election'],
      example: { email: 'vera@club.example' },
    }),
    anyEvent,
    takeIdempotencyKey(),
    body(requestVoterKeyBody),
    (c) => change(c, async (tx) => ok(await requestVoterKey(tx, deps.secrets, c.get('target'), c.get('body')))),
  );
  router.on(
    ...operation('checkVoter', 'POST /voter/check', {
      untraced: true,
      summary: 'Check whether a voter may cast',
      scope: 'vote',
      role: 'viewer',
      description: 'Never an error for somebody who may not vote: `eligible` is false, and `reason` tells why.',
      answers: answersOne(eligibilityView, 'Whether a cast would be accepted now.'),
      refusals: ['ballot_key_unavailable'],
      bodies: {
        CheckElectionVoterInput: {
          summary: 'In an election',
          schema: checkElectionBody,
          example: { voterKey: EXAMPLE.voterKey, email: 'vera@club.example' },
        },
        CheckPollVisitorInput: { summary: 'In a poll', schema: checkPollBody, example: { visitorId: EXAMPLE.visitor } },
      },
    }),
    anyEvent,
    // The answer may show who has voted. So in an election it is stored under the election's own key, or not at all.
    takeIdempotencyKey(keepingOf(deps)),
    checkBody,
    (c) => {
      const life = c.get('life');
      const rest = (pause: Promise<void>) => life.rest(pause);
      return claimFirst(c, async () => ok(await checkVoter(deps, c.get('target'), c.get('body'), rest)));
    },
  );
  return router;
}
