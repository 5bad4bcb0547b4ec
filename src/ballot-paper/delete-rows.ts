import type { Transaction } from '#src/database/client.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { lockForChange, renewPaper, requireNoBallots } from '#src/voting-events/guard-change.ts';
import { announce } from '#src/webhooks/record-event.ts';
import { type PaperDeps, recordPaperChange } from './paper-change.ts';
import { REMOVE_DELETED_ROWS } from './remove-deleted-rows.ts';
import {
  findCandidate,
  findGroup,
  findPosition,
  leaveGroup,
  updateCandidate,
  updateGroup,
  updatePosition,
  withdrawPosition,
} from './repository.ts';
import type { Candidate } from './types.ts';
import { viewCandidate } from './views.ts';

const hasNoPosition = ({ positionIds }: Candidate): boolean => positionIds.length === 0;
const viewDeleted = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, name });

/**
 * Queues the deletion of a position, candidate or group (202): marked, and so gone for every reader, in this transaction;
 * removed by a job within seconds. Candidates that stood for a deleted position only are deleted with it; receivers
 * are told of them, and of those that lost a position or their group.
 * @throws ApiError 404, 409 `event_has_ballots` once a ballot was cast
 */
export async function queueDeletion(
  tx: Transaction,
  deps: PaperDeps,
  organizer: Organizer,
  kind: 'positions' | 'candidates' | 'groups',
  id: string,
): Promise<void> {
  const eventId = organizer.event.id;
  const about = { accountId: organizer.event.accountId, votingEventId: eventId };
  await lockForChange(tx, eventId);
  const deletedAt = deps.clock.now();
  const find = { positions: findPosition, candidates: findCandidate, groups: findGroup }[kind];
  const row = await find(tx, eventId, id);
  if (row === undefined) throw notFound();
  await requireNoBallots(tx, eventId);
  if (kind === 'positions') {
    await updatePosition(tx, eventId, id, { deletedAt });
    const touched = await withdrawPosition(tx, eventId, id, deletedAt);
    const [along, left] = [touched.filter(hasNoPosition), touched.filter((candidate) => !hasNoPosition(candidate))];
    if (along.length > 0) await enqueue(tx, REMOVE_DELETED_ROWS, { kind: 'candidates', eventId });
    await announce(tx, deps, about, 'candidate.deleted', along.map(viewDeleted));
    await announce(tx, deps, about, 'candidate.updated', left.map(viewCandidate));
  } else if (kind === 'candidates') {
    await updateCandidate(tx, eventId, id, { deletedAt });
  } else {
    await updateGroup(tx, eventId, id, { deletedAt, nameKey: null });
    const touched = await leaveGroup(tx, eventId, id, deletedAt);
    await announce(tx, deps, about, 'candidate.updated', touched.map(viewCandidate));
  }
  await enqueue(tx, REMOVE_DELETED_ROWS, { kind, eventId });
  await renewPaper(tx, eventId, deletedAt);
  const told =
    kind === 'candidates' && 'name' in row
      ? ({ type: 'candidate.deleted', data: viewDeleted(row) } as const)
      : undefined;
  await recordPaperChange(tx, deps, organizer, `${kind.slice(0, -1)}.deleted`, id, {}, told);
}
