import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok, queued } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { noOtherMethod } from '#src/http/find-operation.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { candidateIssues, changedLinks, judgeCandidateParts } from './candidate-issues.ts';
import { deleteCandidates, rejectCandidates, strangerIssues } from './change-candidates.ts';
import { changeGroup, createGroup } from './change-groups.ts';
import { changeSponsor, createSponsor, removeSponsor } from './change-sponsors.ts';
import { createCandidate } from './create-candidate.ts';
import { createPosition } from './create-position.ts';
import { queueDeletion } from './delete-rows.ts';
import * as operations from './organizer-operations.ts';
import { judgePositionParts } from './position-issues.ts';
import {
  findCandidate,
  findGroup,
  findPosition,
  findSponsor,
  listCandidates,
  listCandidatesByIds,
  listGroups,
  listPositions,
  listSponsors,
} from './repository.ts';
import {
  changeCandidatesBody,
  createCandidateBody,
  createGroupBody,
  createPositionBody,
  createSponsorBody,
  updateCandidateBody,
  updateGroupBody,
  updatePositionBody,
  updateSponsorBody,
} from './schemas.ts';
import type { Candidate, Position } from './types.ts';
import { changeCandidate } from './update-candidate.ts';
import { changePosition, judgeChangeParts } from './update-position.ts';
import { viewCandidate, viewGroup, viewPosition, viewSponsor } from './views.ts';

export function positionRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const position = loadRow(deps, findPosition);
  const view = async (row: Position, executor: Parameters<typeof listCandidates>[0]) =>
    viewPosition(row, await listCandidates(executor, row.votingEventId));
  const creationBody = body(createPositionBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgePositionParts(deps, of, sent, isFaulty),
  );
  const changeBody = body(updatePositionBody, (target: Organizer & { readonly row: Position }, sent, isFaulty) =>
    judgeChangeParts(deps, target, sent, isFaulty),
  );
  const router = new Hono<Env>();
  router.on(...operations.listPositions, event, async (c) => {
    const rows = await listPositions(deps.db, c.get('target').event.id, c.get('query'));
    const candidates = await listCandidates(deps.db, c.get('target').event.id);
    return answer(c, list(rows.map((row) => viewPosition(row, candidates))));
  });
  router.on(...operations.createPosition, event, replayIfAnswered(), creationBody, (c) =>
    change(c, async (tx) => created(await view(await createPosition(tx, deps, c.get('target'), c.get('body')), tx))),
  );
  router.on(...operations.getPosition, position, async (c) => answer(c, ok(await view(c.get('target').row, deps.db))));
  router.on(...operations.updatePosition, position, changeBody, (c) =>
    change(c, async (tx) =>
      ok(await view(await changePosition(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')), tx)),
    ),
  );
  router.on(...operations.deletePosition, position, (c) =>
    change(c, async (tx) => {
      await queueDeletion(tx, deps, c.get('target'), 'positions', c.get('target').row.id);
      return queued(c.get('target').row.id);
    }),
  );
  return router;
}

export function candidateRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const candidate = loadRow(deps, findCandidate);
  const creationBody = body(createCandidateBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgeCandidateParts(deps.db, of.id, sent, isFaulty),
  );
  const changeBody = body(
    updateCandidateBody,
    ({ event: of, row }: Organizer & { readonly row: Candidate }, sent, isFaulty) =>
      candidateIssues(deps.db, of.id, changedLinks(row, sent, isFaulty)),
  );
  const bulkBody = body(changeCandidatesBody, async ({ event: of }: Organizer, { candidateIds: ids = [] }) =>
    strangerIssues(
      ids,
      await listCandidatesByIds(
        deps.db,
        of.id,
        ids.filter((id) => id !== undefined),
      ),
    ),
  );
  const router = new Hono<Env>();
  router.on(...operations.listCandidates, event, async (c) =>
    answer(c, list((await listCandidates(deps.db, c.get('target').event.id, c.get('query'))).map(viewCandidate))),
  );
  router.on(...operations.createCandidate, event, replayIfAnswered(), creationBody, (c) =>
    change(c, async (tx) => created(viewCandidate(await createCandidate(tx, deps, c.get('target'), c.get('body'))))),
  );
  router.on(...operations.changeCandidates, event, replayIfAnswered(), bulkBody, (c) =>
    change(c, async (tx) => {
      const { action, candidateIds } = c.get('body');
      const apply = { reject: rejectCandidates, delete: deleteCandidates }[action];
      return ok({ action, changed: await apply(tx, deps, c.get('target'), candidateIds) });
    }),
  );
  router.all('/bulk', noOtherMethod);
  router.on(...operations.getCandidate, candidate, async (c) => answer(c, ok(viewCandidate(c.get('target').row))));
  router.on(...operations.updateCandidate, candidate, changeBody, (c) =>
    change(c, async (tx) =>
      ok(viewCandidate(await changeCandidate(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')))),
    ),
  );
  router.on(...operations.deleteCandidate, candidate, (c) =>
    change(c, async (tx) => {
      await queueDeletion(tx, deps, c.get('target'), 'candidates', c.get('target').row.id);
      return queued(c.get('target').row.id);
    }),
  );
  return router;
}

export function groupRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const group = loadRow(deps, findGroup);
  const router = new Hono<Env>();
  router.on(...operations.listGroups, event, async (c) =>
    answer(c, list((await listGroups(deps.db, c.get('target').event.id, c.get('query').search)).map(viewGroup))),
  );
  router.on(...operations.createGroup, event, replayIfAnswered(), body(createGroupBody), (c) =>
    change(c, async (tx) => created(viewGroup(await createGroup(tx, deps, c.get('target'), c.get('body'))))),
  );
  router.on(...operations.getGroup, group, async (c) => answer(c, ok(viewGroup(c.get('target').row))));
  router.on(...operations.updateGroup, group, body(updateGroupBody), (c) =>
    change(c, async (tx) =>
      ok(viewGroup(await changeGroup(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')))),
    ),
  );
  router.on(...operations.deleteGroup, group, (c) =>
    change(c, async (tx) => {
      await queueDeletion(tx, deps, c.get('target'), 'groups', c.get('target').row.id);
      return queued(c.get('target').row.id);
    }),
  );
  return router;
}

export function sponsorRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const sponsor = loadRow(deps, findSponsor);
  const router = new Hono<Env>();
  router.on(...operations.listSponsors, event, async (c) =>
    answer(c, list((await listSponsors(deps.db, c.get('target').event.id, c.get('query').search)).map(viewSponsor))),
  );
  router.on(...operations.createSponsor, event, replayIfAnswered(), body(createSponsorBody), (c) =>
    change(c, async (tx) => created(viewSponsor(await createSponsor(tx, deps, c.get('target'), c.get('body'))))),
  );
  router.on(...operations.getSponsor, sponsor, async (c) => answer(c, ok(viewSponsor(c.get('target').row))));
  router.on(...operations.updateSponsor, sponsor, body(updateSponsorBody), (c) =>
    change(c, async (tx) =>
      ok(viewSponsor(await changeSponsor(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')))),
    ),
  );
  router.on(...operations.deleteSponsor, sponsor, (c) =>
    change(c, async (tx) => {
      await removeSponsor(tx, deps, c.get('target'), c.get('target').row.id);
      return gone;
    }),
  );
  return router;
}
