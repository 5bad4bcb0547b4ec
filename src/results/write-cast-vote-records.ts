import type { BallotDefinition, BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import { type PackedPosition, unpackEntries } from '#src/ballots/ballot-encoding.ts';
import { openBallot } from '#src/ballots/waiting-ballot.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { greatestCommonDivisor, MICRO } from '#src/platform/decimal.ts';
import { base32 } from '#src/platform/ids.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { secrecyOf } from '#src/voting-events/lifecycle.ts';
import { COMMON_WEIGHT_HOLDERS, type RecordBallot, readRecordMoment, readRecords, showsWeights } from './repository.ts';

interface RecordSource extends Pick<Deps, 'db' | 'secrets' | 'version'> {
  readonly manufacturer: string;
  readonly newestDefinition: () => Promise<BallotDefinition>;
}

const UNIT_ID = 'unit-event';
const DEVICE_ID = 'device-service';

const selectionId = (position: number, candidate: number): string => `selection-${position}-${candidate}`;
const contestId = (position: number): string => `contest-${position}`;

const VARIATIONS = {
  plurality: 'plurality',
  approval: 'approval',
  referendum: 'majority',
  score: 'range',
  cumulative: 'cumulative',
  quadratic: 'other',
  ranked_choice: 'rcv',
} as const;

function variationOf(position: BallotPosition) {
  const { votingMethod, rules } = position;
  if (votingMethod === 'quadratic') return { VoteVariation: 'other', OtherVoteVariation: 'quadratic' };
  const threshold = rules?.threshold;
  const beyondHalf = threshold !== undefined && threshold.numerator * 2 > threshold.denominator;
  if (votingMethod === 'referendum' && beyondHalf) return { VoteVariation: 'super-majority' };
  return { VoteVariation: VARIATIONS[votingMethod] };
}

function contestOf(position: BallotPosition) {
  const referendum = position.votingMethod === 'referendum';
  const selections = position.everCandidates.map(({ id, name, number }) => ({
    '@id': selectionId(position.number, number),
    ...(referendum
      ? { '@type': 'CVR.BallotMeasureSelection', Selection: name }
      : { '@type': 'CVR.CandidateSelection', CandidateIds: [id] }),
  }));
  const common = { '@id': contestId(position.number), Name: position.title, ...variationOf(position) };
  const bounds = { NumberElected: position.seats, VotesAllowed: position.selectionLimit };
  return referendum
    ? { ...common, '@type': 'CVR.BallotMeasureContest', ContestSelection: selections }
    : { ...common, '@type': 'CVR.CandidateContest', ...bounds, ContestSelection: selections };
}

const contestsOf = (definition: BallotDefinition): BallotPosition[] =>
  definition.positions.filter((position) => position.everCandidates.length > 0);

/** Refuses an event without contests, because NIST's format needs at least one. @throws ApiError 409 `conflict`, reason `not_ready` */
export function requireContests(definition: BallotDefinition): void {
  if (contestsOf(definition).length === 0) throw refuse('no_contest');
}

function reportOf(source: RecordSource, definition: BallotDefinition, nowMs: number) {
  const { event } = definition;
  const standing = new Set(definition.positions.flatMap(({ everCandidates }) => everCandidates.map(({ id }) => id)));
  const secret = secrecyOf(event) === 'secret';
  const weights = secret
    ? `FractionalVotes are votes times the voter's weight; left out where a weight has fewer than ${COMMON_WEIGHT_HOLDERS} holders. Ballots have no identifier and no time.`
    : "FractionalVotes are votes times the voter's weight.";
  return {
    '@type': 'CVR.CastVoteRecordReport',
    Version: '1.0.0',
    GeneratedDate: new Date(nowMs).toISOString(),
    ReportGeneratingDeviceIds: [DEVICE_ID],
    ReportingDevice: [
      {
        '@id': DEVICE_ID,
        '@type': 'CVR.ReportingDevice',
        Application: `voting-service ${source.version}`,
        Manufacturer: source.manufacturer,
      },
    ],
    ReportType: ['originating-device-export'],
    Notes: `${event.rehearsalSince === null ? '' : 'A rehearsal: nothing of this counts. '}Confirmed ballots that count, in the order of the ballot log. ${weights} A contest that a ballot leaves out was not open to its voter.`,
    GpUnit: [{ '@id': UNIT_ID, '@type': 'CVR.GpUnit', Type: 'other', OtherType: 'voting event', Name: event.title }],
    Election: [
      {
        '@id': event.id,
        '@type': 'CVR.Election',
        Name: event.title,
        ElectionScopeId: UNIT_ID,
        Code: [{ '@type': 'CVR.Code', Type: 'other', OtherType: 'event code', Value: event.code }],
        Candidate: definition.candidates
          .filter(({ id }) => standing.has(id))
          .map(({ id, name }) => ({ '@id': id, '@type': 'CVR.Candidate', Name: name })),
      },
    ],
  };
}

/** The exact fraction that the format requires: `1500000n` → `3/2`. */
function fraction(micro: bigint): string {
  const divisor = greatestCommonDivisor(micro < 0n ? -micro : micro, MICRO);
  return `${micro / divisor}/${MICRO / divisor}`;
}

function contestRecord(position: BallotPosition, packed: PackedPosition, weightMicro: bigint | undefined) {
  const ranked = position.votingMethod === 'ranked_choice';
  const selections = packed.entries.map(({ candidate, value }) => {
    const votes = ranked ? 1 : value;
    const weighted =
      weightMicro === undefined || weightMicro === MICRO || votes === 0
        ? {}
        : { FractionalVotes: fraction(BigInt(votes) * weightMicro) };
    const rank = ranked ? { Rank: value } : {};
    return {
      '@type': 'CVR.CVRContestSelection',
      ContestSelectionId: selectionId(position.number, candidate),
      ...rank,
      SelectionPosition: [
        { '@type': 'CVR.SelectionPosition', HasIndication: 'yes', NumberVotes: votes, ...weighted, ...rank },
      ],
    };
  });
  const status = selections.length === 0 ? { Status: ['not-indicated'] } : {};
  return {
    '@type': 'CVR.CVRContest',
    ContestId: contestId(position.number),
    Selections: selections.length,
    ...status,
    CVRContestSelection: selections,
  };
}

function* recordOf(
  definition: BallotDefinition,
  ballot: RecordBallot,
  packed: Uint8Array,
  place: number,
  weightsShown: boolean,
): Generator<string> {
  const answered = unpackEntries(packed).flatMap((own) => {
    const position = definition.positionByNumber.get(own.position);
    if (position === undefined) throw new Error('a ballot names a position that the definition does not have');
    // The report does not list a contest without candidates.
    return position.everCandidates.length === 0 ? [] : [{ position, own }];
  });
  const snapshotId = `snapshot-${place}`;
  // In a secret event a record has no ID, only its place in the file. An ID could link it to a voter or to another list.
  const uniqueId =
    secrecyOf(definition.event) !== 'secret' ? { UniqueId: `cvr_${base32(sha256(`${ballot.id}/record`), 26)}` } : {};
  const record = {
    '@type': 'CVR.CVR',
    ElectionId: definition.event.id,
    ...uniqueId,
    CurrentSnapshotId: snapshotId,
    CVRSnapshot: [{ '@id': snapshotId, '@type': 'CVR.CVRSnapshot', Type: 'original' }],
  };
  yield JSON.stringify(record).slice(0, -'}]}'.length);
  yield ',"CVRContest":[';
  for (const [index, { position, own }] of answered.entries()) {
    const contest = contestRecord(position, own, weightsShown ? ballot.weightMicro : undefined);
    yield `${index === 0 ? '' : ','}${JSON.stringify(contest)}`;
  }
  yield ']}]}';
}

/** The cast vote records (NIST SP 1500-103) as one JSON text, in pieces. Only one chunk of the ballots is in memory at a time. */
export async function* writeCastVoteRecords(
  source: RecordSource,
  eventId: string,
  nowMs: number,
): AsyncGenerator<string> {
  const { db, secrets } = source;
  // Read the ballots before the definition, which then contains every candidate that these ballots can name.
  const moment = await readRecordMoment(db, eventId);
  const definition = await source.newestDefinition();
  // In a secret event, leave out the queue: it would show when each ballot came.
  const shown = secrecyOf(definition.event) === 'secret' ? { ...moment, queue: [] } : moment;
  const weightsShown = await showsWeights(db, definition);
  // Write contest by contest: a hundred contests of a thousand candidates each would be one text of many megabytes.
  yield JSON.stringify(reportOf(source, definition, nowMs)).slice(0, -'}]}'.length);
  yield ',"Contest":[';
  for (const [index, position] of contestsOf(definition).entries())
    yield `${index === 0 ? '' : ','}${JSON.stringify(contestOf(position))}`;
  yield ']}],"CVR":[';
  let place = 0;
  for await (const ballots of readRecords(db, eventId, shown)) {
    for (const ballot of ballots) {
      place += 1;
      const packed = openBallot(secrets, definition.event, ballot.codeTag, ballot.entries).entries;
      yield place === 1 ? '\n' : ',\n';
      yield* recordOf(definition, ballot, packed, place, weightsShown);
    }
  }
  yield ']}\n';
}
