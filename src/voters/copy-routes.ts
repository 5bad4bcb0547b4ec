import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { loadEvent } from '#src/voting-events/access.ts';
import { viewEvent } from '#src/voting-events/views.ts';
import { copyEvent } from './copy-event.ts';
import * as operations from './copy-operations.ts';
import { copyEventBody } from './schemas.ts';

/** Copies of events (completions 10.4). They stand with the voters, because these are copied, too. */
export function copyRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(...operations.copyVotingEvent, loadEvent(deps), replayIfAnswered(), body(copyEventBody), (c) =>
    change(c, async (tx) =>
      created(viewEvent(await copyEvent(tx, deps, c.get('target'), c.get('body')), deps.clock.now())),
    ),
  );
  return router;
}
