import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { ENTRY_KINDS } from '#src/ballot-definition/types.ts';
import { unpackEntries } from '#src/ballots/ballot-encoding.ts';
import type { ConfirmedBallot } from '#src/ballots/log-receipts.ts';
import {
  type BallotOpening,
  ballotCommitment,
  ballotLeaf,
  ballotOpening,
  type CommittedVote,
  encodeLeaf,
} from './leaf.ts';

/**
 * The content to which a ballot's leaf commits: its entries, with the IDs of positions and candidates, and its weight. Content and
 * salt suffice to recompute the commitment.
 */
export function openingOf(definition: BallotDefinition, ballot: ConfirmedBallot): BallotOpening {
  const votes = unpackEntries(ballot.entries).flatMap(({ position: number, entries }) => {
    const position = definition.positionByNumber.get(number);
    if (position === undefined)
      throw new Error(`a ballot names position ${number}, which the definition does not have`);
    const kind = ENTRY_KINDS[position.votingMethod];
    return entries.map(({ candidate: candidateNumber, value }): CommittedVote => {
      const candidate = definition.candidateByNumber.get(candidateNumber);
      if (candidate === undefined)
        throw new Error(`a ballot names candidate ${candidateNumber}, which the definition does not have`);
      return {
        positionId: position.id,
        candidateId: candidate.id,
        ...(kind === 'rank' ? { rank: value } : {}),
        ...(kind === 'value' ? { value } : {}),
      };
    });
  });
  return ballotOpening(votes, ballot.weightMicro);
}

/** The data of a ballot's leaf. It cannot change after the confirm: the definition is frozen, and numbers are never reused. */
export function leafDataOf(definition: BallotDefinition, ballot: ConfirmedBallot): Buffer {
  const commitment = ballotCommitment(ballot.salt, openingOf(definition, ballot));
  return encodeLeaf(ballotLeaf(definition.event.id, commitment, ballot.codeTag));
}
