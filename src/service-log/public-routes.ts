import { Hono } from 'hono';
import { z } from 'zod';
import { findCheckpointAt, logOrigin, signHead } from '#src/ballot-log/checkpoint.ts';
import { EMPTY_ROOT } from '#src/ballot-log/merkle-tree.ts';
import { ballotProofView } from '#src/ballot-log/prove.ts';
import { noteAnswer, proveInclusion, readTileBytes, tileAnswer } from '#src/ballot-log/read-log.ts';
import { SERVICE_HEADS_SHOWN } from '#src/ballot-log/service-identity.ts';
import { mainOf } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { answersBytes, answersOne, answersText } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import { loadPublicEvent } from '#src/voting-events/access.ts';
import {
  findLeafOf,
  listCosignatures,
  listNewestCheckpoints,
  type ServiceCheckpoint,
  serviceTree,
} from './repository.ts';
import { eventTag, type ServiceLogDeps } from './sequence-service-log.ts';

const HASH_EXAMPLE = 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=';

/** The position of an event's checkpoint in the service's own log, with its inclusion proof. */
const checkpointProofView = z
  .object({
    ...pick(ballotProofView.shape, ['status', 'index', 'hashes']),
    checkpoint: z
      .string()
      .nullable()
      .meta({ description: 'The newest checkpoint of the event that has a leaf, as it was signed.' }),
    serviceCheckpoint: z.string().nullable().meta({
      description: 'The head of the service’s own log that the proof leads to, with the cosignatures of witnesses.',
    }),
  })
  .meta({
    id: 'CheckpointProof',
    examples: [
      {
        status: 'logged',
        index: 0,
        hashes: [],
        checkpoint: `vote.example/${EXAMPLE.event}\n2\n${HASH_EXAMPLE}\nconfirmed 1\n\n— vote.example AAAAAAo=\n`,
        serviceCheckpoint: `vote.example/log\n1\n${HASH_EXAMPLE}\n\n— vote.example/log AAAAAAo=\n`,
      },
    ],
  });
type CheckpointProof = z.output<typeof checkpointProofView>;

const withLines = ({ note }: ServiceCheckpoint, lines: readonly string[] = []): string =>
  note + lines.map((line) => `${line}\n`).join('');

/** The newest head of the service's own log, with the cosignatures that it has so far. */
async function readServiceCheckpoint({ db, serviceLog: { signer } }: ServiceLogDeps): Promise<string> {
  const [newest] = await listNewestCheckpoints(db, 0, 1);
  if (newest === undefined) return signHead({ origin: signer.name, size: 0, rootHash: EMPTY_ROOT }, signer);
  return withLines(newest, (await listCosignatures(db, [newest.size])).get(newest.size));
}

/** Proves that an event's newest logged checkpoint is in the service's own log, under the head with the most cosignatures. */
async function proveCheckpoint(deps: Deps, eventId: string): Promise<CheckpointProof> {
  const { logKey } = deps;
  const { db } = mainOf(deps);
  const leaf = await findLeafOf(db, eventTag(logOrigin(logKey.name, eventId)));
  const heads = leaf === undefined ? [] : await listNewestCheckpoints(db, leaf.leafIndex, SERVICE_HEADS_SHOWN);
  const signed = leaf === undefined ? undefined : await findCheckpointAt(deps.db, eventId, leaf.size);
  const [newest] = heads;
  if (leaf === undefined || newest === undefined || signed === undefined)
    return { status: 'queued', index: null, hashes: [], checkpoint: null, serviceCheckpoint: null };
  const lines = await listCosignatures(
    db,
    heads.map(({ size }) => size),
  );
  const countOf = ({ size }: ServiceCheckpoint): number => lines.get(size)?.length ?? 0;
  const best = heads.reduce((one, other) => (countOf(other) > countOf(one) ? other : one), newest);
  const { leafIndex: index } = leaf;
  return {
    status: 'logged',
    index,
    hashes: await proveInclusion(serviceTree(db), index, best.size),
    checkpoint: signed.note,
    serviceCheckpoint: withLines(best, lines.get(best.size)),
  };
}

/** The public routes of the service's own log (C2SP tlog-tiles), whose leaves are the checkpoints of all ballot logs. */
export function serviceLogRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('getServiceLogKey', 'GET /.well-known/voting-service-log-key', {
      summary: 'Read the key that the service’s own log is signed with',
      scope: 'none',
      description:
        'The key of the ballot logs under the origin of the service’s own log, as a C2SP verifier key: what a witness is set up with.',
      answers: answersText('text/plain', 'The key, one line.'),
    }),
    async (c) => answer(c, noteAnswer(`${deps.serviceLog.signer.verifierKey}\n`)),
  );
  router.on(
    ...operation('getServiceCheckpoint', 'GET /log/checkpoint', {
      summary: 'Read the signed head of the service’s own log',
      scope: 'none',
      description:
        'Every checkpoint of every event is a leaf of this one log, within about a minute. Behind the service’s signature stand the cosignatures (C2SP tlog-cosignature, `cosignature/v1`) of the witnesses that have signed this head so far.',
      answers: answersText('text/plain', 'A signed note (C2SP tlog-checkpoint).'),
    }),
    async (c) => answer(c, noteAnswer(await readServiceCheckpoint(mainOf(deps)))),
  );
  router.on(
    ...operation('getServiceTile', 'GET /log/tile/:tile{.+}', {
      summary: 'Read a tile of hashes, or a bundle of entries, of the service’s own log',
      scope: 'none',
      description:
        'By the paths of C2SP tlog-tiles. An entry is canonical JSON of `{ v: 2, t: "checkpoint", e, c }`: `e` is SHA-256("event" ‖ origin), `c` is SHA-256("checkpoint" ‖ origin, size and root, each with its line end), in lowercase hex. Who reads an event’s log can make both again; nobody else learns its size or root.',
      answers: answersBytes('The bytes of the tile.'),
    }),
    async (c) => {
      const content = orNotFound(await readTileBytes(serviceTree(mainOf(deps).db), c.req.param('tile')));
      return answer(c, tileAnswer(content, 'anybody'));
    },
  );
  router.on(
    ...operation('proveCheckpoint', 'GET /public/voting-events/:idOrCode/log/inclusion', {
      summary: 'Prove that a checkpoint of the ballot log is in the service’s own log',
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
