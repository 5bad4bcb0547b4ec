import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created, ok } from '#src/http/answer.ts';
import { change, claimFirst } from '#src/http/answer-once.ts';
import { body, bodyFor } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { loadPublicEvent, type VoteCaller } from '#src/voting-events/access.ts';
import { checkVoter } from './check-voter.ts';
import * as operations from './public-operations.ts';
import { registerVoter, registrationIssues } from './register-voter.ts';
import { requestVoterKey } from './request-voter-key.ts';
import { checkElectionBody, checkPollBody, registerVoterBody, requestVoterKeyBody } from './schemas.ts';
import { viewRegisteredVoter } from './views.ts';

export function publicVoterRouter(deps: Deps): Hono<Env> {
  const event = loadPublicEvent(deps);
  const checkBody = bodyFor(({ event: { type } }: VoteCaller) => (type === 'poll' ? checkPollBody : checkElectionBody));
  const registrationBody = body(registerVoterBody, ({ event: of }: VoteCaller, sent, isFaulty) =>
    registrationIssues(deps, of, sent, isFaulty),
  );
  const router = new Hono<Env>();
  router.on(...operations.registerVoter, event, replayIfAnswered(), registrationBody, (c) =>
    claimFirst(c, async (claim) => {
      const voter = await registerVoter(deps, c.get('target'), c.get('body'), async (tx, row) =>
        claim?.store(tx, created(viewRegisteredVoter(row))),
      );
      return created(viewRegisteredVoter(voter));
    }),
  );
  router.on(...operations.requestVoterKey, event, replayIfAnswered(), body(requestVoterKeyBody), (c) =>
    change(c, async (tx) => ok(await requestVoterKey(tx, deps.secrets, c.get('target'), c.get('body')))),
  );
  router.on(...operations.checkVoter, event, replayIfAnswered(), checkBody, (c) =>
    claimFirst(c, async () => ok(await checkVoter(deps, c.get('target'), c.get('body')))),
  );
  return router;
}
