import type { z } from 'zod';
import { differenceOf } from '#src/accounts/changes.ts';
import type { Executor } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { type IsFaulty, type Judge, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import { type Issue, orNotFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import {
  changedFields,
  guardChange,
  lockForChange,
  renewBallotDefinition,
  requireNoIssues,
  takeNumber,
} from '#src/voting-events/guard-change.ts';
import type { LifeAction } from '#src/voting-events/lifecycle.ts';
import { givenOf } from '#src/voting-events/repository.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { viewCandidate } from './candidate.ts';
import { type createPositionBody, limitOf, type updatePositionBody } from './position.ts';
import { settingIssues, settle } from './position-settings.ts';
import {
  type ChangePart,
  type CreatePart,
  groupIssues,
  newRow,
  recordBallotChange,
  requireRoom,
  requireTopUp,
  type TopUpDeps,
  topUpIssues,
} from './record-ballot-change.ts';
import {
  countStanding,
  findPosition,
  forgetIdleCredits,
  insertPosition,
  isPaidFor,
  takeStrayRoles,
  updatePosition,
} from './repository.ts';
import type { Position } from './types.ts';

type NewPosition = z.output<typeof createPositionBody>;
type Body = z.output<typeof updatePositionBody>;

/**
 * Issues of a position's settings that the schema of the body cannot find.
 * @param before the position before the change; undefined for a new one
 * @param isFaulty whether a field was sent in a wrong form; such a field is not compared with other fields
 */
async function positionBodyIssues(
  executor: Executor,
  deps: Pick<TopUpDeps, 'pricing'>,
  event: VotingEvent,
  before: Position | undefined,
  body: Body,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const method = body.votingMethod ?? before?.votingMethod;
  return [
    ...(await groupIssues(executor, event.id, body.groupId)),
    ...(await topUpIssues(executor, deps, event, body.quadraticTopUp)),
    ...(method === undefined ? [] : settingIssues(method, givenOf(body), before, isFaulty)),
  ];
}

/** The settings of a refused body that can still be checked; an object with a faulty part is left out. */
const soundPosition = (
  { rules, majorityRequired, quadraticTopUp, ...sent }: SoundParts<Body>,
  isFaulty: IsFaulty,
): Body =>
  ({
    ...sent,
    ...(isFaulty('rules') ? {} : { rules }),
    ...(isFaulty('majorityRequired') ? {} : { majorityRequired }),
    ...(isFaulty('quadraticTopUp') ? {} : { quadraticTopUp }),
  }) as Body;

type JudgeDeps = Pick<Deps, 'pricing' | 'db'>;

/** Checks the well-formed values of a new position even if the body's shape is refused, so that one answer names all faults. */
export const judgePositionParts =
  (deps: JudgeDeps): Judge<Organizer, NewPosition> =>
  ({ event }, sent, isFaulty) =>
    positionBodyIssues(deps.db, deps, event, undefined, soundPosition(sent, isFaulty), isFaulty);

/** Adds a position. @throws ApiError 422 for settings of another method; 409 `event_has_ballots`, `results_final`; 422 `plan_limit` */
export const createPosition: CreatePart<Position, NewPosition, TopUpDeps> = async (tx, deps, organizer, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  const { id: eventId, lockedAt: nowMs } = event;
  requireTopUp(deps, organizer, body.quadraticTopUp);
  requireNoIssues(await positionBodyIssues(tx, deps, event, undefined, body, NOTHING_FAULTY));
  const settings = settle(body.votingMethod, givenOf(body), undefined);
  await guardChange(tx, event, 'change_ballot_rules');
  const count = await requireRoom(tx, 'positions', eventId);
  const position = await insertPosition(tx, {
    ...body,
    ...settings,
    ...newRow(deps, event, 'positions'),
    number: await takeNumber(tx, eventId, 'position'),
    sortOrder: body.sortOrder ?? count,
    tieBreak: body.tieBreak ?? 'joint',
  });
  await renewBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'position.created', position.id, {
    after: { title: position.title, votingMethod: position.votingMethod },
  });
  return position;
};

/** The action in `LIFE` that decides when a field may change. Titles are ballot rules, because swapping two titles swaps two results. */
const actionOf = (field: keyof Body): LifeAction => (field === 'description' ? 'change_words' : 'change_ballot_rules');

/** Changes a position. @throws ApiError 404; 422; 409 if the event's phase forbids the change (`LIFE` in voting-events/lifecycle.ts) */
export const changePosition: ChangePart<Position, Body, TopUpDeps> = async (tx, deps, organizer, id, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  const { id: eventId, lockedAt: nowMs } = event;
  const before = orNotFound(await findPosition(tx, eventId, id));
  const changed = await changedOf(tx, before, givenOf(body));
  requireTopUp(deps, organizer, changed.quadraticTopUp);
  requireNoIssues(await positionBodyIssues(tx, deps, event, before, changed, NOTHING_FAULTY));
  const settings = settle(changed.votingMethod ?? before.votingMethod, changed, before);
  if (Object.keys(changed).length === 0) return before;
  const actions = new Set((Object.keys(changed) as (keyof Body)[]).map(actionOf));
  for (const action of actions) await guardChange(tx, event, action);
  if (actions.has('change_ballot_rules') && (await isPaidFor(tx, eventId, [id]))) throw refuse('paid_registration');
  const after = await updatePosition(tx, eventId, id, { ...changed, ...settings, updatedAt: nowMs });
  if (changed.votingMethod !== undefined) {
    const strayed = await takeStrayRoles(tx, eventId, nowMs);
    await publish(tx, deps, aboutOf(event), 'candidate.updated', strayed.map(viewCandidate));
  }
  if (after.quadraticBaseCreditBudget !== before.quadraticBaseCreditBudget) await forgetIdleCredits(tx, eventId);
  await renewBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'position.updated', id, differenceOf(before, after));
  return after;
};

/**
 * The fields of a body that change the position. A stored null of `maxSelections` is shown as the number of candidates: sending that
 * number back is no change.
 */
async function changedOf(executor: Executor, before: Position, sent: ReturnType<typeof givenOf<Body>>) {
  if (sent.maxSelections === null) return changedFields(sent, before);
  const limit = before.maxSelections ?? limitOf(before, await countStanding(executor, before.votingEventId));
  return changedFields(sent, { ...before, maxSelections: limit });
}

/** Checks the well-formed values of a change even if the body's shape is refused, so that one answer names all faults. */
export const judgeChangeParts =
  (deps: JudgeDeps): Judge<Organizer & { readonly row: Position }, Body> =>
  async ({ event, row }, sent, isFaulty) => {
    const changed = await changedOf(deps.db, row, givenOf(soundPosition(sent, isFaulty)));
    return isFaulty('votingMethod')
      ? groupIssues(deps.db, event.id, changed.groupId)
      : positionBodyIssues(deps.db, deps, event, row, changed, isFaulty);
  };
