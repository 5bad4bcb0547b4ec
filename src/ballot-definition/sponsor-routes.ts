import { Hono } from 'hono';
import type { z } from 'zod';
import { differenceOf } from '#src/accounts/changes.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { answersNothing } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { takeIdempotencyKey } from '#src/http/replay.ts';
import { answer, costly } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { changedFields, lockForChange, touchBallotDefinition } from '#src/voting-events/guard-change.ts';
import { searchQuery } from './group.ts';
import { changing, creating, listing, reading } from './part-operations.ts';
import { type BallotChangeDeps, recordBallotChange, requireRoom, sentOnly } from './record-ballot-change.ts';
import { deleteSponsor, findSponsor, insertSponsor, listSponsors, updateSponsor } from './repository.ts';
import { createSponsorBody, sponsorView, updateSponsorBody, viewSponsor } from './sponsor.ts';
import type { Sponsor } from './types.ts';

/** Adds a sponsor. @throws ApiError 422 `plan_limit` */
async function createSponsor(
  tx: Transaction,
  deps: BallotChangeDeps,
  organizer: Organizer,
  body: z.output<typeof createSponsorBody>,
): Promise<Sponsor> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const count = await requireRoom(tx, 'sponsors', eventId);
  const nowMs = event.lockedAt;
  const sponsor = await insertSponsor(tx, {
    votingEventId: eventId,
    id: deps.ids.sortable('spn'),
    name: body.name,
    logoUrl: body.logoUrl ?? null,
    websiteUrl: body.websiteUrl ?? null,
    tier: body.tier ?? null,
    sortOrder: body.sortOrder ?? count,
    createdAt: nowMs,
    updatedAt: nowMs,
  });
  await touchBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'sponsor.created', sponsor.id, { after: { name: sponsor.name } });
  return sponsor;
}

/** Changes a sponsor. @throws ApiError 404 */
async function changeSponsor(
  tx: Transaction,
  deps: BallotChangeDeps,
  organizer: Organizer,
  id: string,
  body: z.output<typeof updateSponsorBody>,
): Promise<Sponsor> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = await findSponsor(tx, eventId, id);
  if (before === undefined) throw notFound();
  const changed = changedFields(sentOnly(body), before);
  if (Object.keys(changed).length === 0) return before;
  const nowMs = event.lockedAt;
  const after = await updateSponsor(tx, eventId, id, { ...changed, updatedAt: nowMs });
  await touchBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'sponsor.updated', id, differenceOf(before, after));
  return after;
}

/** Deletes a sponsor at once (204). @throws ApiError 404 */
async function removeSponsor(tx: Transaction, deps: BallotChangeDeps, organizer: Organizer, id: string): Promise<void> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = await findSponsor(tx, eventId, id);
  if (before === undefined) throw notFound();
  await deleteSponsor(tx, eventId, id);
  await touchBallotDefinition(tx, eventId, event.lockedAt);
  await recordBallotChange(tx, deps, organizer, 'sponsor.deleted', id, { before: { name: before.name } });
}

export function sponsorRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const sponsor = loadRow(deps, findSponsor);
  const router = new Hono<Env>();
  router.on(...listing('Sponsor', sponsorView, searchQuery), event, (c) =>
    costly(c, c.get('caller').accountId, async () =>
      list((await listSponsors(deps.reads, c.get('target').event.id, c.get('query').search)).map(viewSponsor)),
    ),
  );
  router.on(
    ...creating('Sponsor', sponsorView, {
      refusals: ['plan_limit'],
      example: { name: 'The corner bookshop', websiteUrl: 'https://bookshop.example/', tier: 'gold' },
    }),
    event,
    takeIdempotencyKey(),
    body(createSponsorBody),
    (c) => change(c, async (tx) => created(viewSponsor(await createSponsor(tx, deps, c.get('target'), c.get('body'))))),
  );
  router.on(...reading('Sponsor', sponsorView), sponsor, async (c) => answer(c, ok(viewSponsor(c.get('target').row))));
  router.on(
    ...changing('Sponsor', sponsorView, { example: { tier: 'silver' } }),
    sponsor,
    body(updateSponsorBody, undefined, ({ row }: { readonly row: Sponsor }) => viewSponsor(row)),
    (c) =>
      change(c, async (tx) =>
        ok(viewSponsor(await changeSponsor(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')))),
      ),
  );
  router.on(
    ...operation({
      operationId: 'deleteSponsor',
      summary: 'Delete a sponsor',
      method: 'DELETE',
      path: '/:id',
      scope: 'write',
      answers: answersNothing('The sponsor is gone.'),
    }),
    sponsor,
    (c) =>
      change(c, async (tx) => {
        await removeSponsor(tx, deps, c.get('target'), c.get('target').row.id);
        return gone;
      }),
  );
  return router;
}
