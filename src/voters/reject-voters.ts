import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { refuse } from '#src/http/refusals.ts';
import { type BulkChange, lockForChange, requireOwn } from '#src/voting-events/guard-change.ts';
import { requirePhase } from '#src/voting-events/lifecycle.ts';
import { countRollChanges } from '#src/voting-events/repository.ts';
import { aboutOf } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { listVotersByIds, storeStandings, updateVoters } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import type { VoterDeps } from './take-rows.ts';
import { viewVoter } from './voter.ts';
import { endKeys } from './voter-key.ts';
import { isChangeable, nextGeneration, renewedTag } from './voter-tag.ts';

/**
 * Rejects voters, all or none, by the rules of a single change of status. Skips voters who are rejected already.
 * @throws ApiError 422 naming each unknown ID; 409 `event_has_ballots` if a voter has voted, `event_closed`
 */
export const rejectVoters: BulkChange<VoterDeps> = async (tx, deps, organizer, ids) => {
  const event = await lockForChange(tx, organizer.event.id);
  const named = requireOwn('voter', ids, await listVotersByIds(tx, event.id, ids));
  const rows = named.filter(({ status }) => status !== 'rejected');
  if (rows.length === 0) return 0;
  const areGenuine = rows.every((row) => isChangeable(deps.secrets, event, row));
  // Ask this only if no other refusal follows: that refusal, which leaves no audit record, would show that the voters have not voted.
  const isFixed = async (): Promise<boolean> => areGenuine && rows.some(({ hasVoted }) => hasVoted);
  await requirePhase('change_standing', event, event.lockedAt, isFixed);
  // The change would give a forged row a new, valid tag.
  if (!areGenuine) throw refuse('rows_disagree');
  const changed = rows.map(({ id }) => id);
  await endKeys(tx, event.id, changed);
  const change = {
    status: 'rejected',
    approvedByKey: false,
    keyStatus: 'none',
    keyUsed: false,
    updatedAt: event.lockedAt,
  } as const;
  await updateVoters(tx, event.id, changed, change);
  const changes = rows.map((before) => {
    const after = { ...before, ...change, keyGeneration: nextGeneration(before.keyGeneration, true) };
    return { before, after: { ...after, tag: renewedTag(deps.secrets, before, after) } };
  });
  const standings = changes.map(({ after }) => after);
  await storeStandings(tx, event.id, standings, event.lockedAt);
  await noteChanges(tx, deps.secrets, event, changes);
  await countRollChanges(tx, deps.secrets, event, { roll: rows.length });
  const rejected = rows.map((row) => viewVoter({ ...row, ...change }));
  await publish(tx, deps, aboutOf(event), 'voter.updated', rejected);
  const after = { count: rows.length, voterIds: changed };
  await recordChange(tx, deps, changeBy(organizer, 'voters.rejected', event.id, { after }));
  return rows.length;
};
