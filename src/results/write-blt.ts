import type { BallotDefinition, BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import { unpackEntries } from '#src/ballots/ballot-encoding.ts';
import { listBallotWeights } from '#src/ballots/box.ts';
import { openBallot } from '#src/ballots/waiting-ballot.ts';
import type { Database } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { greatestCommonDivisor } from '#src/platform/decimal.ts';
import { badRequest, orNotFound } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { readRecordMoment, readRecords, showsWeights } from './repository.ts';

/** The position to export. @param event its current row @throws ApiError 404; 400 if it has no rankings; 403 `openings_not_available` */
export function requireRankedPosition(
  definition: BallotDefinition,
  { finalAt }: Pick<VotingEvent, 'finalAt'>,
  positionId: string,
): BallotPosition {
  const position = orNotFound(definition.positions.find(({ id }) => id === positionId));
  if (position.votingMethod !== 'ranked_choice')
    throw badRequest('The query parameter positionId must name a position of the method ranked_choice.', {
      field: 'positionId',
    });
  if (finalAt === null) throw refuse('openings_before_final');
  return position;
}

/** The unit of weights in BLT, which has only whole numbers. @throws ApiError 409 `weights_kept_back` if a weight would identify a voter */
export async function weightUnit(db: Database, definition: BallotDefinition): Promise<bigint> {
  const weights = await listBallotWeights(db, definition.event.id);
  // If all weights are equal, they identify no voter.
  if (weights.length <= 1) return weights[0] ?? 1n;
  if (!(await showsWeights(db, definition))) throw refuse('weights_kept_back');
  return weights.reduce(greatestCommonDivisor, 0n);
}

/** Replaces double quotes, which the format cannot express within quotes. */
const quoted = (text: string): string => `"${text.replaceAll('"', "'")}"`;

/**
 * The ballots of a ranked position as BLT, a format of counting programs: one line for each ballot, in log order. Candidates are numbered
 * by the list at the end, ranks have no gaps, and a minus precedes withdrawn candidates. An abstention is a ballot without a choice. A
 * ballot to which the position was not open is left out.
 */
export async function* writeBlt(
  { db, secrets }: { readonly db: Database; readonly secrets: Secrets },
  definition: BallotDefinition,
  position: BallotPosition,
): AsyncGenerator<string> {
  const { event } = definition;
  const unit = await weightUnit(db, definition);
  const moment = await readRecordMoment(db, event.id);
  const candidates = position.everCandidates;
  const placeOf = new Map(candidates.map(({ number }, index) => [number, index + 1]));
  yield `${candidates.length} ${position.seats}\n`;
  const withdrawn = candidates.flatMap(({ status }, index) => (status === 'withdrawn' ? [`-${index + 1}`] : []));
  if (withdrawn.length > 0) yield `${withdrawn.join(' ')}\n`;
  for await (const ballots of readRecords(db, event.id, moment)) {
    for (const { codeTag, entries, weightMicro } of ballots) {
      const own = unpackEntries(openBallot(secrets, event, codeTag, entries).entries).find(
        (packed) => packed.position === position.number,
      );
      if (own === undefined) continue;
      const ranking = own.entries
        .toSorted((one, other) => one.value - other.value)
        .map(({ candidate }) => placeOf.get(candidate));
      yield `${[weightMicro / unit, ...ranking, 0].join(' ')}\n`;
    }
  }
  yield '0\n';
  for (const { name } of candidates) yield `${quoted(name)}\n`;
  const mark = event.rehearsalSince === null ? '' : 'Rehearsal: ';
  yield `${quoted(`${mark}${event.title}: ${position.title}`)}\n`;
}
