import { z } from 'zod';
import { requireFeature } from '#src/accounts/plans.ts';
import { isKeyGood } from '#src/accounts/repository.ts';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, redirect } from '#src/http/answer.ts';
import { answersFile, answersRedirect } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { forbidden, notFound } from '#src/platform/errors.ts';
import { streamText } from '#src/platform/stream-text.ts';
import { requireOrganizer } from '#src/voting-events/access.ts';
import { findAccess } from '#src/voting-events/find-access.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { type Download, type DownloadKind, openDownload, PAPER_SIZES, signDownload } from './download-link.ts';
import { fileNameHeader } from './file-name.ts';
import { ReportPress } from './print-report.ts';
import { requireContests, writeCastVoteRecords } from './write-cast-vote-records.ts';

const DESCRIPTION =
  'Redirects to an address that serves the file, and needs no key. The file is made when it is fetched, and shows that moment.';

const pdfQuery = z.strictObject({ paper: z.enum(PAPER_SIZES).default('a4') });

const EXPORTS = [
  { kind: 'csv', operationId: 'getResultsCsv', summary: 'Redirect to the results as a table (CSV)' },
  { kind: 'json', operationId: 'getResultsJson', summary: 'Redirect to the results as a JSON file' },
  { kind: 'cvr', operationId: 'getCastVoteRecords', summary: 'Redirect to the cast vote records (NIST SP 1500-103)' },
] as const satisfies readonly { kind: DownloadKind; operationId: string; summary: string }[];

/** Exports: each redirects to a signed address that needs no key for five minutes, and makes the file when it is fetched. */
export function exportRoutes(deps: Deps): Route[] {
  const press = new ReportPress(deps);
  const paperOf = async (event: VotingEvent): Promise<BallotPaper> => {
    const paper = await deps.papers.take(event);
    if (paper === undefined) throw notFound();
    return paper;
  };
  const find = async (context: RequestContext) => {
    const organizer = await requireOrganizer(deps, context);
    requireFeature(deps.plans[organizer.ownerPlan], 'data_export');
    return organizer;
  };
  const linkTo = (download: Download): Answer =>
    redirect(`${deps.config.baseUrl}/downloads/${signDownload(deps.secrets, download, deps.clock.now())}`);
  return [
    readRoute({
      operationId: 'getResultsPdf',
      summary: 'Redirect to the result report (PDF)',
      method: 'GET',
      path: '/voting-events/:idOrCode/results/pdf',
      scope: 'read',
      description: DESCRIPTION,
      answers: answersRedirect('The address of the report, good for five minutes.'),
      refusals: ['plan_feature'],
      query: pdfQuery,
      find,
      read: async ({ target, caller, query }) =>
        linkTo({
          kind: 'pdf',
          eventId: target.event.id,
          accountId: caller.accountId,
          keyId: caller.keyId,
          paper: query.paper,
        }),
    }),
    ...EXPORTS.map(({ kind, operationId, summary }) =>
      readRoute({
        operationId,
        summary,
        method: 'GET',
        path: `/voting-events/:idOrCode/results/${kind}`,
        scope: 'read',
        description: DESCRIPTION,
        answers: answersRedirect('The address of the file, good for five minutes.'),
        refusals: kind === 'cvr' ? ['plan_feature', 'not_ready'] : ['plan_feature'],
        find,
        read: async ({ target, caller }) => {
          if (kind === 'cvr') requireContests(await paperOf(target.event));
          return linkTo({
            kind,
            eventId: target.event.id,
            accountId: caller.accountId,
            keyId: caller.keyId,
            paper: 'a4',
          });
        },
      }),
    ),
    readRoute({
      operationId: 'download',
      summary: 'Download an export by its signed address',
      method: 'GET',
      path: '/downloads/:token',
      scope: 'none',
      description: 'The address is signed: nobody can make one, or change what it gives. It needs no key.',
      answers: answersFile(['application/pdf', 'text/csv', 'application/json'], 'The file.', {
        data: { votingEventId: EXAMPLE.event, title: 'Annual general meeting', final: true, positions: [] },
      }),
      refusals: [
        'download_link_invalid',
        'download_link_expired',
        'plan_feature',
        'not_found',
        'not_ready',
        'rate_limited',
      ],
      find: async ({ params }) => {
        const download = openDownload(deps.secrets, params['token'] ?? '', deps.clock.now());
        // The key, the sharing and the plan must still allow the file.
        if (!(await isKeyGood(deps.db, download.keyId, deps.clock.now())))
          throw forbidden('download_link_expired', 'The key that asked for this export is no longer valid.');
        const access = await findAccess(deps.db, download.accountId, download.eventId);
        if (access === undefined) throw notFound();
        requireFeature(deps.plans[access.ownerPlan], 'data_export');
        return { download, event: access.event };
      },
      // Reports have a queue of their own, in which the accounts take turns.
      costly: ({ target: { download } }) => (download.kind === 'pdf' ? undefined : download.accountId),
      read: async ({ target: { download, event }, whenGone }) => {
        const paper = await paperOf(event);
        return {
          ...(await fileOf(deps, press, paper, download, whenGone())),
          headers: fileNameHeader(event, download.kind),
        };
      },
    }),
  ];
}

async function fileOf(
  deps: Deps,
  press: ReportPress,
  paper: BallotPaper,
  { kind, paper: size, accountId }: Download,
  gone: AbortSignal,
): Promise<Answer> {
  const nowMs = deps.clock.now();
  if (kind === 'pdf') {
    return {
      status: 200,
      bytes: { content: await press.print(paper, size, nowMs, accountId, gone), type: 'application/pdf' },
    };
  }
  if (kind === 'cvr') {
    requireContests(paper);
    const { id } = paper.event;
    const takePaper = async (): Promise<BallotPaper> => {
      const event = await findEventById(deps.db, id);
      const newest = event === undefined ? undefined : await deps.papers.take(event);
      if (newest === undefined) throw notFound();
      return newest;
    };
    const { companyName: manufacturer } = deps.config;
    const source = { db: deps.db, secrets: deps.secrets, manufacturer, version: deps.version, takePaper };
    const open = () => streamText(writeCastVoteRecords(source, id, nowMs));
    return { status: 200, stream: { open, type: 'application/json' } };
  }
  const pieces = await deps.counting.file(paper, kind, nowMs);
  const type = kind === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json';
  return { status: 200, stream: { open: () => pieces, type } };
}
