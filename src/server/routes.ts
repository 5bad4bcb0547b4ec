import { Hono } from 'hono';
import { ok, redirect } from '#src/http/answer.ts';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import * as operations from './operations.ts';

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

/** The helpers that need no key: who this is, where its documentation is, whether it is well (contract, "Unauthenticated helper endpoints"). */
export function serviceRouter(info: ServiceInfo, readHealth: () => Promise<Health>): Hono<Env> {
  const router = new Hono<Env>();
  router.on(...operations.getService, async (c) =>
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
  router.on(...operations.getDocs, async (c) => answer(c, redirect(info.apiDocUrl)));
  router.on(...operations.getDocsPage, async (c) =>
    answer(c, redirect(`${info.apiDocUrl}/${encodeURIComponent(c.req.param('page'))}`)),
  );
  router.on(...operations.getHealth, async (c) => {
    const health = await readHealth();
    const well = health.checks.database === 'ok' && health.checks.migrations === 'ok';
    return answer(c, {
      status: well ? 200 : 503,
      body: { data: { status: well ? 'ok' : 'unavailable', version: info.version, ...health } },
    });
  });
  router.on(...operations.getLiveness, async (c) => answer(c, ok({ status: 'ok' })));
  return router;
}
