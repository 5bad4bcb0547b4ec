import type { z } from 'zod';
import type { Database, Executor } from '#src/database/client.ts';
import type { IsFaulty, SoundParts } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { createCandidateBody, updateCandidateBody } from './candidate.ts';
import { roleMessage } from './definition-links.ts';
import { groupIssues } from './record-ballot-change.ts';
import { listPositions } from './repository.ts';
import type { Candidate, Position, ReferendumRole } from './types.ts';

/** The fields of a candidate that refer to other rows of the event. */
interface CandidateLinks {
  readonly positionIds: readonly (string | undefined)[];
  readonly groupId: string | null | undefined;
  /** Undefined if the role is not to be checked. */
  readonly referendumRole: ReferendumRole | null | undefined;
}

/** An issue for each ID that is not a position of the event. */
function positionIssues(positionIds: readonly (string | undefined)[], positions: readonly Position[]): Issue[] {
  const known = new Set(positions.map(({ id }) => id));
  return positionIds.flatMap((id, index) =>
    id === undefined || known.has(id)
      ? []
      : [{ field: `positionIds[${index}]`, message: 'is not a position of this event' }],
  );
}

/** The issue of a missing or needless role: a candidate has a role if, and only if, it stands for a referendum. */
function roleIssues({ referendumRole: role, positionIds }: CandidateLinks, positions: readonly Position[]): Issue[] {
  if (role === undefined) return [];
  const isNeeded = positions.some(({ votingMethod, id }) => votingMethod === 'referendum' && positionIds.includes(id));
  return (role !== null) === isNeeded ? [] : [{ field: 'referendumRole', message: roleMessage(isNeeded) }];
}

/** Issues of a candidate's references to other rows of the event. */
export async function candidateIssues(executor: Executor, eventId: string, links: CandidateLinks): Promise<Issue[]> {
  const positions = await listPositions(executor, eventId);
  return [
    ...positionIssues(links.positionIds, positions),
    ...(await groupIssues(executor, eventId, links.groupId)),
    ...roleIssues(links, positions),
  ];
}

/**
 * Issues of a registration's references to rows of the event. A referendum takes no registrations: only the organizer may set
 * what a choice means (yes, no, abstain), and a choice needs a meaning.
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

/** The references to check in a change. Stored positions and role are included if one of them changes or the candidate is approved. */
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

/** Checks the well-formed values of a new candidate even if the body's shape is refused, so that one answer names all faults. */
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
