import { Hono } from 'hono';
import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { created, inPieces, ok } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { inTurn } from '#src/http/request-life.ts';
import { answer, costly } from '#src/http/send.ts';
import { loadEvent } from '#src/voting-events/access.ts';
import { viewEvent, votingEventView } from '#src/voting-events/voting-event.ts';
import {
  DEFINITION_BOUNDS,
  DEFINITION_EXAMPLE,
  definitionBody,
  definitionView,
  differenceView,
  replaceDefinitionQuery,
} from './definition-schema.ts';
import { readDefinition } from './read-definition.ts';
import { compareDefinition, createFromDefinition, replaceDefinition } from './replace-definition.ts';

const DESCRIPTION =
  'Rows name each other by the IDs of the document. Takes bodies of up to 32 MiB and 250,000 values. A linked payment business is no part of it: prices are taken where the event has one that takes them.';

/** Routes for an election as a file (completions 10.6). Mounted first: `:idOrCode` of later routes would match `definition`. */
export function definitionRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const router = new Hono<Env>();
  router.on(
    ...operation('createFromDefinition', 'POST /voting-events/definition', {
      summary: 'Create a voting event from a file',
      scope: 'write',
      description: DESCRIPTION,
      bounds: DEFINITION_BOUNDS,
      answers: answersCreated(votingEventView, 'The voting event.'),
      refusals: ['code_in_use', 'plan_limit', 'plan_feature', 'ballot_key_unavailable'],
      example: DEFINITION_EXAMPLE,
    }),
    takeIdempotencyKey(),
    body(definitionBody),
    (c) =>
      change(c, async (tx) =>
        created(viewEvent(await createFromDefinition(tx, deps, c.get('caller'), c.get('body')), deps.clock.now())),
      ),
  );
  router.on(
    ...operation('getDefinition', 'GET /voting-events/:idOrCode/definition', {
      summary: 'Read a voting event as a file',
      scope: 'read',
      description:
        'Settings, groups, positions, candidates and sponsors: `data` can be sent back as it is. No voter, ballot or payment stands in it.',
      answers: answersOne(definitionView, 'The definition.'),
    }),
    event,
    (c) => costly(c, async () => ok(await readDefinition(deps.reads, c.get('target').event, deps.clock.now()))),
  );
  router.on(
    ...operation('replaceDefinition', 'PUT /voting-events/:idOrCode/definition', {
      summary: 'Make a draft exactly what a file says',
      scope: 'write',
      description: `${DESCRIPTION} A row with the ID of one of the event's own stays the same row, and so does one with an ID of the file and the name of a row that no ID names (candidates: with a position in common); rows that the file does not name are deleted, and settings that it leaves out become the default. With \`dryRun=true\` the answer lists what would change.`,
      bounds: DEFINITION_BOUNDS,
      query: replaceDefinitionQuery,
      answers: answersOne(
        z.union([definitionView, z.array(differenceView)]).meta({
          examples: [
            [{ kind: 'group', action: 'created', id: 'south', before: null, after: { id: 'south', name: 'South' } }],
          ],
        }),
        'The definition as it is now; with `dryRun=true` the differences.',
      ),
      refusals: [
        'not_a_draft',
        'event_has_ballots',
        'code_in_use',
        'plan_limit',
        'plan_feature',
        'ballot_key_unavailable',
      ],
      example: DEFINITION_EXAMPLE,
    }),
    event,
    body(definitionBody),
    async (c) => {
      const [target, sent] = [c.get('target'), c.get('body')];
      if (c.get('query').dryRun === 'true')
        return answer(c, inPieces(await inTurn(c, () => compareDefinition(deps.db, deps, target, sent))));
      return change(c, async (tx) => inPieces((await replaceDefinition(tx, deps, target, sent)).after));
    },
  );
  return router;
}
