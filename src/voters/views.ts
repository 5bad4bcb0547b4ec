import { microToNumber } from '#src/platform/decimal.ts';
import type { Voter } from './types.ts';
import type { RegisteredVoterView, VoterView } from './view-schemas.ts';

/** The status that organizers see: an approval by a first key follows the disclosure of the vote (completions 5.6). */
export const shownStatusOf = ({ approvedByKey, disclosed, status }: Voter): Voter['status'] =>
  approvedByKey && !disclosed ? 'pending' : status;

/** The organizer's shape of a voter (completions 3). */
export function viewVoter(voter: Voter): VoterView {
  return {
    id: voter.id,
    votingEventId: voter.votingEventId,
    name: voter.name,
    email: voter.email,
    voterId: voter.voterId,
    groupId: voter.groupId,
    weight: microToNumber(voter.weightMicro),
    status: shownStatusOf(voter),
    hasVoted: voter.hasVoted && voter.disclosed,
    source: voter.source,
    keyStatus: voter.keyStatus === 'used' && !voter.disclosed ? 'sent' : voter.keyStatus,
    createdAt: voter.createdAt,
    updatedAt: voter.updatedAt,
  };
}

/** What a voter's own server gets back after registering (contract, "Registered voter"). */
export function viewRegisteredVoter(voter: Voter): RegisteredVoterView {
  return {
    id: voter.id,
    name: voter.name,
    email: voter.email,
    voterId: voter.voterId,
    status: voter.status,
    weight: microToNumber(voter.weightMicro),
  };
}
