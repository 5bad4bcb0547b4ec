import type { RequestContext } from './env.ts';

// To voters, an event in rehearsal looks like the open event (completions 10.5). This file makes the two differences: answers say
// `rehearsal: true`, and their Idempotency-Keys are stored under names of their own.

const isPublic = (c: RequestContext): boolean => c.get('operation').path.startsWith('/public/');

/** The ID of the event that a public request names, if the event is in rehearsal; otherwise undefined. */
export const rehearsedEventOf = (c: RequestContext): string | undefined => (isPublic(c) ? rehearsalOf(c) : undefined);

/** The ID of the event whose rehearsal, when it ends, deletes the request's effects and stored answer; undefined if they stay. */
export const wipedWithRehearsalOf = (c: RequestContext): string | undefined =>
  isPublic(c) || c.get('operation').goesWithRehearsal === true ? rehearsalOf(c) : undefined;

function rehearsalOf(c: RequestContext): string | undefined {
  const target: unknown = c.get('target');
  const event = typeof target === 'object' && target !== null && 'event' in target ? target.event : undefined;
  if (typeof event !== 'object' || event === null || !('id' in event) || !('rehearsalSince' in event)) return undefined;
  return event.rehearsalSince === null ? undefined : String(event.id);
}

/** The prefix of the stored Idempotency-Keys of a rehearsal, by which the end of the rehearsal deletes them. */
export const rehearsalPrefix = (eventId: string): string => `rehearsal/${eventId}/`;

/** Adds `rehearsal: true` to the body of an answer whose `data` is an object. */
export function markRehearsal(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('data' in body)) return body;
  const { data } = body;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return body;
  return { ...body, data: { rehearsal: true, ...data } };
}

/** Like `markRehearsal`, for the JSON text of a body or for its beginning. */
export const markRehearsalText = (text: string): string =>
  text.replace(/^\{"data":\{(?!"rehearsal":)/, '{"data":{"rehearsal":true,');
