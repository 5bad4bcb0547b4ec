/** What stands on the ballot: candidates, groups, sponsors, and all routes of these. */
import {
  type Context,
  conflict,
  type Expected,
  listed,
  ok,
  type Route,
  refuse,
  route,
  unfit,
  wrongly,
} from './answer.ts';
import * as kit from './kit.ts';
import { at, type Json, nullable, type Spec } from './kit.ts';
import type { Model } from './model.ts';
import {
  createPosition,
  deletePosition,
  hasBallots,
  patchPosition,
  perhapsNotNow,
  positionSpec,
  unknownGroup,
} from './positions.ts';
import {
  blankCandidate,
  type Candidate,
  candidateBody,
  type Event,
  frozen,
  type Group,
  groupBody,
  livePendings,
  positionBody,
} from './state.ts';

const candidateSpec: Spec = {
  name: kit.name(200),
  description: nullable(kit.str(0, 5000)),
  email: nullable(kit.email),
  positionIds: kit.list(kit.str(1, 200), 1, 100),
  groupId: nullable(kit.str(0, 200)),
  referendumRole: nullable(kit.among('yes', 'no', 'abstain')),
  avatarUrl: nullable(kit.httpsUrl),
  sortOrder: kit.int(0),
};
const STATUS = kit.among('pending', 'approved', 'rejected', 'withdrawn');
function candidateMisfits(context: Context): string[] {
  const { body, event } = context;
  const fields = unknownGroup(context);
  const ids = body['positionIds'];
  if (Array.isArray(ids)) {
    for (const [index, id] of ids.entries())
      if (!event.positions.some((one) => one.id === id) || ids.indexOf(id) !== index)
        fields.push(`positionIds[${index}]`, 'positionIds');
  }
  return fields;
}
function createCandidate(_: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  const fields = candidateMisfits(context);
  if (fields.length > 0) return [unfit(fields), ...perhapsNotNow(event, now)];
  const candidate: Candidate = {
    ...blankCandidate('organizer', body['positionIds'] as string[]),
    ...body,
    name: kit.clean(String(body['name'])),
  };
  const roles = event.positions.filter((one) => candidate.positionIds.includes(one.id));
  const odd = candidate.referendumRole !== null && roles.some((one) => one.votingMethod !== 'referendum');
  const missing = candidate.referendumRole === null && roles.some((one) => one.votingMethod === 'referendum');
  const done = ok(201, candidateBody(event, candidate), (answer) => {
    candidate.id = kit.text(at(answer, 'data', 'id'));
    candidate.sortOrder ??= (at(answer, 'data', 'sortOrder') as number | null) ?? null;
    event.candidates.push(candidate);
  });
  if (frozen(event, now))
    return [
      conflict('results_final'),
      conflict('event_has_ballots'),
      ...(odd || missing ? [unfit(['referendumRole'])] : []),
      wrongly(done),
    ];
  return [done, ...perhapsNotNow(event, now), ...(odd || missing ? [unfit(['referendumRole'])] : [])];
}
const SHOWN = ['name', 'positionIds', 'referendumRole', 'groupId', 'avatarUrl', 'sortOrder'];
export function patchCandidate(_: Model, context: Context): Expected[] {
  const { body, event, now, id } = context;
  const candidate = event.candidates.find((one) => one.id === id);
  if (candidate === undefined) return [];
  const refusals: Expected[] = [];
  const perhaps: Expected[] = [];
  const fields = candidateMisfits(context);
  if (fields.length > 0) refusals.push(unfit(fields));
  const next = { ...candidate, ...body } as Candidate;
  if (typeof body['name'] === 'string') next.name = kit.clean(body['name']);
  if (typeof body['description'] === 'string') next.description = kit.clean(body['description']);
  const sorted = (value: unknown) => JSON.stringify(Array.isArray(value) ? value.toSorted() : value);
  const changed = Object.keys(body).filter(
    (name) => sorted(next[name as keyof Candidate]) !== sorted(candidate[name as keyof Candidate]),
  );
  if (frozen(event, now)) {
    if (changed.includes('name') || changed.includes('status') || changed.includes('positionIds'))
      refusals.push(conflict('results_final'), conflict('event_has_ballots'));
    else if (changed.some((one) => one !== 'description'))
      perhaps.push(conflict('results_final'), conflict('event_has_ballots'));
  } else {
    // Frozen with the first ballot, where the candidate is or was on it.
    if (changed.some((one) => SHOWN.includes(one))) {
      const standing = candidate.status === 'approved' || candidate.status === 'withdrawn';
      if (standing && hasBallots(event, now)) refusals.push(conflict('event_has_ballots'));
      else perhaps.push(...perhapsNotNow(event, now), unfit(['referendumRole']));
    }
    if (changed.includes('status')) {
      const walk = `${candidate.status}>${next.status}`;
      const fine = ['approved>withdrawn', 'withdrawn>approved', 'pending>approved', 'rejected>approved'].includes(walk);
      if (hasBallots(event, now)) {
        if (!fine)
          refusals.push(conflict('event_has_ballots'), ...(next.status === 'pending' ? [unfit(['status'])] : []));
      } else perhaps.push(...perhapsNotNow(event, now), ...(next.status === 'pending' ? [unfit(['status'])] : []));
    }
  }
  const done = ok(200, candidateBody(event, next), () => Object.assign(candidate, next));
  return refusals.length > 0 ? [...refusals, ...perhaps, wrongly(done)] : [done, ...perhaps];
}
export function deleteCandidate(_: Model, { event, now, id }: Context): Expected[] {
  const gone = ok(202, undefined, () => {
    event.candidates = event.candidates.filter((one) => one.id !== id);
  });
  const named = [...event.ballots, ...livePendings(event, now)].some((one) =>
    one.votes.some((vote) => vote.candidateId === id),
  );
  if (frozen(event, now)) return [conflict('results_final'), conflict('event_has_ballots'), wrongly(gone)];
  return named ? [conflict('event_has_ballots'), wrongly(gone)] : [gone, ...perhapsNotNow(event, now)];
}

const groupSpec: Spec = { name: kit.name(200), description: nullable(kit.str(0, 5000)) };
function writeGroup(creating: boolean) {
  return (_: Model, { body, event, id, now }: Context): Expected[] => {
    const before = event.groups.find((one) => one.id === id) ?? { id: '', name: '', description: null };
    const next: Group = { ...before, ...body };
    next.name = kit.clean(next.name);
    if (event.groups.some((one) => one !== before && one.name === next.name))
      return [refuse(409, 'conflict', undefined, { fields: ['name'] })];
    const renamed = !creating && next.name !== before.name;
    const alike = event.groups.some((one) => one !== before && one.name.toLowerCase() === next.name.toLowerCase());
    const done = ok(creating ? 201 : 200, groupBody(event, next), (answer) => {
      if (creating) event.groups.push({ ...next, id: kit.text(at(answer, 'data', 'id')) });
      else Object.assign(before, next);
    });
    if (renamed && frozen(event, now)) return [conflict('results_final'), wrongly(done)];
    return alike ? [done, refuse(409, 'conflict')] : [done];
  };
}
function deleteGroup(_: Model, { event, now, id }: Context): Expected[] {
  if (event.positions.some((one) => one.groupId === id))
    return [conflict('group_in_use'), ...perhapsNotNow(event, now)];
  const gone = ok(202, undefined, () => {
    event.groups = event.groups.filter((one) => one.id !== id);
    for (const one of [...event.voters, ...event.candidates]) if (one.groupId === id) one.groupId = null;
  });
  const used = event.voters.some((one) => one.groupId === id);
  return used || event.everCast || frozen(event, now) ? [gone, ...perhapsNotNow(event, now)] : [gone];
}
const filtered = (context: Context, rows: readonly Json[]): Expected[] => {
  if ((context.query.get('search') ?? 'abc').length < 1) return [{ status: 200 }, refuse(400, 'bad_request')];
  return [listed(rows)];
};
const matchesSearch = (query: URLSearchParams, ...values: readonly (string | null)[]): boolean => {
  const search = query.get('search');
  return search === null || values.some((one) => one?.toLowerCase().includes(search.toLowerCase()));
};
const sponsorSpec: Spec = {
  name: [kit.name(200)],
  logoUrl: nullable(kit.httpsUrl),
  websiteUrl: nullable(kit.httpsUrl),
  tier: nullable(kit.str(0, 200)),
  sortOrder: kit.int(0),
};
function createSponsor(_: Model, { body, event }: Context): Expected[] {
  const sponsor = { logoUrl: null, websiteUrl: null, tier: null, ...body, name: kit.clean(String(body['name'])) };
  return [ok(201, sponsor, (answer) => event.sponsors.push({ ...sponsor, id: at(answer, 'data', 'id') }))];
}
const base = '/voting-events/:e';

interface Row {
  readonly id: string;
}
type Handle = Route['handle'];
/** The five routes of the rows of an event that are of one kind. */
function crud<One extends Row>(
  path: string,
  rowsOf: (event: Event) => readonly One[],
  bodyOf: (event: Event, row: One) => Json,
  [query, list]: readonly [readonly string[], Handle],
  [createSpec, create]: readonly [Spec, Handle],
  [patchSpec, patch]: readonly [Spec, Handle],
  remove: Handle,
): Route[] {
  const all = `${base}/${path}`;
  const rowOf = ({ event, id }: Context) => rowsOf(event).filter((row) => row.id === id);
  const show: Handle = (_, context) => rowOf(context).map((row) => ok(200, bodyOf(context.event, row)));
  const exists = (context: Context) => rowOf(context).length > 0;
  return [
    route('GET', all, 'read', list, { query }),
    route('POST', all, 'write', create, { body: createSpec }),
    route('GET', `${all}/:id`, 'read', show, { exists }),
    route('PATCH', `${all}/:id`, 'write', patch, { exists, body: patchSpec }),
    route('DELETE', `${all}/:id`, 'write', remove, { exists }),
  ];
}

function listPositions(_: Model, context: Context): Expected[] {
  const method = context.query.get('votingMethod');
  const rows = context.event.positions
    .filter((one) => (method === null || one.votingMethod === method) && matchesSearch(context.query, one.title))
    .toSorted((a, b) => (a.sortOrder ?? 0) - (b.sortOrder ?? 0));
  return filtered(
    context,
    rows.map((one) => positionBody(context.event, one)),
  );
}
function listCandidates(_: Model, context: Context): Expected[] {
  const [status, position, group] = ['status', 'positionId', 'groupId'].map((one) => context.query.get(one));
  const rows = context.event.candidates.filter(
    (one) =>
      (status === null || one.status === status) &&
      (position === null || one.positionIds.includes(position ?? '')) &&
      (group === null || one.groupId === group) &&
      matchesSearch(context.query, one.name, one.email),
  );
  return [listed(new kit.Bag(rows.map((one) => candidateBody(context.event, one))))];
}
const listGroups: Handle = (_, { event }) => [listed(new kit.Bag(event.groups.map((one) => groupBody(event, one))))];

export const settingsRoutes: readonly Route[] = [
  ...crud(
    'positions',
    (event) => event.positions,
    positionBody,
    [['votingMethod', 'groupId', 'search'], listPositions],
    [kit.required(positionSpec, 'title', 'votingMethod'), createPosition],
    [positionSpec, patchPosition],
    deletePosition,
  ),
  ...crud(
    'candidates',
    (event) => event.candidates,
    candidateBody,
    [['positionId', 'groupId', 'status', 'search'], listCandidates],
    [kit.required(candidateSpec, 'name', 'positionIds'), createCandidate],
    [{ ...candidateSpec, status: STATUS }, patchCandidate],
    deleteCandidate,
  ),
  ...crud(
    'groups',
    (event) => event.groups,
    groupBody,
    [['search'], listGroups],
    [kit.required(groupSpec, 'name'), writeGroup(true)],
    [groupSpec, writeGroup(false)],
    deleteGroup,
  ),
  route('POST', `${base}/sponsors`, 'write', createSponsor, { body: sponsorSpec }),
  route('GET', `${base}/sponsors`, 'read', (_, { event }) => [listed(new kit.Bag(event.sponsors))], {
    query: ['search'],
  }),
];
