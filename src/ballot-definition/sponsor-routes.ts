import type { Hono } from 'hono';
import type { z } from 'zod';
import { differenceOf } from '#src/accounts/changes.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { goneAfter } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { answersNothing } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { loadRow, type Organizer } from '#src/voting-events/access.ts';
import { changedFields, lockForChange, touchBallotDefinition } from '#src/voting-events/guard-change.ts';
import { givenOf } from '#src/voting-events/repository.ts';
import { searchQuery } from './group.ts';
import { partRouter } from './part-operations.ts';
import {
  type BallotChangeDeps,
  type ChangePart,
  type CreatePart,
  newRow,
  recordBallotChange,
  requireRoom,
} from './record-ballot-change.ts';
import { deleteSponsor, findSponsor, insertSponsor, listSponsors, updateSponsor } from './repository.ts';
import { createSponsorBody, sponsorView, updateSponsorBody, viewSponsor } from './sponsor.ts';
import type { Sponsor } from './types.ts';

/** Adds a sponsor. @throws ApiError 422 `plan_limit` */
const createSponsor: CreatePart<Sponsor, z.output<typeof createSponsorBody>> = async (tx, deps, organizer, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  const count = await requireRoom(tx, 'sponsors', event.id);
  const row = { ...body, ...newRow(deps, event, 'sponsors'), sortOrder: body.sortOrder ?? count };
  const sponsor = await insertSponsor(tx, row);
  await touchBallotDefinition(tx, event.id, event.lockedAt);
  await recordBallotChange(tx, deps, organizer, 'sponsor.created', sponsor.id, { after: { name: sponsor.name } });
  return sponsor;
};

type Body = z.output<typeof updateSponsorBody>;

const changeSponsor: ChangePart<Sponsor, Body> = async (tx, deps, organizer, id, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  const { id: eventId, lockedAt: nowMs } = event;
  const before = orNotFound(await findSponsor(tx, eventId, id));
  const changed = changedFields(givenOf(body), before);
  if (Object.keys(changed).length === 0) return before;
  const after = await updateSponsor(tx, eventId, id, { ...changed, updatedAt: nowMs });
  await touchBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'sponsor.updated', id, differenceOf(before, after));
  return after;
};

async function removeSponsor(tx: Transaction, deps: BallotChangeDeps, organizer: Organizer, id: string): Promise<void> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = orNotFound(await findSponsor(tx, eventId, id));
  await deleteSponsor(tx, eventId, id);
  await touchBallotDefinition(tx, eventId, event.lockedAt);
  await recordBallotChange(tx, deps, organizer, 'sponsor.deleted', id, { before: { name: before.name } });
}

export function sponsorRouter(deps: Deps): Hono<Env> {
  const router = partRouter(deps, {
    ...{ name: 'Sponsor', view: sponsorView, find: findSponsor, show: viewSponsor, query: searchQuery },
    list: async (reads, eventId, { search }) => (await listSponsors(reads, eventId, search)).map(viewSponsor),
    creation: {
      words: {
        refusals: ['plan_limit'],
        example: { name: 'The corner bookshop', websiteUrl: 'https://bookshop.example/', tier: 'gold' },
      },
      body: body(createSponsorBody),
      work: createSponsor,
    },
    change: {
      words: { example: { tier: 'silver' } },
      body: body(updateSponsorBody, undefined, ({ row }) => viewSponsor(row)),
      work: changeSponsor,
    },
  });
  router.on(
    ...operation('deleteSponsor', 'DELETE /:id', {
      summary: 'Delete a sponsor',
      scope: 'write',
      answers: answersNothing('The sponsor is gone.'),
    }),
    loadRow(deps, findSponsor),
    (c) => change(c, (tx) => goneAfter(removeSponsor(tx, deps, c.get('target'), c.get('target').row.id))),
  );
  return router;
}
