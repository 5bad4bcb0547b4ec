import type { z } from 'zod';
import type { Database, Executor } from '#src/database/client.ts';
import type { IsFaulty, SoundParts } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { createCandidateBody, updateCandidateBody } from './candidate.ts';
import { roleMessage } from './definition-links.ts';
import { groupIssues } from './record-ballot-change.ts';
import { listPositions } from './repository.ts';
import type { Candidate, Position, ReferendumRole } from './types.ts';

/** What of a candidate names other rows of the event. */
interface CandidateLinks {
  readonly positionIds: readonly (string | undefined)[];
  readonly groupId: string | null | undefined;
  /** Undefined where it is not judged. */
  readonly referendumRole: ReferendumRole | null | undefined;
}

/** Names each position that the event does not have. */
function positionIssues(positionIds: readonly (string | undefined)[], positions: readonly Position[]): Issue[] {
  const known = new Set(positions.map(({ id }) => id));
  return positionIds.flatMap((id, index) =>
    id === undefined || known.has(id)
      ? []
      : [{ field: `positionIds[${index}]`, message: 'is not a position of this event' }],
  );
}

/** A role belongs to candidates of referendums, and there only. */
function roleIssues({ referendumRole: role, positionIds }: CandidateLinks, positions: readonly Position[]): Issue[] {
  if (role === undefined) return [];
  const isNeeded = positions.some(({ votingMethod, id }) => votingMethod === 'referendum' && positionIds.includes(id));
  return (role !== null) === isNeeded ? [] : [{ field: 'referendumRole', message: roleMessage(isNeeded) }];
}

/** What is wrong with the rows of the event that a candidate names. */
export async function candidateIssues(executor: Executor, eventId: string, links: CandidateLinks): Promise<Issue[]> {
  const positions = await listPositions(executor, eventId);
  return [
    ...positionIssues(links.positionIds, positions),
    ...(await groupIssues(executor, eventId, links.groupId)),
    ...roleIssues(links, positions),
  ];
}

/**
 * What is wrong with the rows of the event that a registration names. A referendum takes none: what its choices mean is the
 * organizer's to say, and a choice without a meaning could not be voted for.
 */
export async function registrationIssues(
  executor: Executor,
  eventId: string,
  { positionIds, groupId }: Omit<CandidateLinks, 'referendumRole'>,
): Promise<Issue[]> {
  const positions = await listPositions(executor, eventId);
  const referendums = new Set(positions.flatMap(({ votingMethod, id }) => (votingMethod === 'referendum' ? [id] : [])));
  return [
    ...positionIssues(positionIds, positions),
    ...positionIds.flatMap((id, index) =>
      id === undefined || !referendums.has(id)
        ? []
        : [{ field: `positionIds[${index}]`, message: 'is a referendum, whose choices the organizer sets' }],
    ),
    ...(await groupIssues(executor, eventId, groupId)),
  ];
}

/** What a change of a candidate names. What it has already is judged again only where it comes onto the ballot. */
export function changedLinks(
  before: Candidate,
  body: SoundParts<z.output<typeof updateCandidateBody>>,
  isFaulty: IsFaulty,
): CandidateLinks {
  const stands = body.status === 'approved' && before.status !== 'approved';
  const isJudged = stands || body.positionIds !== undefined || body.referendumRole !== undefined;
  const { positionIds = before.positionIds, referendumRole = before.referendumRole, groupId } = body;
  if (!isJudged) return { positionIds: [], groupId, referendumRole: undefined };
  const isRoleKnown = !isFaulty('positionIds') && !isFaulty('referendumRole');
  return { positionIds, groupId, referendumRole: isRoleKnown ? referendumRole : undefined };
}

/** Also judges the values of a new candidate whose shape was refused, so that one answer names all faults. */
export function judgeCandidateParts(
  db: Database,
  eventId: string,
  { positionIds = [], groupId, referendumRole = null }: SoundParts<z.output<typeof createCandidateBody>>,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const isRoleKnown = !isFaulty('positionIds') && !isFaulty('referendumRole');
  return candidateIssues(db, eventId, {
    positionIds,
    groupId,
    referendumRole: isRoleKnown ? referendumRole : undefined,
  });
}
