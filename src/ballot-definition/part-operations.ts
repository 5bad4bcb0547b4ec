import { Hono, type MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import type { Database, Executor } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, list, ok } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated, answersList, answersOne, answersQueued } from '#src/http/answer-shapes.ts';
import type { BodyStep } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import type { RefusalCase } from '#src/http/refusals.ts';
import { answer, costly } from '#src/http/send.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { type DeletedPart, queueDeletion } from './delete-rows.ts';
import type { ChangePart, CreatePart } from './record-ballot-change.ts';

interface Words {
  readonly refusals?: readonly RefusalCase[];
  readonly example: object;
  readonly summary?: string;
}

type Target<Row> = Organizer & { readonly row: Row };

/** The properties in which the kinds of parts (positions, candidates, groups, sponsors) differ. */
interface PartKind<Row extends { readonly id: string }, Query extends z.ZodType, Creation, Change> {
  readonly name: 'Candidate' | 'Group' | 'Position' | 'Sponsor';
  readonly view: z.ZodType;
  readonly find: (executor: Executor, eventId: string, id: string) => Promise<Row | undefined>;
  readonly show: (row: Row, executor: Executor) => object | Promise<object>;
  readonly query: Query;
  /** Returns rows in their API form. */
  readonly list: (reads: Database, eventId: string, query: z.output<Query>) => Promise<readonly object[]>;
  readonly creation: {
    readonly words: Words;
    readonly body: BodyStep<Organizer, Creation>;
    readonly work: CreatePart<Row, Creation, Deps>;
  };
  readonly change: {
    readonly words: Words;
    readonly body: BodyStep<Target<Row>, Change>;
    readonly work: ChangePart<Row, Change, Deps>;
  };
  /** Absent for a kind whose rows are deleted at once instead of by a job. */
  readonly deletion?: { readonly kind: DeletedPart; readonly refusals: readonly RefusalCase[] };
  /** Adds further routes before `/:id`, which would match them. */
  readonly others?: (router: Hono<Env>, event: MiddlewareHandler<Env & { Variables: { target: Organizer } }>) => void;
}

/** The routes to list, create, read, change and delete the parts of one kind. */
export function partRouter<Row extends { readonly id: string }, Query extends z.ZodType, Creation, Change>(
  deps: Deps,
  kind: PartKind<Row, Query, Creation, Change>,
): Hono<Env> {
  const { name, view, creation, deletion } = kind;
  const word = name.toLowerCase();
  const event = loadEvent(deps);
  const row = loadRow(deps, kind.find);
  const router = new Hono<Env>();
  router.on(
    ...operation(`list${name}s`, 'GET /', {
      ...{ summary: `List ${word}s`, scope: 'read', query: kind.query },
      answers: answersList(view, `Every ${word} of the event.`),
    }),
    event,
    (c) => costly(c, async () => list(await kind.list(deps.reads, c.get('target').event.id, c.get('query')))),
  );
  router.on(
    ...operation(`create${name}`, 'POST /', {
      ...{ summary: `Create a ${word}`, scope: 'write' },
      answers: answersCreated(view, `The new ${word}.`),
      ...creation.words,
    }),
    event,
    takeIdempotencyKey(),
    creation.body,
    (c) =>
      change(c, async (tx) =>
        created(await kind.show(await creation.work(tx, deps, c.get('target'), c.get('body')), tx)),
      ),
  );
  kind.others?.(router, event);
  router.on(
    ...operation(`get${name}`, 'GET /:id', {
      ...{ summary: `Read a ${word}`, scope: 'read' },
      answers: answersOne(view, `The ${word}.`),
    }),
    row,
    async (c) => answer(c, ok(await kind.show(c.get('target').row, deps.db))),
  );
  router.on(
    ...operation(`update${name}`, 'PATCH /:id', {
      ...{ summary: `Change a ${word}`, scope: 'write' },
      answers: answersOne(view, `The ${word} as it is now.`),
      ...kind.change.words,
    }),
    row,
    kind.change.body,
    (c) =>
      change(c, async (tx) => {
        const { row: before, ...organizer } = c.get('target');
        return ok(await kind.show(await kind.change.work(tx, deps, organizer, before.id, c.get('body')), tx));
      }),
  );
  if (deletion === undefined) return router;
  router.on(
    ...operation(`delete${name}`, 'DELETE /:id', {
      ...{ summary: `Queue the deletion of a ${word}`, scope: 'write', refusals: deletion.refusals },
      answers: answersQueued(`The ${word} disappears within seconds.`),
    }),
    row,
    (c) => change(c, (tx) => queueDeletion(tx, deps, c.get('target'), deletion.kind, c.get('target').row.id)),
  );
  return router;
}
