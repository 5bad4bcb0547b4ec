import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import { isKeyGood } from '#src/accounts/repository.ts';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { requireBallotDefinition } from '#src/ballot-definition/load-ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, redirect } from '#src/http/answer.ts';
import { costly } from '#src/http/costly-reads.ts';
import type { Env } from '#src/http/env.ts';
import { findTarget } from '#src/http/find-target.ts';
import { refuse } from '#src/http/refusals.ts';
import { answer } from '#src/http/send.ts';
import { whenGone } from '#src/http/when-gone.ts';
import { notFound } from '#src/platform/errors.ts';
import { streamText } from '#src/platform/stream-text.ts';
import { findAccess, type Organizer, requireOrganizer } from '#src/voting-events/access.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { type Download, type DownloadKind, openDownload, signDownload } from './download-link.ts';
import * as operations from './export-operations.ts';
import { fileNameHeader } from './file-name.ts';
import { ReportPress } from './print-report.ts';
import { requireRankedPosition, weightUnit, writeBlt } from './write-blt.ts';
import { requireContests, writeCastVoteRecords } from './write-cast-vote-records.ts';

/** Exports: each redirects to a signed address that needs no key for five minutes, and makes the file when it is fetched. */
export function exportRouter(deps: Deps): Hono<Env> {
  const press = new ReportPress(deps);
  const definitionOf = (event: VotingEvent) => requireBallotDefinition(deps.definitions, event);
  const event = findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    requireFeature(deps.plans[organizer.ownerPlan], 'data_export');
    return organizer;
  });
  const signedDownload = findTarget(async (c) => {
    const download = openDownload(deps.secrets, c.req.param('token') ?? '', deps.clock.now());
    // The key, the sharing and the plan must still allow the file.
    if (!(await isKeyGood(deps.db, download.keyId, deps.clock.now()))) throw refuse('download_key_ended');
    const access = await findAccess(deps.db, download.accountId, download.eventId);
    if (access === undefined) throw notFound();
    requireFeature(deps.plans[access.ownerPlan], 'data_export');
    return { download, event: access.event };
  });
  const linkTo = (
    { caller, event: { id } }: Organizer,
    kind: DownloadKind,
    { paper = 'a4', positionId = null }: Partial<Pick<Download, 'paper' | 'positionId'>> = {},
  ): Answer => {
    const download = { kind, eventId: id, accountId: caller.accountId, keyId: caller.keyId, paper, positionId };
    return redirect(`${deps.config.baseUrl}/downloads/${signDownload(deps.secrets, download, deps.clock.now())}`);
  };
  const router = new Hono<Env>();
  router.on(...operations.getResultsPdf, event, async (c) =>
    answer(c, linkTo(c.get('target'), 'pdf', { paper: c.get('query').paper })),
  );
  router.on(...operations.getResultsCsv, event, async (c) =>
    answer(c, linkTo(c.get('target'), c.get('query').layout === 'table' ? 'table' : 'csv')),
  );
  router.on(...operations.getResultsBlt, event, async (c) => {
    const { positionId } = c.get('query');
    const { event: row } = c.get('target');
    const definition = await definitionOf(row);
    requireRankedPosition(definition, row, positionId);
    await weightUnit(deps.reads, definition);
    return answer(c, linkTo(c.get('target'), 'blt', { positionId }));
  });
  router.on(...operations.getResultsJson, event, async (c) => answer(c, linkTo(c.get('target'), 'json')));
  router.on(...operations.getCastVoteRecords, event, async (c) => {
    requireContests(await definitionOf(c.get('target').event));
    return answer(c, linkTo(c.get('target'), 'cvr'));
  });
  router.on(...operations.download, signedDownload, async (c) => {
    const { download, event: row } = c.get('target');
    const read = async (): Promise<Answer> => ({
      ...(await fileOf(deps, press, { row, definition: await definitionOf(row) }, download, whenGone(c))),
      headers: fileNameHeader(row, download.kind),
    });
    // Reports have a queue of their own, in which the accounts take turns.
    return download.kind === 'pdf' ? answer(c, await read()) : costly(c, download.accountId, read);
  });
  return router;
}

async function fileOf(
  deps: Deps,
  press: ReportPress,
  { row, definition }: { readonly row: VotingEvent; readonly definition: BallotDefinition },
  { kind, paper: size, accountId, positionId }: Download,
  gone: AbortSignal,
): Promise<Answer> {
  const nowMs = deps.clock.now();
  if (kind === 'pdf') {
    return {
      status: 200,
      bytes: { content: await press.print(definition, size, nowMs, accountId, gone), type: 'application/pdf' },
    };
  }
  if (kind === 'cvr') {
    requireContests(definition);
    const { id } = definition.event;
    const newestDefinition = async (): Promise<BallotDefinition> => {
      const event = await findEventById(deps.db, id);
      const newest = event === undefined ? undefined : await deps.definitions.get(event);
      if (newest === undefined) throw notFound();
      return newest;
    };
    const { companyName: manufacturer } = deps.config;
    const source = { db: deps.db, secrets: deps.secrets, manufacturer, version: deps.version, newestDefinition };
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
