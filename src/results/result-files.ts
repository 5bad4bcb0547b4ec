import { csvCell } from '#src/platform/csv.ts';
import { pick } from '#src/platform/pick.ts';
import { jsonPieces } from '#src/platform/stream-text.ts';
import type { PositionResult, Round, TieDecision } from '#src/tally/position-result.ts';
import type { EventResults } from './event-results.ts';

const COLUMNS = [
  ...(['record', 'positionId', 'position', 'round', 'item', 'candidateId', 'candidate'] as const),
  ...(['toCandidateId', 'toCandidate', 'votes', 'weight', 'value'] as const),
];
type Cell = string | number | boolean | null;
/** One row of the table. Columns that do not apply to its kind of `record` stay empty. */
type Row = { readonly record: string } & { readonly [Column in (typeof COLUMNS)[number]]?: Cell };

const line = (row: Row): string =>
  `${COLUMNS.map((column) => csvCell(row[column], column === 'weight' || column === 'value')).join(',')}\r\n`;

function* eventRows(results: EventResults): Generator<Row> {
  const { stats, log, lot } = results;
  const figures = {
    ...(results.rehearsal === undefined ? {} : { rehearsal: results.rehearsal }),
    ...pick(results, ['votingEventId', 'title', 'final']),
    asOf: new Date(results.asOf).toISOString(),
    ...pick(stats, ['ballots', 'totalVotes', 'abstentions', 'electorate', 'turnout']),
    ...pick(stats, ['identityChanges', 'rollChanges', 'lettersPrinted']),
    logSize: log.size,
    logRootHash: log.rootHash,
    lotSeedHash: lot.seedHash,
    lotSeed: lot.seed,
    lotRoot: lot.root,
  };
  for (const [item, value] of Object.entries(figures)) yield { record: 'event', item, value };
}

type Place = Pick<Row, 'positionId' | 'position'>;

function* tieRows(place: Place, tie: TieDecision | null, names: ReadonlyMap<string, string>, round?: number) {
  for (const candidateId of tie?.candidateIds ?? []) {
    const candidate = names.get(candidateId) ?? '';
    const at = round === undefined ? place : { ...place, round };
    yield { record: 'tie', ...at, item: 'policy', candidateId, candidate, value: tie?.policy ?? null };
  }
}

function* roundRows(place: Place, round: Round, names: ReadonlyMap<string, string>): Generator<Row> {
  const own = { ...place, round: round.round };
  yield { record: 'round', ...own, item: 'threshold', weight: round.threshold };
  yield { record: 'round', ...own, item: 'exhausted', weight: round.exhausted };
  yield { record: 'round', ...own, item: 'roundingLoss', weight: round.roundingLoss };
  if (round.others !== null) {
    const { candidates, votesWon, weightWon } = round.others;
    yield { record: 'round', ...own, item: 'others', votes: votesWon, weight: weightWon, value: candidates };
  }
  if (round.provisional) yield { record: 'round', ...own, item: 'provisional', value: true };
  for (const { candidateId, votesWon, weightWon } of round.tallies) {
    const value = round.elected.includes(candidateId)
      ? 'elected'
      : round.eliminated.includes(candidateId)
        ? 'eliminated'
        : '';
    const candidate = names.get(candidateId) ?? '';
    yield { record: 'round', ...own, item: 'tally', candidateId, candidate, votes: votesWon, weight: weightWon, value };
  }
  for (const { from, to, weight } of round.transfers) {
    const target = to === null ? {} : { toCandidateId: to, toCandidate: names.get(to) ?? '' };
    const item = to === null ? 'exhausted' : 'transfer';
    yield { record: 'transfer', ...own, item, candidateId: from, candidate: names.get(from) ?? '', ...target, weight };
  }
  yield* tieRows(place, round.tie, names, round.round);
}

/** Rows of runner-up, runoff, margin, first choices, the last two candidates, and pairs. */
function* furtherRows(place: Place, result: PositionResult, names: ReadonlyMap<string, string>): Generator<Row> {
  const { runnerUp, runoff, margin, firstChoices, finalTwo, pairwise } = result;
  const one = (candidateId: string): Row => ({
    record: 'position',
    ...place,
    candidateId,
    candidate: names.get(candidateId) ?? '',
  });
  if (runnerUp !== null) yield { ...one(runnerUp), item: 'runnerUp' };
  for (const candidateId of runoff ?? []) yield { ...one(candidateId), item: 'runoff' };
  if (margin !== null)
    yield { record: 'position', ...place, item: 'margin', weight: margin.votes, value: margin.bound ?? 'exact' };
  for (const [item, tallies] of Object.entries({ firstChoices, finalTwo })) {
    for (const { candidateId, votesWon, weightWon } of tallies ?? [])
      yield { ...one(candidateId), item, votes: votesWon, weight: weightWon };
  }
  if (pairwise?.condorcetWinner != null) yield { ...one(pairwise.condorcetWinner), item: 'condorcetWinner' };
  for (const [row, candidateId] of pairwise?.candidateIds.entries() ?? []) {
    for (const [column, toCandidateId] of pairwise?.candidateIds.entries() ?? []) {
      if (row === column) continue;
      const weight = pairwise?.table[row]?.[column] ?? '0';
      const toCandidate = names.get(toCandidateId) ?? '';
      yield { ...one(candidateId), item: 'preferred', toCandidateId, toCandidate, weight };
    }
  }
}

function* positionRows(result: PositionResult): Generator<Row> {
  const place = { positionId: result.id, position: result.title };
  const names = new Map(result.candidates.map(({ id, name }) => [id, name]));
  const { votingMethod, seats, vacantSeats, totalVotes, ballots, abstentions, roundsOmitted } = result;
  const all = { votingMethod, seats, vacantSeats, totalVotes, ballots, abstentions, roundsOmitted };
  for (const [item, value] of Object.entries(all)) yield { record: 'position', ...place, item, value };
  yield* furtherRows(place, result, names);
  for (const { id, name, votesWon, weightWon, winner, tied } of result.candidates) {
    const value = [winner ? 'winner' : '', tied ? 'tied' : ''].filter((word) => word !== '').join(' ');
    const figures = { votes: votesWon, weight: weightWon, value };
    yield { record: 'candidate', ...place, candidateId: id, candidate: name, ...figures };
  }
  yield* tieRows(place, result.tie, names);
  const { referendum } = result;
  if (referendum !== null) {
    const { yes, no, abstain, electorate, outcome } = referendum;
    for (const [item, value] of Object.entries({ yes, no, abstain, electorate, outcome }))
      yield { record: 'referendum', ...place, item, value };
    for (const rule of referendum.rules) {
      const { required, actual, met } = rule;
      for (const [item, value] of Object.entries({ required, actual, met }))
        yield { record: 'rule', ...place, item: `${rule.name}.${item}`, value };
    }
  }
  for (const round of result.rounds ?? []) yield* roundRows(place, round, names);
}

/** The results as one table (RFC 4180), one figure in each row. Without the byte order mark, spreadsheets would read names as Latin-1. */
export function* writeCsv(results: EventResults): Generator<string> {
  yield `\ufeff${COLUMNS.join(',')}\r\n`;
  for (const row of eventRows(results)) yield line(row);
  for (const position of results.positions) {
    for (const row of positionRows(position)) yield line(row);
  }
}

const TABLE_COLUMNS = [
  ...['positionId', 'position', 'votingMethod', 'seats', 'ballots', 'abstentions', 'totalVotes'],
  ...['candidateId', 'candidate', 'votes', 'weight', 'winner', 'tied', 'final'],
];

/** The results as a table to filter and sort in a spreadsheet: one row for each candidate of a position, most votes first. */
function* writeTable({ positions, final, rehearsal }: EventResults): Generator<string> {
  const mark = rehearsal === undefined ? {} : { rehearsal };
  yield `\ufeff${[...TABLE_COLUMNS, ...Object.keys(mark)].join(',')}\r\n`;
  for (const { id, title, votingMethod, seats, ballots, abstentions, totalVotes, candidates } of positions) {
    const place = [id, title, votingMethod, seats, ballots, abstentions, totalVotes];
    for (const candidate of candidates.toSorted((one, other) => other.votesWon - one.votesWon)) {
      const { name, votesWon, weightWon, winner, tied } = candidate;
      const before = [...place, candidate.id, name, votesWon].map((cell) => csvCell(cell));
      const after = [winner, tied, final, ...Object.values(mark)].map((cell) => csvCell(cell));
      yield `${[...before, csvCell(weightWon, true), ...after].join(',')}\r\n`;
    }
  }
}

/** The `{ data }` of `GET …/results` in small pieces: the rounds of a position with a thousand candidates have a hundred megabytes. */
function* writeJson(data: EventResults): Generator<string> {
  yield* jsonPieces({ data }, 5);
  yield '\n';
}

export const FILES = { csv: writeCsv, table: writeTable, json: writeJson } as const satisfies Record<
  string,
  (results: EventResults) => Iterable<string>
>;
export type FileKind = keyof typeof FILES;
