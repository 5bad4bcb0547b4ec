import { Hono } from 'hono';
import { atOneMoment } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, list, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { answersBulkChange } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { noOtherMethod } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { takeIdempotencyKey } from '#src/http/replay.ts';
import { answer, costly } from '#src/http/send.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { strangerIssues } from '#src/voting-events/guard-change.ts';
import {
  candidateView,
  changeCandidatesBody,
  createCandidateBody,
  listCandidatesQuery,
  updateCandidateBody,
  viewCandidate,
} from './candidate.ts';
import { candidateIssues, changedLinks, judgeCandidateParts } from './candidate-issues.ts';
import { deleteCandidates, rejectCandidates } from './change-candidates.ts';
import { createCandidate } from './create-candidate.ts';
import { queueDeletion } from './delete-rows.ts';
import { changing, creating, deleting, listing, reading } from './part-operations.ts';
import { findCandidate, listCandidates, listCandidatesByIds } from './repository.ts';
import type { Candidate } from './types.ts';
import { changeCandidate } from './update-candidate.ts';

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
    ({ row }) => viewCandidate(row),
  );
  const bulkBody = body(changeCandidatesBody, async ({ event: of }: Organizer, { candidateIds: ids = [] }) =>
    strangerIssues(
      'candidate',
      ids,
      await listCandidatesByIds(
        deps.db,
        of.id,
        ids.filter((id) => id !== undefined),
      ),
    ),
  );
  const router = new Hono<Env>();
  router.on(...listing('Candidate', candidateView, listCandidatesQuery), event, async (c) => {
    const { id } = c.get('target').event;
    // A thousand of them have megabytes.
    return costly(c, c.get('caller').accountId, async () =>
      list((await atOneMoment(deps.reads, (tx) => listCandidates(tx, id, c.get('query')))).map(viewCandidate)),
    );
  });
  router.on(
    ...creating('Candidate', candidateView, {
      refusals: ['results_final', 'plan_limit'],
      example: { name: 'Greta Lind', positionIds: [EXAMPLE.position] },
    }),
    event,
    takeIdempotencyKey(),
    creationBody,
    (c) =>
      change(c, async (tx) => created(viewCandidate(await createCandidate(tx, deps, c.get('target'), c.get('body'))))),
  );
  router.on(
    ...operation({
      operationId: 'changeCandidates',
      summary: 'Reject or delete up to 1,000 candidates, all or none',
      method: 'POST',
      path: '/bulk',
      scope: 'write',
      description:
        'What would be refused for one of them refuses them all. An unknown ID is named as `candidateIds[<index>]`. Rejected registrations free their place under the ceiling.',
      answers: answersBulkChange('How many candidates were changed: those that were rejected before stay as they are.'),
      refusals: ['event_has_ballots', 'results_final'],
      example: { action: 'reject', candidateIds: [EXAMPLE.candidate] },
    }),
    event,
    takeIdempotencyKey(),
    bulkBody,
    (c) =>
      change(c, async (tx) => {
        const { action, candidateIds } = c.get('body');
        const apply = { reject: rejectCandidates, delete: deleteCandidates }[action];
        return ok({ action, changed: await apply(tx, deps, c.get('target'), candidateIds) });
      }),
  );
  router.all('/bulk', noOtherMethod);
  router.on(...reading('Candidate', candidateView), candidate, async (c) =>
    answer(c, ok(viewCandidate(c.get('target').row))),
  );
  router.on(
    ...changing('Candidate', candidateView, {
      refusals: ['event_has_ballots', 'results_final', 'plan_limit'],
      example: { description: 'Reads two books a week.' },
      summary: 'Change a candidate, or approve, reject or withdraw it',
    }),
    candidate,
    changeBody,
    (c) =>
      change(c, async (tx) =>
        ok(viewCandidate(await changeCandidate(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')))),
      ),
  );
  router.on(...deleting('Candidate', ['event_has_ballots', 'results_final']), candidate, (c) =>
    change(c, (tx) => queueDeletion(tx, deps, c.get('target'), 'candidates', c.get('target').row.id)),
  );
  return router;
}
