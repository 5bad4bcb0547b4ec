import { Hono } from 'hono';
import { z } from 'zod';
import type { Config } from '#src/config.ts';
import type { Deps } from '#src/deps.ts';
import { ok, redirect } from '#src/http/answer.ts';
import { answersOne, answersRedirect } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';

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

type ServiceInfo = Pick<Config, 'companyName' | 'websiteUrl' | 'apiDocUrl' | 'statusPageUrl'> & Pick<Deps, 'version'>;

export type Check = z.output<typeof check>;
export type Health = Pick<z.output<typeof healthView>, 'uptimeMs' | 'checks'>;

/** Endpoints without a key: name, documentation and health of the service (contract, "Unauthenticated helper endpoints"). */
export function serviceRouter(info: ServiceInfo, readHealth: () => Promise<Health>): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('getService', 'GET /', {
      summary: 'Company, website, documentation and status page',
      scope: 'none',
      answers: answersOne(serviceView, 'The service.'),
    }),
    async (c) =>
      answer(
        c,
        ok({
          company: info.companyName,
          website: info.websiteUrl,
          api_doc: info.apiDocUrl,
          status_page: info.statusPageUrl,
        }),
      ),
  );
  router.on(
    ...operation('getDocs', 'GET /docs', {
      summary: 'Redirects to the reference documentation',
      scope: 'none',
      answers: answersRedirect('To the reference.'),
    }),
    async (c) => answer(c, redirect(info.apiDocUrl)),
  );
  router.on(
    ...operation('getDocsPage', 'GET /docs/:page', {
      summary: 'Redirects to a page of the reference documentation',
      scope: 'none',
      answers: answersRedirect('To that page.'),
    }),
    async (c) => answer(c, redirect(`${info.apiDocUrl}/${encodeURIComponent(c.req.param('page'))}`)),
  );
  router.on(
    ...operation('getHealth', 'GET /health', {
      summary: 'Whether the service can serve requests now',
      scope: 'none',
      unlimited: true,
      answers: {
        ...answersOne(healthView, 'Requests are served.'),
        503: { description: 'A request could not be served now.', schema: z.object({ data: healthView }) },
      },
    }),
    async (c) => {
      const health = await readHealth();
      const well = health.checks.database === 'ok' && health.checks.migrations === 'ok';
      return answer(c, {
        status: well ? 200 : 503,
        body: { data: { status: well ? 'ok' : 'unavailable', version: info.version, ...health } },
      });
    },
  );
  router.on(
    ...operation('getLiveness', 'GET /health/live', {
      summary: 'Whether the process lives: for restarts only',
      scope: 'none',
      unlimited: true,
      answers: answersOne(z.object({ status: z.literal('ok') }), 'The process lives.'),
    }),
    async (c) => answer(c, ok({ status: 'ok' })),
  );
  return router;
}
