import { Hono } from 'hono';
import { z } from 'zod';
import { requireFeature } from '#src/accounts/plans.ts';
import { isKeyGood } from '#src/accounts/repository.ts';
import { type BallotDefinition, requireBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, redirect } from '#src/http/answer.ts';
import { type AnswerShapes, answersFile, answersRedirect } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { idField } from '#src/http/fields.ts';
import { findTarget } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { type RefusalCase, refuse } from '#src/http/refusals.ts';
import { answer, costly } from '#src/http/send.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { streamText } from '#src/platform/stream-text.ts';
import { asker } from '#src/platform/turns.ts';
import { findAccess, loadEventWith, type Organizer } from '#src/voting-events/access.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import {
  type Download,
  type DownloadKind,
  eventOfLink,
  fileNameHeader,
  openDownload,
  PAPER_SIZES,
  signLink,
} from './download-link.ts';
import { createPress, type PrintReport } from './print-report.ts';
import { requireRankedPosition, weightUnit, writeBlt } from './write-blt.ts';
import { requireContests, writeCastVoteRecords } from './write-cast-vote-records.ts';

const DESCRIPTION =
  'Redirects to an address that serves the file, and needs no key. The file is made when it is fetched, and shows that moment.';

const exportOf = <Query extends z.ZodType>(
  kind: DownloadKind,
  operationId: string,
  summary: string,
  more: {
    readonly description?: string;
    readonly answers?: AnswerShapes;
    readonly refusals?: readonly RefusalCase[];
    readonly query?: Query;
  } = {},
) =>
  operation(operationId, `GET /voting-events/:idOrCode/results/${kind}`, {
    ...{ summary, scope: 'read' },
    description: DESCRIPTION,
    answers: answersRedirect('The address of the file, good for five minutes.'),
    refusals: ['plan_feature'],
    ...more,
  });

/** Exports. Each redirects to a signed URL that needs no key for five minutes; the file is made when it is fetched. */
export function exportRouter(deps: Deps): Hono<Env> {
  const print = createPress(deps);
  const definitionOf = (event: VotingEvent) => requireBallotDefinition(deps.definitions, event);
  const event = loadEventWith('data_export', deps);
  const signedDownload = findTarget(async (c) => {
    const download = openDownload(deps.secrets, c.req.param('token') ?? '', deps.clock.now());
    // The API key, the access to the event and the plan must still allow the file.
    if (!(await isKeyGood(deps, download.keyId, deps.clock.now()))) throw refuse('download_key_ended');
    const access = orNotFound(await findAccess(deps, download.accountId, download.eventId));
    requireFeature(deps.plans[access.ownerPlan], 'data_export');
    return { download, event: access.event };
  });
  const linkTo = (
    { caller, event: { id } }: Organizer,
    kind: DownloadKind,
    { paper = 'a4', positionId = null }: Partial<Pick<Download, 'paper' | 'positionId'>> = {},
  ): Answer => {
    const download = { kind, eventId: id, accountId: caller.accountId, keyId: caller.keyId, paper, positionId };
    return redirect(`${deps.config.baseUrl}/downloads/${signLink(deps.secrets, download, deps.clock.now())}`);
  };
  const router = new Hono<Env>();
  router.on(
    ...exportOf('pdf', 'getResultsPdf', 'Redirect to the result report (PDF)', {
      answers: answersRedirect('The address of the report, good for five minutes.'),
      query: z.strictObject({ paper: z.enum(PAPER_SIZES).default('a4') }),
    }),
    event,
    async (c) => answer(c, linkTo(c.get('target'), 'pdf', { paper: c.get('query').paper })),
  );
  router.on(
    ...exportOf('csv', 'getResultsCsv', 'Redirect to the results as a table (CSV)', {
      description: `${DESCRIPTION} \`layout=figures\` has one figure a row, rounds and ties included; \`layout=table\` one candidate a row, the most votes first.`,
      query: z.strictObject({ layout: z.enum(['figures', 'table']).default('figures') }),
    }),
    event,
    async (c) => answer(c, linkTo(c.get('target'), c.get('query').layout === 'table' ? 'table' : 'csv')),
  );
  router.on(
    ...exportOf('blt', 'getResultsBlt', 'Redirect to the ballots of a ranked position (BLT)', {
      description:
        'For counting elsewhere, once the result is final. Weights are whole numbers in a unit of their own. In a secret event there is no file where a ballot’s weight would show whose it is.',
      refusals: ['plan_feature', 'openings_not_available', 'weights_kept_back'],
      query: z.strictObject({
        positionId: idField().meta({ description: 'A position of the method `ranked_choice`.' }),
      }),
    }),
    event,
    async (c) => {
      const { positionId } = c.get('query');
      const { event: row } = c.get('target');
      const definition = await definitionOf(row);
      requireRankedPosition(definition, row, positionId);
      await weightUnit(deps.reads, definition);
      return answer(c, linkTo(c.get('target'), 'blt', { positionId }));
    },
  );
  router.on(...exportOf('json', 'getResultsJson', 'Redirect to the results as a JSON file'), event, async (c) =>
    answer(c, linkTo(c.get('target'), 'json')),
  );
  router.on(
    ...exportOf('cvr', 'getCastVoteRecords', 'Redirect to the cast vote records (NIST SP 1500-103)', {
      refusals: ['plan_feature', 'not_ready'],
    }),
    event,
    async (c) => {
      requireContests(await definitionOf(c.get('target').event));
      return answer(c, linkTo(c.get('target'), 'cvr'));
    },
  );
  router.on(
    ...operation('download', 'GET /downloads/:token', {
      summary: 'Download an export by its signed address',
      scope: 'none',
      about: eventOfLink(deps),
      description: 'The address is signed: nobody can make one, or change what it gives. It needs no key.',
      answers: answersFile(['application/pdf', 'text/csv', 'application/json', 'text/plain'], 'The file.', {
        data: { votingEventId: EXAMPLE.event, title: 'Annual general meeting', final: true, positions: [] },
      }),
      refusals: [
        'download_link_invalid',
        'download_link_expired',
        'plan_feature',
        'not_found',
        'not_ready',
        'rate_limited',
        'too_many_at_once',
      ],
    }),
    signedDownload,
    async (c) => {
      const { download, event: row } = c.get('target');
      const life = c.get('life');
      const file = async (): Promise<Answer> => ({
        ...(await fileOf(deps, print, { row, definition: await definitionOf(row) }, download, life.gone)),
        headers: fileNameHeader(row, download.kind),
      });
      // The work counts for the account for which the URL is signed, because many readers may share one network address.
      const read = () => asker.run({ account: download.accountId }, file);
      if (download.kind !== 'pdf') return costly(c, read, download.accountId);
      // Reports have their own queue, in which accounts take turns.
      await life.rest(life.take(deps.leases.results, download.accountId));
      return answer(c, await life.rest(read()));
    },
  );
  return router;
}

async function fileOf(
  deps: Deps,
  print: PrintReport,
  { row, definition }: { readonly row: VotingEvent; readonly definition: BallotDefinition },
  { kind, paper: size, accountId, positionId }: Download,
  gone: AbortSignal,
): Promise<Answer> {
  const nowMs = deps.clock.now();
  if (kind === 'pdf') {
    const content = await print(definition, size, nowMs, accountId, gone);
    return { status: 200, bytes: { content, type: 'application/pdf' } };
  }
  if (kind === 'cvr') {
    requireContests(definition);
    const { id } = definition.event;
    const newestDefinition = async (): Promise<BallotDefinition> =>
      requireBallotDefinition(deps.definitions, orNotFound(await findEventById(deps.db, id)));
    const { companyName: manufacturer } = deps.config;
    const source = { db: deps.copy, secrets: deps.secrets, manufacturer, version: deps.version, newestDefinition };
    const open = () => streamText(writeCastVoteRecords(source, id, nowMs));
    return { status: 200, stream: { open, type: 'application/json' } };
  }
  if (kind === 'blt') {
    const position = requireRankedPosition(definition, row, positionId ?? '');
    const open = () => streamText(writeBlt({ db: deps.reads, secrets: deps.secrets }, definition, position));
    return { status: 200, stream: { open, type: 'text/plain; charset=utf-8' } };
  }
  const pieces = await deps.counting.file(definition, kind, nowMs);
  const type = kind !== 'json' ? 'text/csv; charset=utf-8; header=present' : 'application/json';
  return { status: 200, stream: { open: () => pieces, type } };
}
