import { Hono } from 'hono';
import type { Env } from '#src/http/env.ts';
import { answer } from '#src/http/send.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import { type Bundle, bundleForBrowser, bundleForNode } from './bundle-verifier.ts';
import { renderVerifierPage, VERIFIER_POLICY } from './render-verifier-page.ts';
import * as operations from './verifier-operations.ts';

const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const CACHED = { 'Cache-Control': 'public, max-age=300' };

/** The programs of the verifier. They are bundled in another process, when they are first asked for. */
export interface VerifierBundles {
  readonly script: () => Promise<Bundle>;
  readonly file: () => Promise<Bundle>;
}

export const verifierBundles = (): VerifierBundles => ({
  script: makeOnce(bundleForBrowser),
  file: makeOnce(bundleForNode),
});

/** The verifier as a page and as one file. */
export function verifierRouter(serviceName: string, { script, file }: VerifierBundles): Hono<Env> {
  const page = makeOnce(async () => renderVerifierPage(serviceName, await script(), await file()));
  const router = new Hono<Env>();
  router.on(...operations.getVerifierPage, async (c) => {
    const content = await page();
    const headers = { ...CACHED, 'Content-Security-Policy': VERIFIER_POLICY, 'Referrer-Policy': 'no-referrer' };
    return answer(c, { status: 200, text: { content, type: 'text/html; charset=utf-8' }, headers });
  });
  router.on(...operations.getVerifierScript, async (c) =>
    answer(c, { status: 200, text: { content: (await script()).text, type: SCRIPT_TYPE }, headers: CACHED }),
  );
  router.on(...operations.getVerifierFile, async (c) =>
    answer(c, { status: 200, text: { content: (await file()).text, type: SCRIPT_TYPE }, headers: CACHED }),
  );
  return router;
}
