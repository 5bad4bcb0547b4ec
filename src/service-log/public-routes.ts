import { Hono } from 'hono';
import { noteAnswer, tileAnswer } from '#src/ballot-log/log-answers.ts';
import { readTileBytes } from '#src/ballot-log/read-log.ts';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadPublicEvent } from '#src/voting-events/access.ts';
import * as operations from './operations.ts';
import { proveCheckpoint, readServiceCheckpoint } from './read-service-log.ts';
import { serviceTree } from './repository.ts';

/** The log of all logs (C2SP tlog-tiles), for witnesses and everybody else, and where an event stands in it. */
export function serviceLogRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(...operations.getServiceLogKey, async (c) =>
    answer(c, noteAnswer(`${deps.serviceLog.signer.verifierKey}\n`)),
  );
  router.on(...operations.getServiceCheckpoint, async (c) => answer(c, noteAnswer(await readServiceCheckpoint(deps))));
  router.on(...operations.getServiceTile, async (c) => {
    const content = await readTileBytes(serviceTree(deps.db), c.req.param('tile'));
    if (content === undefined) throw notFound();
    return answer(c, tileAnswer(content));
  });
  router.on(...operations.proveCheckpoint, loadPublicEvent(deps), async (c) =>
    answer(c, ok(await proveCheckpoint(deps, c.get('target').event.id))),
  );
  return router;
}
