import { z } from 'zod';
import { answersFile, answersRedirect } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { idField } from '#src/http/fields.ts';
import { operation } from '#src/http/operation.ts';
import type { RefusalCase } from '#src/http/refusals.ts';
import { type DownloadKind, PAPER_SIZES } from './download-link.ts';

const DESCRIPTION =
  'Redirects to an address that serves the file, and needs no key. The file is made when it is fetched, and shows that moment.';

export const getResultsPdf = operation({
  operationId: 'getResultsPdf',
  summary: 'Redirect to the result report (PDF)',
  method: 'GET',
  path: '/voting-events/:idOrCode/results/pdf',
  scope: 'read',
  description: DESCRIPTION,
  answers: answersRedirect('The address of the report, good for five minutes.'),
  refusals: ['plan_feature'],
  query: z.strictObject({ paper: z.enum(PAPER_SIZES).default('a4') }),
});

export const getResultsCsv = operation({
  operationId: 'getResultsCsv',
  summary: 'Redirect to the results as a table (CSV)',
  method: 'GET',
  path: '/voting-events/:idOrCode/results/csv',
  scope: 'read',
  description: `${DESCRIPTION} \`layout=figures\` has one figure a row, rounds and ties included; \`layout=table\` one candidate a row, the most votes first.`,
  answers: answersRedirect('The address of the file, good for five minutes.'),
  refusals: ['plan_feature'],
  query: z.strictObject({ layout: z.enum(['figures', 'table']).default('figures') }),
});

export const getResultsBlt = operation({
  operationId: 'getResultsBlt',
  summary: 'Redirect to the ballots of a ranked position (BLT)',
  method: 'GET',
  path: '/voting-events/:idOrCode/results/blt',
  scope: 'read',
  description:
    'For counting elsewhere, once the result is final. Weights are whole numbers in a unit of their own. In a secret event there is no file where a ballot’s weight would show whose it is.',
  answers: answersRedirect('The address of the file, good for five minutes.'),
  refusals: ['plan_feature', 'openings_not_available', 'weights_kept_back'],
  query: z.strictObject({ positionId: idField().meta({ description: 'A position of the method `ranked_choice`.' }) }),
});

const exportOf = (kind: DownloadKind, operationId: string, summary: string, refusals: readonly RefusalCase[]) =>
  operation({
    operationId,
    summary,
    method: 'GET',
    path: `/voting-events/:idOrCode/results/${kind}`,
    scope: 'read',
    description: DESCRIPTION,
    answers: answersRedirect('The address of the file, good for five minutes.'),
    refusals,
  });

export const getResultsJson = exportOf('json', 'getResultsJson', 'Redirect to the results as a JSON file', [
  'plan_feature',
]);

export const getCastVoteRecords = exportOf(
  'cvr',
  'getCastVoteRecords',
  'Redirect to the cast vote records (NIST SP 1500-103)',
  ['plan_feature', 'not_ready'],
);

export const download = operation({
  operationId: 'download',
  summary: 'Download an export by its signed address',
  method: 'GET',
  path: '/downloads/:token',
  scope: 'none',
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
  ],
});
