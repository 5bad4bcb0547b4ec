/** Positions, and how they are voted on. */
import { type Context, conflict, type Expected, ok, refuse, unfit, wrongly } from './answer.ts';
import * as kit from './kit.ts';
import { at, type Json, nullable, type Spec } from './kit.ts';
import type { Model } from './model.ts';
import { currencyFits } from './organizer.ts';
import { type Event, frozen, livePendings, type Method, type Position, positionBody, statusOf } from './state.ts';

const METHODS = ['plurality', 'approval', 'referendum', 'score', 'cumulative', 'quadratic', 'ranked_choice'];
const share = kit.object({
  numerator: [kit.int(0)],
  denominator: [kit.int(1)],
  inclusive: kit.bool,
  base: kit.among('yes_no', 'answers', 'electorate'),
});
export const positionSpec: Spec = {
  title: kit.name(200),
  description: nullable(kit.str(0, 5000)),
  votingMethod: kit.among(...METHODS),
  groupId: nullable(kit.str(0, 200)),
  sortOrder: kit.int(0),
  seats: kit.int(1, 50),
  minSelections: kit.int(0),
  maxSelections: kit.int(1),
  scoreMin: nullable(kit.int(-1000, 1000)),
  scoreMax: nullable(kit.int(-1000, 1000)),
  cumulativePointBudget: nullable(kit.int(1)),
  quadraticBaseCreditBudget: nullable(kit.int(1)),
  quadraticTopUp: nullable((value, path, issues) => {
    if (!kit.isObject(value)) issues.push(path);
  }),
  tieBreak: kit.among('joint', 'lot', 'candidate_order'),
  rules: nullable(kit.object({ threshold: share, turnoutQuorum: nullable(share), approvalQuorum: nullable(share) })),
};
/** Settings that only some methods have. */
const OWN: Record<string, readonly string[]> = {
  scoreMin: ['score'],
  scoreMax: ['score'],
  cumulativePointBudget: ['cumulative'],
  quadraticBaseCreditBudget: ['quadratic'],
  quadraticTopUp: ['quadratic'],
  rules: ['referendum'],
};
const HALF = { numerator: 1, denominator: 2, inclusive: false };

export const hasBallots = (event: Event, now: number): boolean =>
  event.ballots.length > 0 || livePendings(event, now).length > 0;
const own = (context: Context): string[] =>
  ['groupId'].filter((one) => context.body[one] !== undefined && context.body[one] !== null);
export const unknownGroup = (context: Context): string[] =>
  own(context).filter(() => !context.event.groups.some((one) => one.id === context.body['groupId']));

function blankPosition(method: Method): Position {
  const scored = method === 'score';
  return {
    id: '',
    title: '',
    description: null,
    votingMethod: method,
    groupId: null,
    sortOrder: null,
    seats: 1,
    minSelections: method === 'plurality' || method === 'referendum' ? 1 : null,
    maxSelections: method === 'plurality' || method === 'referendum' ? 1 : null,
    ownMax: method === 'plurality' || method === 'referendum',
    scoreMin: scored ? 0 : null,
    scoreMax: scored ? 5 : null,
    cumulativePointBudget: method === 'cumulative' ? 10 : null,
    quadraticBaseCreditBudget: method === 'quadratic' ? 100 : null,
    quadraticTopUp: null,
    tieBreak: 'joint',
    rules: method === 'referendum' ? { threshold: HALF, turnoutQuorum: null, approvalQuorum: null } : null,
  };
}
function writtenPosition(before: Position, body: Json): Position {
  const given = body['rules'];
  const rules = kit.isObject(given)
    ? { ...(before.rules ?? { threshold: HALF, turnoutQuorum: null, approvalQuorum: null }), ...given }
    : before.rules;
  const next = { ...before, ...body, rules } as Position;
  if (body['maxSelections'] !== undefined) next.ownMax = true;
  if (typeof body['title'] === 'string') next.title = kit.clean(body['title']);
  if (typeof body['description'] === 'string') next.description = kit.clean(body['description']);
  return next;
}
function positionMisfits(context: Context, next: Position): string[] {
  const fields = unknownGroup(context);
  for (const [name, methods] of Object.entries(OWN)) {
    const value = context.body[name];
    if (value !== undefined && value !== null && !methods.includes(next.votingMethod)) fields.push(name);
  }
  if (next.minSelections !== null && next.maxSelections !== null && next.minSelections > next.maxSelections)
    fields.push('minSelections', 'maxSelections');
  if (next.scoreMin !== null && next.scoreMax !== null && next.scoreMin >= next.scoreMax)
    fields.push('scoreMin', 'scoreMax');
  const topUp = context.body['quadraticTopUp'];
  if (kit.isObject(topUp) && !currencyFits(context.event, topUp['currency']))
    fields.push('quadraticTopUp', 'quadraticTopUp.currency');
  return fields;
}
/** What the service filled in where nothing was said. */
function learn(position: Position, answer: unknown): void {
  const data = at(answer, 'data');
  position.id = kit.text(at(data, 'id'));
  for (const name of ['sortOrder', 'minSelections'] as const)
    if (position[name] === null) position[name] = (at(data, name) as number | null) ?? null;
  if (kit.isObject(at(data, 'quadraticTopUp'))) position.quadraticTopUp = at(data, 'quadraticTopUp') as Json;
}
export function createPosition(_: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  const next = writtenPosition(blankPosition(body['votingMethod'] as Method), body);
  const refusals: Expected[] = [];
  const fields = positionMisfits(context, next);
  if (fields.length > 0) refusals.push(unfit(fields));
  refusals.push(...changeRefusals(event, now));
  if (refusals.length > 0) return refusals;
  const done = ok(201, positionBody(event, next), (answer) => {
    learn(next, answer);
    event.positions.push(next);
  });
  return [done, ...perhapsNotNow(event, now)];
}
/** Definition changes once somebody cast, or once the result stands. */
function changeRefusals(event: Event, now: number): Expected[] {
  if (frozen(event, now))
    return [conflict('results_final'), ...(event.everCast ? [conflict('event_has_ballots')] : [])];
  return hasBallots(event, now) ? [conflict('event_has_ballots')] : [];
}
/** Where the contract is silent: after the close, or when casts were made and dropped. */
export function perhapsNotNow(event: Event, now: number): Expected[] {
  const silent = event.everCast || statusOf(event, now) === 'closed' || event.attempts.length > 0;
  return silent ? [conflict('event_has_ballots'), conflict('event_closed'), conflict('results_final')] : [];
}
/** What a default of `maxSelections` is shown as: it follows the candidates, and can be sent back. */
export const resolvedMax = (event: Event, position: Position): number =>
  Math.max(
    1,
    event.candidates.filter((one) => one.status === 'approved' && one.positionIds.includes(position.id)).length,
  );
export function patchPosition(_: Model, context: Context): Expected[] {
  const { body, event, now, id } = context;
  const position = event.positions.find((one) => one.id === id);
  if (position === undefined) return [];
  const next = writtenPosition(position, body);
  const back = !position.ownMax && body['maxSelections'] === resolvedMax(event, position);
  if (back) Object.assign(next, { maxSelections: position.maxSelections, ownMax: position.ownMax });
  const changed = Object.keys(body).filter(
    (name) => JSON.stringify(next[name as keyof Position]) !== JSON.stringify(position[name as keyof Position]),
  );
  const refusals: Expected[] = [];
  const perhaps: Expected[] = [];
  const fields = positionMisfits(context, next);
  if (fields.length > 0) refusals.push(unfit(fields));
  if (changed.includes('seats')) perhaps.push(unfit(['seats']));
  if (changed.includes('maxSelections') || changed.includes('minSelections'))
    perhaps.push(unfit(['maxSelections', 'minSelections']));
  if (frozen(event, now)) {
    if (changed.some((one) => one !== 'description' && one !== 'sortOrder'))
      refusals.push(conflict('results_final'), conflict('event_has_ballots'));
    else if (changed.includes('sortOrder')) perhaps.push(conflict('results_final'), conflict('event_has_ballots'));
  } else if (changed.some((one) => one !== 'description')) {
    if (hasBallots(event, now)) refusals.push(conflict('event_has_ballots'));
    else perhaps.push(...perhapsNotNow(event, now));
  }
  if (body['votingMethod'] !== undefined && changed.includes('votingMethod')) {
    // Another method brings its own defaults: left to the service, and learnt.
    perhaps.push(unfit(['votingMethod', ...Object.keys(OWN)]));
    return refusals.length > 0
      ? [...refusals, ...perhaps]
      : [{ status: 200, apply: (answer) => adopt(position, answer) }, ...perhaps];
  }
  const done = ok(200, positionBody(event, next), (answer) => {
    Object.assign(position, next);
    learn(position, answer);
  });
  return refusals.length > 0 ? [...refusals, ...perhaps, wrongly(done)] : [done, ...perhaps];
}
function adopt(position: Position, answer: unknown): void {
  const data = at(answer, 'data');
  if (!kit.isObject(data)) return;
  for (const name of Object.keys(position)) if (name in data) Object.assign(position, { [name]: data[name] });
}
export function deletePosition(_: Model, { event, now, id }: Context): Expected[] {
  const refusals = changeRefusals(event, now);
  if (refusals.length > 0) return refusals;
  const gone = ok(202, undefined, () => {
    event.positions = event.positions.filter((one) => one.id !== id);
    for (const candidate of event.candidates) candidate.positionIds = candidate.positionIds.filter((one) => one !== id);
    event.candidates = event.candidates.filter((one) => one.positionIds.length > 0);
  });
  const used = event.candidates.some((one) => one.positionIds.includes(id));
  return [
    gone,
    ...perhapsNotNow(event, now),
    ...(used || statusOf(event, now) === 'open' ? [refuse(409, 'conflict')] : []),
  ];
}
