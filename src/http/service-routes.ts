import { z } from 'zod';
import type { Answer } from './answer.ts';
import { ok, redirect } from './answer.ts';
import { answersOne, answersRedirect } from './answer-shapes.ts';
import { type Route, readRoute } from './route.ts';

export interface ServiceInfo {
  readonly companyName: string;
  readonly websiteUrl: string;
  readonly apiDocUrl: string;
  readonly statusPageUrl: string;
  readonly version: string;
}

export type Check = 'ok' | 'failed' | 'off';
export interface Health {
  readonly uptimeMs: number;
  readonly checks: { readonly database: Check; readonly worker: Check; readonly migrations: Check };
}

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

const nothing = async (): Promise<null> => null;

/** The helpers that need no key: who this is, where its documentation is, whether it is well (contract, "Unauthenticated helper endpoints"). */
export function serviceRoutes(info: ServiceInfo, readHealth: () => Promise<Health>): Route[] {
  return [
    readRoute({
      operationId: 'getService',
      summary: 'Company, website, documentation and status page',
      method: 'GET',
      path: '/',
      scope: 'none',
      answers: answersOne(serviceView, 'The service.'),
      find: nothing,
      read: async () =>
        ok({
          company: info.companyName,
          website: info.websiteUrl,
          api_doc: info.apiDocUrl,
          status_page: info.statusPageUrl,
        }),
    }),
    readRoute({
      operationId: 'getDocs',
      summary: 'Redirects to the reference documentation',
      method: 'GET',
      path: '/docs',
      scope: 'none',
      answers: answersRedirect('To the reference.'),
      find: nothing,
      read: async () => redirect(info.apiDocUrl),
    }),
    readRoute({
      operationId: 'getDocsPage',
      summary: 'Redirects to a page of the reference documentation',
      method: 'GET',
      path: '/docs/:page',
      scope: 'none',
      answers: answersRedirect('To that page.'),
      find: async ({ params }) => params['page'] ?? '',
      read: async ({ target }) => redirect(`${info.apiDocUrl}/${encodeURIComponent(target)}`),
    }),
    readRoute({
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
      find: nothing,
      read: async (): Promise<Answer> => {
        const health = await readHealth();
        const well = health.checks.database === 'ok' && health.checks.migrations === 'ok';
        return {
          status: well ? 200 : 503,
          body: { data: { status: well ? 'ok' : 'unavailable', version: info.version, ...health } },
        };
      },
    }),
    readRoute({
      operationId: 'getLiveness',
      summary: 'Whether the process lives: for restarts only',
      method: 'GET',
      path: '/health/live',
      scope: 'none',
      unlimited: true,
      answers: answersOne(z.object({ status: z.literal('ok') }), 'The process lives.'),
      find: nothing,
      read: async () => ok({ status: 'ok' }),
    }),
  ];
}
