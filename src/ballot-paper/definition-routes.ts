import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import { costly } from '#src/http/costly-reads.ts';
import type { Env } from '#src/http/env.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { loadEvent } from '#src/voting-events/access.ts';
import { viewEvent } from '#src/voting-events/views.ts';
import * as operations from './definition-operations.ts';
import { definitionBody } from './definition-schema.ts';
import { readDefinition } from './read-definition.ts';
import { compareDefinition, createFromDefinition, replaceDefinition } from './replace-definition.ts';

/** An election as a file (completions 10.6). Mounted before the routes of single events. */
export function definitionRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const router = new Hono<Env>();
  router.on(...operations.createFromDefinition, replayIfAnswered(), body(definitionBody), (c) =>
    change(c, async (tx) =>
      created(viewEvent(await createFromDefinition(tx, deps, c.get('caller'), c.get('body')), deps.clock.now())),
    ),
  );
  router.on(...operations.getDefinition, event, (c) =>
    costly(c, c.get('caller').accountId, async () => ok(await readDefinition(deps.reads, c.get('target').event))),
  );
  router.on(...operations.replaceDefinition, event, body(definitionBody), async (c) => {
    const [target, sent] = [c.get('target'), c.get('body')];
    if (c.get('query').dryRun === 'true') return answer(c, ok(await compareDefinition(deps.db, deps, target, sent)));
    return change(c, async (tx) => ok((await replaceDefinition(tx, deps, target, sent)).after));
  });
  return router;
}
