import type { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import { mailWords } from '#src/mail/mail-words.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { guardChange, lockForChange, renewBallotDefinition, takeNumber } from '#src/voting-events/guard-change.ts';
import { type createCandidateBody, viewCandidate } from './candidate.ts';
import { candidateIssues } from './candidate-issues.ts';
import {
  type BallotChangeDeps,
  isStanding,
  recordBallotChange,
  requireNoIssues,
  requireRoomForCandidate,
} from './record-ballot-change.ts';
import { insertCandidate, listBareReferendums } from './repository.ts';
import type { Candidate } from './types.ts';

/** Adds an organizer's candidate, by default as `approved`. @throws ApiError 422; 409 `results_final`; 422 `plan_limit` */
export async function createCandidate(
  tx: Transaction,
  deps: BallotChangeDeps,
  organizer: Organizer,
  body: z.output<typeof createCandidateBody>,
): Promise<Candidate> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const { positionIds, groupId, referendumRole = null } = body;
  requireNoIssues(await candidateIssues(tx, eventId, { positionIds, groupId, referendumRole }));
  await guardChange(tx, event, 'change_names');
  const status = body.status ?? 'approved';
  const count = await requireRoomForCandidate(tx, eventId, { source: 'organizer', stands: isStanding(status) });
  const nowMs = event.lockedAt;
  const candidate = await insertCandidate(tx, {
    votingEventId: eventId,
    id: deps.ids.sortable('cnd'),
    number: await takeNumber(tx, eventId, 'candidate'),
    name: body.name,
    description: body.description ?? null,
    email: body.email ?? null,
    positionIds: body.positionIds,
    groupId: body.groupId ?? null,
    referendumRole: body.referendumRole ?? null,
    avatarUrl: body.avatarUrl ?? null,
    status,
    source: 'organizer',
    sortOrder: body.sortOrder ?? count,
    createdAt: nowMs,
    updatedAt: nowMs,
  });
  await renewBallotDefinition(tx, eventId, nowMs);
  const after = { name: candidate.name, positionIds: candidate.positionIds };
  const told = { type: 'candidate.created', data: viewCandidate(candidate) } as const;
  await recordBallotChange(tx, deps, organizer, 'candidate.created', candidate.id, { after }, told);
  return candidate;
}

/** Gives Yes, No and Abstain, in the event's language, to each referendum that has no candidate on the ballot. */
export async function giveOptions(tx: Transaction, deps: BallotChangeDeps, organizer: Organizer): Promise<void> {
  const { options } = mailWords(organizer.event.language);
  for (const positionId of await listBareReferendums(tx, organizer.event.id)) {
    for (const referendumRole of ['yes', 'no', 'abstain'] as const) {
      const body = { name: options[referendumRole], positionIds: [positionId], referendumRole };
      await createCandidate(tx, deps, organizer, body);
    }
  }
}
