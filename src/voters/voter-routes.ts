import { Hono } from 'hono';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { type Database, inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { csv, list, ok, queued } from '#src/http/answer.ts';
import { change, changeInSteps, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersOne, answersPage, answersQueued, answersText } from '#src/http/answer-shapes.ts';
import { body, optionalBody } from '#src/http/body.ts';
import { decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { noOtherMethod } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { answer, costly } from '#src/http/send.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { csvById } from '#src/platform/csv.ts';
import { ApiError } from '#src/platform/errors.ts';
import { loadEvent, loadEventWith, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { bulkChange, strangerIssues } from '#src/voting-events/guard-change.ts';
import { addCreateVoters, EXAMPLE_VOTERS, ROLL_REFUSALS } from './create-voters.ts';
import { deleteVoter, deleteVoters } from './delete-voter.ts';
import { importPart, importWhole, readRows } from './import-roll.ts';
import { rejectVoters } from './reject-voters.ts';
import { findVoter, listVoters, listVotersByIds } from './repository.ts';
import { mailVoterKeyAgain } from './request-voter-key.ts';
import type { VoterDeps } from './take-rows.ts';
import { judgeChangeParts, updateVoter } from './update-voter.ts';
import {
  changeVotersBody,
  IMPORT_BOUNDS,
  importedRollView,
  importRollBody,
  listVotersQuery,
  mailVoterKeyBody,
  updateVoterBody,
  type Voter,
  type VoterView,
  viewStoredVoter,
  viewVoter,
  voterView,
} from './voter.ts';

const COLUMNS = [
  ...(['id', 'name', 'email', 'voterId', 'groupId', 'weight', 'status', 'hasVoted'] as const),
  ...(['source', 'keyStatus', 'createdAt', 'updatedAt'] as const),
] satisfies readonly (keyof VoterView)[];
/** How the last key reached the voter, whether or not the voter has used it. */
const REACHED_BY: Readonly<Record<Voter['keyStatus'], string>> = {
  none: '',
  failed: '',
  sent: 'email',
  printed: 'letter',
};

/** The roll of an event as CSV, with the content of the list of voters. It shows participation only as far as that is disclosed. */
const writeVotersCsv = (db: Database, eventId: string): AsyncGenerator<string> =>
  csvById(
    [...COLUMNS, 'reachedBy'],
    async (after, limit) => (await listVoters(db, eventId, { after }, limit)).voters,
    (voter) => {
      const view = viewVoter(voter);
      return [...COLUMNS.map((column) => view[column]), REACHED_BY[voter.keyStatus]];
    },
  );

/** The voters of an event, in the order of the API reference. Fixed paths must be added before `/:id`. */
export function voterRouter(deps: Deps): Hono<Env> {
  const router = new Hono<Env>();
  addList(router, deps);
  addCreateVoters(router, deps);
  addManyAtOnce(router, deps);
  addOneVoter(router, deps);
  return router;
}

function addList(router: Hono<Env>, deps: Deps): void {
  const event = loadEvent(deps);
  router.on(
    ...operation('listVoters', 'GET /', {
      summary: 'List voters',
      scope: 'read',
      answers: answersPage(voterView, 'A page of voters.'),
      query: listVotersQuery,
      description:
        'A page of a filter may hold fewer rows than `limit`, even none, and still have a `nextCursor`. Who votes in a poll is a row of its own (`source: "poll"`), also beside a voter of yours with the same voter ID or address: both then show that they voted.',
    }),
    event,
    async (c) => {
      const [{ event: row }, { limit, cursor, voted, ...filter }] = [c.get('target'), c.get('query')];
      const read = async () => {
        const name = canonicalJson(['voters', row.id, filter, voted ?? null]);
        const after = decodeCursor(deps.secrets, name, cursor);
        const hasVoted = voted === undefined ? undefined : voted === 'true';
        const page = await listVoters(deps.reads, row.id, { ...filter, after, voted: hasVoted }, limit);
        const nextCursor = page.after === null ? null : encodeCursor(deps.secrets, name, page.after);
        return list(
          page.voters.map((voter) => viewStoredVoter(deps, row, voter)),
          nextCursor,
        );
      };
      const isCostly = filter.search !== undefined || voted !== undefined;
      return isCostly ? costly(c, read) : answer(c, await read());
    },
  );
}

function addManyAtOnce(router: Hono<Env>, deps: Deps): void {
  const event = loadEvent(deps);
  const bulkBody = body(changeVotersBody, async ({ event: { id } }: Organizer, { voterIds = [] }) => {
    const ids = voterIds.filter((one) => one !== undefined);
    return strangerIssues('voter', voterIds, await listVotersByIds(deps.db, id, ids));
  });
  const exported = loadEventWith('data_export', deps);
  router.on(
    ...operation('importRoll', 'POST /import', {
      summary: 'Import up to 5,000 voters, with a report of the rows that were not taken',
      scope: 'write',
      description:
        'With `mode: "all"` one bad row keeps all of them out: 422 then, with the first 50 as `issues` and all as `rejected` in `details`; a `dryRun` answers 200 and the same report. With `mode: "partial"` rows are stored 500 at a time; a request that was cut off goes on where it was when it is sent again with its `Idempotency-Key`. Where the plan has no room for all good rows, none is taken. Takes bodies of up to 4 MiB and 60,000 values.',
      bounds: IMPORT_BOUNDS,
      answers: answersOne(importedRollView, 'What became of the rows.'),
      refusals: [...ROLL_REFUSALS],
      example: { mode: 'partial', voters: EXAMPLE_VOTERS },
    }),
    event,
    takeIdempotencyKey(),
    body(importRollBody),
    async (c) => {
      const [target, sent] = [c.get('target'), c.get('body')];
      if (sent.mode === 'all' || sent.dryRun === true) {
        const rows = await readRows(sent.voters);
        return change(c, async (tx) => ok(await importWhole(tx, deps, target, sent, rows)));
      }
      return changeInSteps(c, (claim) => importPart(deps, target, sent, claim));
    },
  );
  router.all('/import', noOtherMethod);
  router.on(
    ...bulkChange('changeVoters', 'voter', ['event_has_ballots', 'roll_closed']),
    event,
    takeIdempotencyKey(),
    bulkBody,
    (c) => {
      const { action, voterIds } = c.get('body');
      const apply = { reject: rejectVoters, delete: deleteVoters }[action];
      return tracingRefusals(deps, c.get('target'), { voterIds, what: [action] }, () =>
        change(c, async (tx) => ok({ action, changed: await apply(tx, deps, c.get('target'), voterIds) })),
      );
    },
  );
  router.all('/bulk', noOtherMethod);
  router.on(
    ...operation('getVotersCsv', 'GET /csv', {
      summary: 'Read the roll as a table (CSV)',
      scope: 'read',
      description:
        'Every voter, in the order of their creation. Who took part is shown as in the list: in an election at least five voters at a time until the result is final.',
      answers: answersText('text/csv', 'The voters, oldest first.'),
      refusals: ['plan_feature'],
    }),
    exported,
    (c) => costly(c, async () => csv(() => writeVotersCsv(deps.reads, c.get('target').event.id))),
  );
  router.all('/csv', noOtherMethod);
}

function addOneVoter(router: Hono<Env>, deps: Deps): void {
  const voter = loadRow(deps, findVoter);
  const updateBody = body(updateVoterBody, judgeChangeParts(deps), ({ event, row }) =>
    viewStoredVoter(deps, event, row),
  );
  router.on(
    ...operation('getVoter', 'GET /:id', {
      summary: 'Read a voter',
      scope: 'read',
      answers: answersOne(voterView, 'The voter.'),
    }),
    voter,
    async (c) => answer(c, ok(viewStoredVoter(deps, c.get('target').event, c.get('target').row))),
  );
  router.on(
    ...operation('updateVoter', 'PATCH /:id', {
      summary: 'Change, approve or reject a voter',
      scope: 'write',
      description:
        'Weight and group of somebody who voted are frozen. Another address or voter ID ends the keys that were mailed, and drops a ballot that was cast and is not confirmed.',
      answers: answersOne(voterView, 'The voter as it is now.'),
      refusals: ['voter_exists', ...ROLL_REFUSALS, 'event_has_ballots', 'results_final'],
      example: { status: 'approved', name: 'Vera Okafor-Lind' },
    }),
    voter,
    updateBody,
    (c) => {
      const [target, sent] = [c.get('target'), c.get('body')];
      const { id } = target.row;
      return tracingRefusals(deps, target, { voterIds: [id], what: Object.keys(sent) }, () =>
        change(c, async (tx) => ok(viewVoter(await updateVoter(tx, deps, target, id, sent)))),
      );
    },
  );
  router.on(
    ...operation('deleteVoter', 'DELETE /:id', {
      summary: 'Queue the deletion of a voter',
      scope: 'write',
      answers: answersQueued('The voter disappears within seconds.'),
      refusals: ['event_has_ballots', 'roll_closed'],
    }),
    voter,
    (c) => {
      const target = c.get('target');
      const { id } = target.row;
      return tracingRefusals(deps, target, { voterIds: [id], what: ['delete'] }, () =>
        change(c, async (tx) => {
          await deleteVoter(tx, deps, target, id);
          return queued(id);
        }),
      );
    },
  );
  router.on(
    ...operation('mailVoterKey', 'POST /:id/voter-key', {
      summary: 'E-mail a voter key again',
      scope: 'write',
      goesWithRehearsal: true,
      answers: answersQueued('The mail is on its way; `keyStatus` of the voter tells what became of it.'),
      refusals: ['not_an_election', 'no_email', 'mails_early', 'not_ready', 'mails_closed'],
      example: { beforeOpening: true },
    }),
    voter,
    takeIdempotencyKey(),
    optionalBody(mailVoterKeyBody),
    (c) =>
      change(c, async (tx) => {
        await mailVoterKeyAgain(tx, deps, c.get('target'), c.get('target').row.id, c.get('body'));
        return queued(c.get('target').row.id);
      }),
  );
}

interface Asked {
  readonly voterIds: readonly string[];
  /** The changes that the request wanted: `weight`, `status`, `delete` and so on, without values. */
  readonly what: readonly string[];
}

/** Runs a change. Records a refusal because of a ballot, which reveals before the disclosure that a voter has voted (completions 5.6). */
async function tracingRefusals<T>(
  deps: VoterDeps & Pick<Deps, 'db'>,
  organizer: Organizer,
  { voterIds, what }: Asked,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (fault) {
    if (fault instanceof ApiError && fault.details?.['reason'] === 'event_has_ballots') {
      const [only, ...others] = voterIds;
      const one = others.length === 0 ? only : undefined;
      const action = one === undefined ? 'voters.change_refused' : 'voter.change_refused';
      const after = { asked: what, reason: 'event_has_ballots', ...(one === undefined ? { voterIds } : {}) };
      const refused = changeBy(organizer, action, one ?? organizer.event.id, { after });
      // Use a new transaction, because that of the change was rolled back.
      await inTransaction(deps.db, (tx) => recordChange(tx, deps, refused));
    }
    throw fault;
  }
}
