import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { ConfirmedBallot } from '#src/ballots/ballot.ts';
import { readChoices } from '#src/ballots/ballot-encoding.ts';
import {
  type BallotOpening,
  ballotCommitment,
  ballotLeaf,
  ballotOpening,
  type CommittedVote,
  encodeLeaf,
} from './leaf.ts';

/** The content to which a ballot's leaf commits. With the salt, it suffices to recompute the commitment. */
export function openingOf(definition: BallotDefinition, ballot: ConfirmedBallot): BallotOpening {
  const votes = readChoices(definition, ballot.entries).map(
    ({ position, candidate, kind, value }): CommittedVote => ({
      positionId: position.id,
      candidateId: candidate.id,
      ...(kind === 'rank' ? { rank: value } : {}),
      ...(kind === 'value' ? { value } : {}),
    }),
  );
  return ballotOpening(votes, ballot.weightMicro);
}

/** The data of a ballot's leaf. It cannot change after the confirm: the definition is frozen, and numbers are never reused. */
export function leafDataOf(definition: BallotDefinition, ballot: ConfirmedBallot): Buffer {
  const commitment = ballotCommitment(ballot.salt, openingOf(definition, ballot));
  return encodeLeaf(ballotLeaf(definition.event.id, commitment, ballot.codeTag));
}
