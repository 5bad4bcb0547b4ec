/** What is read after a change that the service accepted: through the other process, so that what it keeps of before shows. */
import type { DriverAnswer, DriverRequest } from '#test/model/driver.ts';
import { at, type Random, text } from './kit.ts';
import type { Model } from './model.ts';
import type { Event } from './state.ts';

const LISTS: readonly (readonly [number, string])[] = [
  [3, ''],
  [2, '/positions'],
  [2, '/candidates'],
  [1, '/groups'],
  [1, '/sponsors'],
  [1, '/payment-business'],
];
const PUBLIC: readonly (readonly [number, string])[] = [
  [2, ''],
  [2, '/ballot'],
  [1, '/ballot?seed=one'],
  [2, '/results'],
];
const COUNTED: readonly (readonly [number, string])[] = [
  [3, '/results'],
  [3, '/voters?limit=200'],
  [1, '/voters?voted=true&limit=200'],
  [1.5, '/votes?limit=200'],
  [0.5, '/stats'],
];

interface Readers {
  readonly organizer: string | undefined;
  readonly voting: string | undefined;
}
/** @param readable whether the roll can be read: no mail is under way that changes what is shown of a voter */
export function readsAfter(
  model: Model,
  request: DriverRequest,
  answer: DriverAnswer,
  { organizer, voting }: Readers,
  random: Random,
  readable: boolean,
): DriverRequest[] {
  const event = eventOf(model, request, answer);
  if (event === undefined) return [];
  const process = 1 - request.process;
  const asOrganizer = (path: string) => ({ method: 'GET', path: `/voting-events/${event.id}${path}`, key: organizer });
  const asVoter = (path: string) => ({ method: 'GET', path: `/public/voting-events/${event.id}${path}`, key: voting });
  const some = random.weighted<() => { method: string; path: string; key: string | undefined }>([
    [2, () => asVoter(random.weighted(PUBLIC))],
    [2, () => asOrganizer(random.weighted(COUNTED))],
    [1, () => asOrganizer(random.weighted(LISTS))],
    [event.attempts.length > 0 ? 1 : 0, () => asOrganizer('/payments')],
  ]);
  const changed = changedThing(request, answer, event);
  const chosen = [
    ...(changed === undefined ? [some()] : [changed.public ? asVoter(changed.path) : asOrganizer(changed.path)]),
    some(),
    ...(random.chance(0.3) ? [some()] : []),
  ];
  return chosen.flatMap(({ method, path, key }) =>
    key === undefined || (!readable && path.includes('/voters')) ? [] : [{ process, method, path, key }],
  );
}
function eventOf(model: Model, request: DriverRequest, answer: DriverAnswer): Event | undefined {
  const named = /\/voting-events\/([^/?]+)/.exec(request.path)?.[1];
  return model.find(named ?? text(at(answer.body, 'data', 'id')));
}
/** What a request made or changed, as it is read. */
function changedThing(request: DriverRequest, answer: DriverAnswer, event: Event) {
  const path = request.path.split('?')[0] ?? '';
  const [, rest = ''] = /\/voting-events(?:\/[^/]+)?(.*)$/.exec(path) ?? [];
  const id = text(at(answer.body, 'data', 'id'));
  if (path.startsWith('/public')) {
    const attempt = text(at(answer.body, 'data', 'paymentAttemptId')) || text(at(request.body, 'paymentAttemptId'));
    if (attempt !== '' && event.attempts.some((one) => one.id === attempt))
      return { public: true, path: `/payments/${attempt}` };
    if (rest === '/ballot/confirm') return { public: false, path: '/results' };
    const quadratic = event.positions.find((one) => one.votingMethod === 'quadratic');
    const visitor = text(at(request.body, 'visitorId'));
    if (quadratic !== undefined && visitor !== '')
      return { public: true, path: `/quadratic-credits?positionId=${quadratic.id}&visitorId=${visitor}` };
    return undefined;
  }
  if (/^\/voters\/(batch|bulk|import|letters|notify)$/.test(rest)) return { public: false, path: '/voters?limit=200' };
  if (rest === '/candidates/bulk') return { public: false, path: '/candidates' };
  if (rest === '' || /^\/(positions|candidates|groups|voters)\/[^/]+$/.test(rest)) return { public: false, path: rest };
  if (/^\/(positions|candidates|groups|voters)$/.test(rest) && id !== '')
    return { public: false, path: `${rest}/${id}` };
  return rest === '/sponsors' || rest === '/payment-business' ? { public: false, path: rest } : undefined;
}
