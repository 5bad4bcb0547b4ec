import type { RequestTarget } from './request-target.ts';
import type { RequestContext, Route } from './route.ts';

const REST = '{.+}';

const partsOfPaths = new Map<string, readonly string[]>();

/** The parts of a route's path; routes are few, and each is taken apart once. */
function partsOf({ path }: Route): readonly string[] {
  const kept = partsOfPaths.get(path);
  if (kept !== undefined) return kept;
  const parts = path.slice(1).split('/');
  partsOfPaths.set(path, parts);
  return parts;
}

/** The values of the path's parameters, from the segments as they were decoded once. */
export function paramsOf(route: Route, target: RequestTarget): Record<string, string> {
  const params: Record<string, string> = {};
  partsOf(route).forEach((part, index) => {
    // `:name{.+}` stands at the end and takes everything that is left, slashes included.
    if (part.endsWith(REST)) params[part.slice(1, -REST.length)] = target.segments.slice(index).join('/');
    else if (part.startsWith(':')) params[part.slice(1)] = target.segments[index] ?? '';
  });
  return params;
}

/** The address of what a request is about. An event is one resource by its ID and by its code in any case. */
export function resourceOf(route: Route, { params }: RequestContext, target: unknown): string {
  const event = typeof target === 'object' && target !== null && 'event' in target ? target.event : undefined;
  const id = typeof event === 'object' && event !== null && 'id' in event ? String(event.id) : undefined;
  const parts = partsOf(route).map((part) => {
    if (part === ':idOrCode') return id ?? params['idOrCode'] ?? '';
    return part.startsWith(':') ? (params[part.slice(1).replace(REST, '')] ?? '') : part;
  });
  return `/${parts.join('/')}`;
}
