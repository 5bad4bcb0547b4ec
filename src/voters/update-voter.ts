import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import { listGroupIds } from '#src/ballot-paper/list-group-ids.ts';
import { type Transaction, violatedConstraint } from '#src/database/client.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { conflict, invalidField, notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { lockForChange } from '#src/voting-events/guard-change.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import type { VoterDeps } from './create-voters.ts';
import { findVoter, hasBallot, type NewVoter, updateVoter } from './repository.ts';
import type { updateVoterBody } from './schemas.ts';
import type { Voter } from './types.ts';
import { viewVoter } from './views.ts';

type Body = z.output<typeof updateVoterBody>;

function columnsOf(body: Body): Partial<NewVoter> {
  return {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.email === undefined
      ? {}
      : { email: body.email, emailKey: body.email === null ? null : emailKey(body.email) }),
    ...(body.voterId === undefined ? {} : { voterId: body.voterId, voterIdKey: body.voterId }),
    ...(body.groupId === undefined ? {} : { groupId: body.groupId }),
    ...(body.weight === undefined ? {} : { weightMicro: body.weight }),
    ...(body.status === undefined ? {} : { status: body.status }),
  };
}

/** Changes a voter. @throws ApiError 404; 409 `event_has_ballots` for the weight and group of one who voted, 409 for a duplicate; 422 */
export async function changeVoter(
  tx: Transaction,
  deps: VoterDeps,
  organizer: Organizer,
  id: string,
  body: Body,
): Promise<Voter> {
  const event = await lockForChange(tx, organizer.event.id);
  const before = await findVoter(tx, event.id, id);
  if (before === undefined) throw notFound();
  const email = body.email === undefined ? before.email : body.email;
  const voterId = body.voterId === undefined ? before.voterId : body.voterId;
  if (voterId === null && event.requireVoterId)
    throw invalidField('voterId', 'is required: this event requires voter IDs');
  if (voterId === null && email === null) throw invalidField('email', 'is required where there is no voterId');
  if (body.groupId != null && !(await listGroupIds(tx, event.id)).has(body.groupId))
    throw invalidField('groupId', 'is not a group of this event');
  const moves =
    (body.weight !== undefined && body.weight !== before.weightMicro) ||
    (body.groupId !== undefined && body.groupId !== before.groupId);
  if (moves && (await hasBallot(tx, event.id, id))) {
    throw conflict(
      'event_has_ballots',
      'This voter has a ballot in the box: its weight and group can no longer be changed.',
    );
  }
  try {
    await updateVoter(tx, event.id, id, { ...columnsOf(body), updatedAt: deps.clock.now() });
  } catch (fault) {
    const constraint = violatedConstraint(fault);
    if (constraint !== 'voters_email' && constraint !== 'voters_voter_id') throw fault;
    const field = constraint === 'voters_email' ? 'email' : 'voterId';
    throw conflict('voter_exists', `${field}: is already used by another voter of this event`, { field });
  }
  const after = await findVoter(tx, event.id, id);
  if (after === undefined) throw notFound();
  await recordEvent(tx, deps, {
    type: 'voter.updated',
    data: viewVoter(after),
    change: {
      accountId: event.accountId,
      votingEventId: event.id,
      keyId: organizer.caller.keyId,
      action: 'voter.updated',
      resource: id,
      ...differenceOf(viewVoter(before), viewVoter(after)),
    },
  });
  return after;
}
