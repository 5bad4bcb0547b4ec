import type { Hono } from 'hono';
import { atOneMoment } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { noOtherMethod } from '#src/http/middleware.ts';
import type { loadEvent, Organizer } from '#src/voting-events/access.ts';
import { bulkChange, strangerIssues } from '#src/voting-events/guard-change.ts';
import {
  candidateView,
  changeCandidatesBody,
  createCandidateBody,
  listCandidatesQuery,
  updateCandidateBody,
  viewCandidate,
} from './candidate.ts';
import {
  candidateIssues,
  changeCandidate,
  changedLinks,
  createCandidate,
  deleteCandidates,
  judgeCandidateParts,
  rejectCandidates,
} from './change-candidate.ts';
import { partRouter } from './part-operations.ts';
import { findCandidate, listCandidates, listCandidatesByIds } from './repository.ts';
import type { Candidate } from './types.ts';

export const candidateRouter = (deps: Deps) =>
  partRouter(deps, {
    ...{ name: 'Candidate', view: candidateView, find: findCandidate, show: viewCandidate, query: listCandidatesQuery },
    list: async (reads, eventId, query) =>
      (await atOneMoment(reads, (tx) => listCandidates(tx, eventId, query))).map(viewCandidate),
    creation: {
      words: {
        refusals: ['results_final', 'plan_limit'],
        example: { name: 'Greta Lind', positionIds: [EXAMPLE.position] },
      },
      body: body(createCandidateBody, judgeCandidateParts(deps)),
      work: createCandidate,
    },
    change: {
      words: {
        refusals: ['event_has_ballots', 'results_final', 'plan_limit'],
        example: { description: 'Reads two books a week.' },
        summary: 'Change a candidate, or approve, reject or withdraw it',
      },
      body: body(
        updateCandidateBody,
        ({ event, row }: Organizer & { readonly row: Candidate }, sent, isFaulty) =>
          candidateIssues(deps.db, event.id, changedLinks(row, sent, isFaulty)),
        ({ row }) => viewCandidate(row),
      ),
      work: changeCandidate,
    },
    deletion: { kind: 'candidates', refusals: ['event_has_ballots', 'results_final'] },
    others: (router, event) => addBulkChange(router, deps, event),
  });

function addBulkChange(router: Hono<Env>, deps: Deps, event: ReturnType<typeof loadEvent>): void {
  router.on(
    ...bulkChange('changeCandidates', 'candidate', ['event_has_ballots', 'results_final']),
    event,
    takeIdempotencyKey(),
    body(changeCandidatesBody, async ({ event: { id } }: Organizer, { candidateIds = [] }) => {
      const ids = candidateIds.filter((one) => one !== undefined);
      return strangerIssues('candidate', candidateIds, await listCandidatesByIds(deps.db, id, ids));
    }),
    (c) =>
      change(c, async (tx) => {
        const { action, candidateIds } = c.get('body');
        const apply = { reject: rejectCandidates, delete: deleteCandidates }[action];
        return ok({ action, changed: await apply(tx, deps, c.get('target'), candidateIds) });
      }),
  );
  router.all('/bulk', noOtherMethod);
}
