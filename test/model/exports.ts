/** Exports behind signed addresses, and what needs no key. */
import { type Expected, planGate, type Route, refuse, route } from './answer.ts';
import * as kit from './kit.ts';
import { isReady } from './state.ts';

const base = '/voting-events/:e/results';
const exported = (kind: string): Route => {
  const moved: Expected = { status: 302, location: /^https?:\/\/\S+$/ };
  const handle: Route['handle'] = (_, { event }) =>
    // Cast vote records of an event that cannot have any: left open.
    kind === 'cvr' && !(isReady(event) && event.everCast) ? [moved, refuse(409, 'conflict')] : [moved];
  return route('GET', `${base}/${kind}`, 'read', handle, { gate: planGate('dataExport') });
};
export const otherRoutes: readonly Route[] = [
  ...['pdf', 'csv', 'json', 'cvr'].map(exported),
  route('GET', '/health', 'none', () => [
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
  ]),
  route('GET', '/', 'none', () => [
    {
      status: 200,
      body: { data: { company: kit.STRING, website: kit.STRING, api_doc: kit.STRING, status_page: kit.STRING } },
    },
  ]),
  route('GET', '/docs', 'none', () => [{ status: 302, location: /\S/ }]),
];
