/** Exports behind signed addresses, and what needs no key. */
import { type Expected, planGate, refuse } from './answer.ts';
import * as kit from './kit.ts';
import type { Route } from './model.ts';
import { isReady } from './state.ts';

const base = '/voting-events/:e/results';
const exported = (kind: string): Route => ({
  method: 'GET',
  path: `${base}/${kind}`,
  scope: 'read',
  gate: planGate('dataExport'),
  handle: (_, { event }) => {
    const moved: Expected = { status: 302, location: /^https?:\/\/\S+$/ };
    // Cast vote records of an event that cannot have any: left open.
    return kind === 'cvr' && !(isReady(event) && event.everCast) ? [moved, refuse(409, 'conflict')] : [moved];
  },
});
export const otherRoutes: readonly Route[] = [
  ...['pdf', 'csv', 'json', 'cvr'].map(exported),
  {
    method: 'GET',
    path: '/health',
    scope: 'none',
    handle: () => [
      {
        status: 200,
        body: {
          data: {
            status: 'ok',
            version: kit.STRING,
            uptimeMs: kit.INTEGER,
            checks: { database: kit.ANY, worker: kit.ANY, migrations: kit.ANY },
          },
        },
      },
    ],
  },
  {
    method: 'GET',
    path: '/',
    scope: 'none',
    handle: () => [
      {
        status: 200,
        body: { data: { company: kit.STRING, website: kit.STRING, api_doc: kit.STRING, status_page: kit.STRING } },
      },
    ],
  },
  { method: 'GET', path: '/docs', scope: 'none', handle: () => [{ status: 302, location: /\S/ }] },
];
