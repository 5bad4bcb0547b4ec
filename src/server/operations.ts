import { z } from 'zod';
import { answersOne, answersRedirect } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';

const serviceView = z
  .object({ company: z.string(), website: z.string(), api_doc: z.string(), status_page: z.string() })
  .meta({
    id: 'Service',
    examples: [
      {
        company: 'Voting Service',
        website: 'https://vote.example',
        api_doc: 'https://vote.example/reference',
        status_page: 'https://vote.example/health',
      },
    ],
  });
const check = z.enum(['ok', 'failed', 'off']);
const healthView = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    version: z.string(),
    uptimeMs: z.int(),
    checks: z.object({ database: check, worker: check, migrations: check }),
  })
  .meta({
    id: 'Health',
    examples: [
      {
        status: 'ok',
        version: '1.0.0',
        uptimeMs: 3_600_000,
        checks: { database: 'ok', worker: 'ok', migrations: 'ok' },
      },
    ],
  });

export const getService = operation({
  operationId: 'getService',
  summary: 'Company, website, documentation and status page',
  method: 'GET',
  path: '/',
  scope: 'none',
  answers: answersOne(serviceView, 'The service.'),
});

export const getDocs = operation({
  operationId: 'getDocs',
  summary: 'Redirects to the reference documentation',
  method: 'GET',
  path: '/docs',
  scope: 'none',
  answers: answersRedirect('To the reference.'),
});

export const getDocsPage = operation({
  operationId: 'getDocsPage',
  summary: 'Redirects to a page of the reference documentation',
  method: 'GET',
  path: '/docs/:page',
  scope: 'none',
  answers: answersRedirect('To that page.'),
});

export const getHealth = operation({
  operationId: 'getHealth',
  summary: 'Whether the service can serve requests now',
  method: 'GET',
  path: '/health',
  scope: 'none',
  unlimited: true,
  answers: {
    ...answersOne(healthView, 'Requests are served.'),
    503: { description: 'A request could not be served now.', schema: z.object({ data: healthView }) },
  },
});

export const getLiveness = operation({
  operationId: 'getLiveness',
  summary: 'Whether the process lives: for restarts only',
  method: 'GET',
  path: '/health/live',
  scope: 'none',
  unlimited: true,
  answers: answersOne(z.object({ status: z.literal('ok') }), 'The process lives.'),
});
