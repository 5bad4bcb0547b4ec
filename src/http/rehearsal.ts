import type { RequestContext } from './env.ts';

// Voters see a rehearsal as the open event that it stands for (completions 10.5). Here is what makes the difference: answers
// say so, and are stored under names of their own.

const isPublic = (c: RequestContext): boolean => c.get('operation').path.startsWith('/public/');

/** The event of a public request that is being rehearsed, by its ID; undefined for every other request. */
export const rehearsedEventOf = (c: RequestContext): string | undefined => (isPublic(c) ? rehearsalOf(c) : undefined);

/** The event whose rehearsal takes along what a request does and is answered, by its ID; undefined where it stays. */
export const wipedWithRehearsalOf = (c: RequestContext): string | undefined =>
  isPublic(c) || c.get('operation').goesWithRehearsal === true ? rehearsalOf(c) : undefined;

function rehearsalOf(c: RequestContext): string | undefined {
  const target: unknown = c.get('target');
  const event = typeof target === 'object' && target !== null && 'event' in target ? target.event : undefined;
  if (typeof event !== 'object' || event === null || !('id' in event) || !('rehearsalSince' in event)) return undefined;
  return event.rehearsalSince === null ? undefined : String(event.id);
}

/** The beginning of the names under which answers to requests of a rehearsal are stored: its end removes them all. */
export const rehearsalPrefix = (eventId: string): string => `rehearsal/${eventId}/`;

/** The body of an answer as it is given in a rehearsal: an object under `data` says so. */
export function markRehearsal(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('data' in body)) return body;
  const { data } = body;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return body;
  return { ...body, data: { rehearsal: true, ...data } };
}

/** The same for the text of a body, or for the beginning of one. */
export const markRehearsalText = (text: string): string =>
  text.replace(/^\{"data":\{(?!"rehearsal":)/, '{"data":{"rehearsal":true,');
