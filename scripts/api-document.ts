import { createApp, describeApp } from '#src/app.ts';
import { readConfig } from '#src/config.ts';
import { operationsOf } from '#src/http/operation.ts';
import { RateLimiter } from '#src/http/rate-limit.ts';
import { createLog } from '#src/platform/log.ts';
import type { JsonSchema } from '#src/reference/describe-schema.ts';
import { closeDeps, createDeps } from '#src/service.ts';

/** Names in the document that are a service's own; no connection to a database is opened. */
const SETTINGS = {
  BASE_URL: 'https://votes.example',
  DATABASE_URL: 'postgres://none.invalid/none',
  SECRET_KEY: Buffer.alloc(32).toString('base64'),
  LOG_LEVEL: 'silent',
};

/** The API document of this checkout, made without a server and without a database. */
export async function makeApiDocument(): Promise<JsonSchema> {
  const config = readConfig(SETTINGS);
  const deps = createDeps(config, SETTINGS.DATABASE_URL, createLog('silent'));
  try {
    const notAsked = () => Promise.reject(new Error('not asked'));
    const app = createApp(deps, new RateLimiter(), notAsked, () => undefined);
    return await describeApp([...operationsOf(app).values()], deps);
  } finally {
    await closeDeps(deps);
  }
}
