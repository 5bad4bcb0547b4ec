import type { z } from 'zod';
import type { Database, Executor } from '#src/database/client.ts';
import type { IsFaulty, SoundParts } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { createPositionBody, updatePositionBody } from './position.ts';
import { settingIssues } from './position-settings.ts';
import { groupIssues, sentOnly, type TopUpDeps, topUpIssues } from './record-ballot-change.ts';
import type { Position } from './types.ts';

type PositionBody = z.output<typeof updatePositionBody>;

/**
 * Issues of a position's settings that the schema of the body cannot find.
 * @param before the position before the change; undefined for a new one
 * @param isFaulty whether a field was sent in a wrong form; such a field is not compared with other fields
 */
export async function positionBodyIssues(
  executor: Executor,
  deps: Pick<TopUpDeps, 'pricing'>,
  event: VotingEvent,
  before: Position | undefined,
  body: PositionBody,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const method = body.votingMethod ?? before?.votingMethod;
  return [
    ...(await groupIssues(executor, event.id, body.groupId)),
    ...(await topUpIssues(executor, deps, event, body.quadraticTopUp)),
    ...(method === undefined ? [] : settingIssues(method, sentOnly(body), before, isFaulty)),
  ];
}

/** The settings of a refused body that can still be checked; an object with a faulty part is left out. */
export const soundPosition = (
  { rules, majorityRequired, quadraticTopUp, ...sent }: SoundParts<PositionBody>,
  isFaulty: IsFaulty,
): PositionBody =>
  ({
    ...sent,
    ...(isFaulty('rules') ? {} : { rules }),
    ...(isFaulty('majorityRequired') ? {} : { majorityRequired }),
    ...(isFaulty('quadraticTopUp') ? {} : { quadraticTopUp }),
  }) as PositionBody;

/** Checks the well-formed values of a new position even if the body's shape is refused, so that one answer names all faults. */
export async function judgePositionParts(
  deps: Pick<TopUpDeps, 'pricing'> & { readonly db: Database },
  event: VotingEvent,
  sent: SoundParts<z.output<typeof createPositionBody>>,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  return positionBodyIssues(deps.db, deps, event, undefined, soundPosition(sent, isFaulty), isFaulty);
}
