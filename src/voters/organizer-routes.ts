import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import type { Deps } from '#src/deps.ts';
import { created, list, ok, queued } from '#src/http/answer.ts';
import { csv } from '#src/http/answer-csv.ts';
import { change, changeInSteps } from '#src/http/answer-once.ts';
import { body, noBody } from '#src/http/body.ts';
import { costly } from '#src/http/costly-reads.ts';
import { decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { noOtherMethod } from '#src/http/find-operation.ts';
import { findTarget } from '#src/http/find-target.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { loadEvent, loadRow, type Organizer, requireOrganizer } from '#src/voting-events/access.ts';
import { batchField, createVoters, judgeRowParts, singleField } from './create-voters.ts';
import { deleteVoter, deleteVoters } from './delete-voter.ts';
import { importPart, importWhole } from './import-roll.ts';
import * as operations from './organizer-operations.ts';
import { rejectVoters, strangerIssues } from './reject-voters.ts';
import { findVoter, listVoters, listVotersByIds } from './repository.ts';
import { mailVoterKeyAgain } from './request-voter-key.ts';
import { changeVotersBody, createVoterBody, createVotersBody, importRollBody, updateVoterBody } from './schemas.ts';
import { tracingRefusals } from './trace-refusals.ts';
import type { Voter } from './types.ts';
import { judgeChangeParts, updateVoter } from './update-voter.ts';
import { viewVoter } from './views.ts';
import { writeVotersCsv } from './write-voters-csv.ts';

export function voterRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const voter = loadRow(deps, findVoter);
  const createBody = body(createVoterBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgeRowParts(deps.db, of, [sent], singleField, isFaulty),
  );
  const batchBody = body(createVotersBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgeRowParts(deps.db, of, sent.voters ?? [], batchField, isFaulty),
  );
  const bulkBody = body(changeVotersBody, async ({ event: of }: Organizer, { voterIds = [] }) =>
    strangerIssues(
      voterIds,
      await listVotersByIds(
        deps.db,
        of.id,
        voterIds.filter((id) => id !== undefined),
      ),
    ),
  );
  const updateBody = body(updateVoterBody, (target: Organizer & { readonly row: Voter }, sent, isFaulty) =>
    judgeChangeParts(deps.db, target, sent, isFaulty),
  );
  const exported = findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    requireFeature(deps.plans[organizer.ownerPlan], 'data_export');
    return organizer;
  });
  const router = new Hono<Env>();
  router.on(...operations.listVoters, event, async (c) => {
    const [{ event: row }, { limit, cursor, voted, ...filter }] = [c.get('target'), c.get('query')];
    const { search, status, groupId, keyStatus } = filter;
    const read = async () => {
      const name = canonicalJson(['voters', row.id, filter, voted ?? null]);
      const after = decodeCursor(deps.secrets, name, cursor);
      const wanted = { search, status, groupId, keyStatus, after };
      const hasVoted = voted === undefined ? undefined : voted === 'true';
      const page = await listVoters(deps.reads, row.id, { ...wanted, voted: hasVoted }, limit);
      const nextCursor = page.after === null ? null : encodeCursor(deps.secrets, name, page.after);
      return list(page.voters.map(viewVoter), nextCursor);
    };
    const isCostly = search !== undefined || voted !== undefined;
    return isCostly ? costly(c, c.get('caller').accountId, read) : answer(c, await read());
  });
  router.on(...operations.createVoter, event, replayIfAnswered(), createBody, (c) =>
    change(c, async (tx) => {
      const [row] = await createVoters(tx, deps, c.get('target'), [c.get('body')], singleField);
      return created(row === undefined ? null : viewVoter(row));
    }),
  );
  router.on(...operations.createVoters, event, replayIfAnswered(), batchBody, (c) =>
    change(c, async (tx) =>
      created((await createVoters(tx, deps, c.get('target'), c.get('body').voters, batchField)).map(viewVoter)),
    ),
  );
  router.all('/batch', noOtherMethod);
  router.on(...operations.importRoll, event, replayIfAnswered(), body(importRollBody), (c) => {
    const [target, sent] = [c.get('target'), c.get('body')];
    if (sent.mode === 'all' || sent.dryRun === true)
      return change(c, async (tx) => ok(await importWhole(tx, deps, target, sent)));
    return changeInSteps(c, (claim) => importPart(deps, target, sent, claim));
  });
  router.all('/import', noOtherMethod);
  router.on(...operations.changeVoters, event, replayIfAnswered(), bulkBody, (c) => {
    const { action, voterIds } = c.get('body');
    const apply = { reject: rejectVoters, delete: deleteVoters }[action];
    return tracingRefusals(deps, c.get('target'), { voterIds, what: [action] }, () =>
      change(c, async (tx) => ok({ action, changed: await apply(tx, deps, c.get('target'), voterIds) })),
    );
  });
  router.all('/bulk', noOtherMethod);
  router.on(...operations.getVotersCsv, exported, (c) =>
    costly(c, c.get('caller').accountId, async () => csv(() => writeVotersCsv(deps.reads, c.get('target').event.id))),
  );
  router.all('/csv', noOtherMethod);
  router.on(...operations.getVoter, voter, async (c) => answer(c, ok(viewVoter(c.get('target').row))));
  router.on(...operations.updateVoter, voter, updateBody, (c) => {
    const [target, sent] = [c.get('target'), c.get('body')];
    const { id } = target.row;
    return tracingRefusals(deps, target, { voterIds: [id], what: Object.keys(sent) }, () =>
      change(c, async (tx) => ok(viewVoter(await updateVoter(tx, deps, target, id, sent)))),
    );
  });
  router.on(...operations.deleteVoter, voter, (c) => {
    const target = c.get('target');
    const { id } = target.row;
    return tracingRefusals(deps, target, { voterIds: [id], what: ['delete'] }, () =>
      change(c, async (tx) => {
        await deleteVoter(tx, deps, target, id);
        return queued(id);
      }),
    );
  });
  router.on(...operations.mailVoterKey, voter, replayIfAnswered(), noBody, (c) =>
    change(c, async (tx) => {
      await mailVoterKeyAgain(tx, deps, c.get('target'), c.get('target').row.id);
      return queued(c.get('target').row.id);
    }),
  );
  return router;
}
