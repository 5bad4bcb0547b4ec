import { createHash } from 'node:crypto';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { Pauses } from '#src/platform/pauses.ts';
import type { LogConfiguration } from './view-schemas.ts';

/** The version of docs/counting.md that ballots are counted by; configurations without it are of the first. */
const COUNTING_RULES = 2;

const byId = (one: { readonly id: string }, other: { readonly id: string }): number => (one.id < other.id ? -1 : 1);

/**
 * What `open` and `config` leaves bind: everything that a ballot and its count depend on. Positions and candidates stand in
 * the order of their IDs; a withdrawn candidate stays, a pending or rejected one is not in it.
 */
export function configurationOf(definition: BallotDefinition): LogConfiguration {
  const { event } = definition;
  return {
    v: 1,
    rules: COUNTING_RULES,
    title: event.title,
    type: event.type,
    startsAt: event.startsAt,
    endsAt: event.endsAt,
    voter: {
      requireVoterId: event.requireVoterId,
      selfRegistration: event.voterSelfRegistration,
      approval: event.voterApproval,
      saveVoterInfo: event.saveVoterInfo,
    },
    ballot: { opening: event.ballotOpening, receipt: event.ballotReceipt },
    repeatVotes: event.repeatVotes,
    positions: definition.positions.toSorted(byId).map((position) => ({
      id: position.id,
      title: position.title,
      votingMethod: position.votingMethod,
      groupId: position.groupId,
      seats: position.seats,
      minSelections: position.minSelections,
      maxSelections: position.selectionLimit,
      scoreMin: position.scoreMin,
      scoreMax: position.scoreMax,
      cumulativePointBudget: position.cumulativePointBudget,
      quadraticBaseCreditBudget: position.quadraticBaseCreditBudget,
      tieBreak: position.tieBreak,
      rules: position.rules === null ? null : { ...position.rules },
      majorityRequired: position.majorityRequired,
    })),
    candidates: definition.candidates
      .filter(({ status }) => status === 'approved' || status === 'withdrawn')
      .toSorted(byId)
      .map((candidate) => ({
        id: candidate.id,
        name: candidate.name,
        positionIds: [...candidate.positionIds],
        referendumRole: candidate.referendumRole,
        status: candidate.status,
        sortOrder: candidate.sortOrder,
      })),
  };
}

/** Where the candidates stand in the text. No text can hold it: a quote in one is escaped. */
const PLACE_OF_CANDIDATES = '"candidates":[]';

/**
 * The hash of the configuration as `hashOfJson` gives it, made candidate by candidate: a thousand of them in a hundred
 * positions each take a tenth of a second, in which other requests have their turn.
 */
export async function configurationHash(definition: BallotDefinition): Promise<string> {
  const { candidates, ...others } = configurationOf(definition);
  const [before = '', after = ''] = canonicalJson({ ...others, candidates: [] }).split(PLACE_OF_CANDIDATES);
  const hash = createHash('sha256').update(`${before}"candidates":[`);
  const pauses = new Pauses();
  for (const [index, candidate] of candidates.entries()) {
    hash.update(`${index === 0 ? '' : ','}${canonicalJson(candidate)}`);
    await pauses.take();
  }
  return hash.update(`]${after}`).digest('hex');
}
