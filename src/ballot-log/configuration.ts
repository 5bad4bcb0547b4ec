import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { candidateView } from '#src/ballot-definition/candidate.ts';
import { positionView } from '#src/ballot-definition/position.ts';
import { listShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { Pauses } from '#src/platform/pauses.ts';
import { votingEventView } from '#src/voting-events/voting-event.ts';

/** Everything that a ballot and its count depend on, as the `open` and `config` leaves bind it. */
export const configurationView = z
  .object({
    v: z.literal(2),
    ...votingEventView.pick({ title: true, type: true, startsAt: true, endsAt: true }).shape,
    voter: votingEventView.shape.voter.omit({ pollIdentity: true }),
    ballot: votingEventView.shape.ballot.omit({ candidateOrder: true }),
    repeatVotes: z.boolean(),
    positions: listShape(
      positionView.omit({ votingEventId: true, description: true, sortOrder: true, createdAt: true, updatedAt: true }),
    ),
    candidates: listShape(
      candidateView.pick({
        id: true,
        name: true,
        positionIds: true,
        referendumRole: true,
        status: true,
        sortOrder: true,
      }),
    ),
  })
  .meta({
    id: 'LogConfiguration',
    description:
      'What the last `open` or `config` leaf binds by its hash: positions and candidates in the order of their IDs.',
    examples: [
      {
        v: 2,
        title: 'Board of the reading club',
        type: 'election',
        startsAt: EXAMPLE.openedAt,
        endsAt: EXAMPLE.closesAt,
        voter: { requireVoterId: false, selfRegistration: true, approval: 'automatic', saveVoterInfo: false },
        ballot: { opening: 'observer', receipt: 'inclusion' },
        repeatVotes: false,
        positions: [
          {
            id: EXAMPLE.position,
            title: 'Chair',
            votingMethod: 'plurality',
            groupId: null,
            seats: 1,
            minSelections: 1,
            maxSelections: 1,
            scoreMin: null,
            scoreMax: null,
            cumulativePointBudget: null,
            quadraticBaseCreditBudget: null,
            quadraticTopUp: null,
            tieBreak: 'joint',
            rules: null,
            majorityRequired: null,
          },
        ],
        candidates: [
          {
            id: EXAMPLE.candidate,
            name: 'Greta Lind',
            positionIds: [EXAMPLE.position],
            referendumRole: null,
            status: 'approved',
            sortOrder: 0,
          },
        ],
      },
    ],
  });
type LogConfiguration = z.output<typeof configurationView>;

const byId = (one: { readonly id: string }, other: { readonly id: string }): number => (one.id < other.id ? -1 : 1);

/**
 * What `open` and `config` leaves bind: everything that a ballot and its count depend on. Positions and candidates stand in
 * the order of their IDs; a withdrawn candidate stays, a pending or rejected one is not in it.
 */
export function configurationOf(definition: BallotDefinition): LogConfiguration {
  const { event } = definition;
  return {
    v: 2,
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
      quadraticTopUp: position.quadraticTopUp,
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
