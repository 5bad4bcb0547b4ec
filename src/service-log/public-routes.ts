import { Hono } from 'hono';
import { noteAnswer, readTileBytes, tileAnswer } from '#src/ballot-log/read-log.ts';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { answersBytes, answersOne, answersText } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadPublicEvent } from '#src/voting-events/access.ts';
import { checkpointProofView, proveCheckpoint, readServiceCheckpoint } from './read-service-log.ts';
import { serviceTree } from './repository.ts';

/** The log of all logs (C2SP tlog-tiles), for witnesses and everybody else, and where an event stands in it. */
export function serviceLogRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation({
      operationId: 'getServiceLogKey',
      summary: 'Read the key that the service’s own log is signed with',
      method: 'GET',
      path: '/.well-known/voting-service-log-key',
      scope: 'none',
      description:
        'The key of the ballot logs under the origin of the service’s own log, as a C2SP verifier key: what a witness is set up with.',
      answers: answersText('text/plain', 'The key, one line.'),
    }),
    async (c) => answer(c, noteAnswer(`${deps.serviceLog.signer.verifierKey}\n`)),
  );
  router.on(
    ...operation({
      operationId: 'getServiceCheckpoint',
      summary: 'Read the signed head of the service’s own log',
      method: 'GET',
      path: '/log/checkpoint',
      scope: 'none',
      description:
        'Every checkpoint of every event is a leaf of this one log, within about a minute. Behind the service’s signature stand the cosignatures (C2SP tlog-cosignature, `cosignature/v1`) of the witnesses that have signed this head so far.',
      answers: answersText('text/plain', 'A signed note (C2SP tlog-checkpoint).'),
    }),
    async (c) => answer(c, noteAnswer(await readServiceCheckpoint(deps))),
  );
  router.on(
    ...operation({
      operationId: 'getServiceTile',
      summary: 'Read a tile of hashes, or a bundle of entries, of the service’s own log',
      method: 'GET',
      path: '/log/tile/:tile{.+}',
      scope: 'none',
      description:
        'By the paths of C2SP tlog-tiles. An entry is canonical JSON of `{ v: 1, t: "checkpoint", e, c }`: `e` is SHA-256("event" ‖ origin), `c` is SHA-256("checkpoint" ‖ origin, size and root, each with its line end), in lowercase hex. Who reads an event’s log can make both again; nobody else learns its size or root.',
      answers: answersBytes('The bytes of the tile.'),
    }),
    async (c) => {
      const content = await readTileBytes(serviceTree(deps.db), c.req.param('tile'));
      if (content === undefined) throw notFound();
      return answer(c, tileAnswer(content));
    },
  );
  router.on(
    ...operation({
      operationId: 'proveCheckpoint',
      summary: 'Prove that a checkpoint of the ballot log is in the service’s own log',
      method: 'GET',
      path: '/public/voting-events/:idOrCode/log/inclusion',
      scope: ['vote', 'observe', 'log'],
      keyless: true,
      description: 'Under the head with the most cosignatures among the newest that hold it.',
      answers: answersOne(checkpointProofView, 'Where the checkpoint stands.'),
    }),
    loadPublicEvent(deps),
    async (c) => answer(c, ok(await proveCheckpoint(deps, c.get('target').event.id))),
  );
  return router;
}
