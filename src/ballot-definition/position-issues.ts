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
 * What is wrong with the settings of a position beyond their form.
 * @param before the position that is changed
 * @param isFaulty names what was sent in a wrong form: it contradicts nothing
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

/** The settings that can still be judged in a body whose shape was refused; of those that are objects, only whole ones. */
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

/** Also judges the values of a new position whose shape was refused, so that one answer names all faults. */
export async function judgePositionParts(
  deps: Pick<TopUpDeps, 'pricing'> & { readonly db: Database },
  event: VotingEvent,
  sent: SoundParts<z.output<typeof createPositionBody>>,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  return positionBodyIssues(deps.db, deps, event, undefined, soundPosition(sent, isFaulty), isFaulty);
}
