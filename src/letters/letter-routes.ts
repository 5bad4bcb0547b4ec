import { Hono } from 'hono';
import { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { isKeyGood } from '#src/accounts/repository.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, accepted, ok, redirect } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersAccepted, answersFile, answersOne, answersRedirect } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { findTarget, noOtherMethod } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { refuse } from '#src/http/refusals.ts';
import { answer, costly } from '#src/http/send.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { notFound, orNotFound } from '#src/platform/errors.ts';
import { eventOfLink, openLink, signLink } from '#src/results/download-link.ts';
import { lastVoterId } from '#src/voters/notification.ts';
import { countLetters } from '#src/voters/print-keys.ts';
import { findAccess, loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { refuseForged } from '#src/voting-events/forged-rows.ts';
import { requireMailable } from '#src/voting-events/lifecycle.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import { handOut } from './hand-out-letters.ts';
import {
  endAllUnfinished,
  findLetters,
  insertLetters,
  isGenuineRun,
  LETTERS_A_FILE,
  type LetterRun,
  lettersView,
  orderedLettersView,
  printLettersBody,
  requireReadable,
  viewLetters,
} from './letter-run.ts';
import { PRINT_LETTERS } from './print-letters.ts';

/**
 * Orders letters with voter keys (completions 10.9); a job prints them. Ends the event's unfinished runs first, so that no two runs
 * give keys to the same voters.
 * @throws ApiError 409 `not_an_election` in a poll, and the errors of `requireMailable`
 */
async function orderLetters(
  tx: Transaction,
  deps: Deps,
  organizer: Organizer,
  { audience, paper = 'a4', beforeOpening }: z.output<typeof printLettersBody>,
): Promise<z.output<typeof orderedLettersView>> {
  if (organizer.event.type === 'poll') throw refuse('poll_without_keys');
  // Count before taking the lock: this takes a moment for a large roll, and no cast must wait for it.
  const total = await countLetters(tx, organizer.event.id, audience);
  const event = orNotFound(await lockEvent(tx, organizer.event.id));
  if (event.type === 'poll') throw refuse('poll_without_keys');
  requireMailable(event, event.lockedAt, beforeOpening === true);
  await endAllUnfinished(tx, deps.secrets, event);
  const id = deps.ids.sortable('ltr');
  const files = Math.ceil(total / LETTERS_A_FILE);
  await insertLetters(tx, deps.secrets, {
    ...{ votingEventId: event.id, id, audience, paper, total, files, done: 0, printed: 0, listedTo: '' },
    listUntil: await lastVoterId(tx, event.id),
    ...{ downloads: {}, rehearsal: event.rehearsalSince !== null, keyId: organizer.caller.keyId },
    ...{ createdAt: event.lockedAt, finishedAt: null },
  });
  await enqueue(tx, PRINT_LETTERS, { eventId: event.id, runId: id }, { key: id });
  await recordChange(tx, deps, changeBy(organizer, 'letters.ordered', id, { after: { audience, paper, total } }));
  return { id, total, files };
}

/** The content of a signed link to a file of letters. Its `kind` differs from that of exports: a link to an export opens no letters. */
const linkSchema = z.object({
  kind: z.literal('letters'),
  eventId: z.string(),
  runId: z.string(),
  number: z.int(),
  accountId: z.string(),
  keyId: z.string(),
});

/** Refuses a run whose row the service did not write. @throws ApiError 500 `rows_disagree` */
async function requireGenuineRun(deps: Deps, run: LetterRun): Promise<void> {
  if (!isGenuineRun(deps.secrets, run)) throw await refuseForged(deps, run.votingEventId);
}

/**
 * Letters with voter keys (completions 10.9). A letter suffices to vote. So, unlike the roll, a file needs an API key with the `write`
 * scope, and no viewer gets one. Mounted before `voterRouter`, whose `/voters/:id` would match `/voters/letters`.
 */
export function letterRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const letters = loadRow(deps, findLetters);
  const signedFile = findTarget(async (c) => {
    const nowMs = deps.clock.now();
    const token = c.req.param('token') ?? '';
    const { eventId, runId, number, accountId, keyId } = openLink(deps.secrets, token, linkSchema, nowMs);
    if (!(await isKeyGood(deps, keyId, nowMs))) throw refuse('download_key_ended');
    const access = await findAccess(deps, accountId, eventId);
    const run = access === undefined ? undefined : await findLetters(deps.db, eventId, runId);
    if (access === undefined || run === undefined || access.role === 'viewer') throw notFound();
    if (access.isForged) throw await refuseForged(deps, eventId);
    return { event: access.event, run, number, keyId, accountId };
  });
  const router = new Hono<Env>();
  router.on(
    ...operation('printLetters', 'POST /voting-events/:idOrCode/voters/letters', {
      summary: 'Print letters with voter keys',
      scope: 'write',
      goesWithRehearsal: true,
      description:
        'For voters without an e-mail address. One page a voter, folded for a window envelope, in the language of the event, at most 5,000 letters a file. They are printed in the background; `GET …/letters/:id` shows how far they are. New letters end the printed keys that their voters had, and a run that is still under way; mailed keys stay. Who prints letters could vote in the place of their voters: they are counted as `lettersPrinted`, in the log too.',
      answers: answersAccepted(orderedLettersView, 'The letters are being printed.'),
      refusals: ['not_an_election', 'mails_early', 'not_ready', 'mails_closed'],
      example: { audience: 'without_email' },
    }),
    event,
    takeIdempotencyKey(),
    body(printLettersBody),
    (c) => change(c, async (tx) => accepted(await orderLetters(tx, deps, c.get('target'), c.get('body')))),
  );
  router.all('/voting-events/:idOrCode/voters/letters', noOtherMethod);
  router.on(
    ...operation('getLetters', 'GET /voting-events/:idOrCode/letters/:id', {
      summary: 'Read how far letters are',
      scope: 'read',
      answers: answersOne(lettersView, 'The letters.'),
    }),
    letters,
    async (c) => answer(c, ok(viewLetters(c.get('target').row))),
  );
  router.on(
    ...operation('getLettersPdf', 'GET /voting-events/:idOrCode/letters/:id/pdf', {
      summary: 'Redirect to a file of letters (PDF)',
      scope: 'write',
      description:
        'Redirects to an address that serves the file, and needs no key. A file is gone once it was downloaded to its end, or after 24 hours; a download that was cut off may be asked for again. The key that asks must be one that may write: who has a letter can vote.',
      answers: answersRedirect('The address of the file, good for five minutes.'),
      refusals: ['letters_under_way', 'already_downloaded', 'letters_dropped'],
      query: z.strictObject({ file: z.coerce.number().int().min(1).max(100_000).default(1) }),
    }),
    letters,
    async (c) => {
      const { caller, row } = c.get('target');
      const nowMs = deps.clock.now();
      const { file } = c.get('query');
      // Check for deleted files first: the tag of an old run may need a secret key that is no longer listed.
      await requireReadable(deps.db, row, file, nowMs);
      await requireGenuineRun(deps, row);
      const { accountId, keyId } = caller;
      const link = { kind: 'letters', eventId: row.votingEventId, runId: row.id, number: file, accountId, keyId };
      return answer(c, redirect(`${deps.config.baseUrl}/downloads/letters/${signLink(deps.secrets, link, nowMs)}`));
    },
  );
  router.on(
    ...operation('downloadLetters', 'GET /downloads/letters/:token', {
      summary: 'Download letters by their signed address',
      scope: 'none',
      about: eventOfLink(deps),
      description: 'The address is signed: nobody can make one, or change what it gives. It needs no key.',
      answers: answersFile(['application/pdf'], 'The letters.', undefined),
      refusals: [
        'download_link_invalid',
        'download_link_expired',
        'not_found',
        'already_downloaded',
        'letters_dropped',
        'rate_limited',
        'too_many_at_once',
      ],
    }),
    signedFile,
    (c) => {
      const file = c.get('target');
      const read = async (): Promise<Answer> => {
        await requireReadable(deps.db, file.run, file.number, deps.clock.now());
        await requireGenuineRun(deps, file.run);
        const open = await handOut(deps, c, file);
        const name = `${file.event.code}-letters-${file.number}.pdf`;
        return {
          status: 200,
          stream: { open, type: 'application/pdf', endsUnderLock: true },
          headers: { 'Content-Disposition': `attachment; filename="${name}"` },
        };
      };
      return costly(c, read, file.accountId);
    },
  );
  return router;
}
