import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { Batcher } from '#src/database/batcher.ts';
import { refuse } from '#src/http/refusals.ts';
import type { ApiError } from '#src/platform/errors.ts';
import {
  type CastRequest,
  type CastVerdict,
  type ConfirmRow,
  type ConfirmVerdict,
  castBallots,
  confirmBallots,
} from './repository.ts';

const MAX_ROWS = 64;
const MAX_WAITING = 2_000;
/** Events are spread over a few writers, so that one whose row is locked keeps only its neighbours waiting. */
const LANES = 4;

/** Refused before any work: the caller may come again. */
const overloaded = (): ApiError => refuse('too_many_ballots');

function createLane<Row, Verdict>(run: (rows: readonly Row[]) => Promise<Verdict[]>, keyOf: (row: Row) => string) {
  return new Batcher<Row, Verdict>({
    runTogether: run,
    async runAlone(row) {
      const [verdict] = await run([row]);
      if (verdict === undefined) throw new Error('a statement for one ballot answered none');
      return verdict;
    },
    keyOf,
    maxRows: MAX_ROWS,
    maxWaiting: MAX_WAITING,
    refusal: overloaded,
  });
}

function laneOf(eventId: string): number {
  return (createHash('md5').update(eventId).digest()[0] ?? 0) % LANES;
}

/**
 * Writes ballots that are cast and confirmed. What arrives while a statement is under way goes into the next one, so that
 * many share one wait for the disk; each keeps its own verdict, and hears it after the commit.
 */
export class BallotWriter {
  /** A statement casts ballots of elections or of polls. */
  readonly #electionCasts;
  readonly #pollCasts;
  readonly #confirms;

  constructor(pool: Pool) {
    const lanes = Array.from({ length: LANES });
    const castLane = () => createLane((rows: readonly CastRequest[]) => castBallots(pool, rows), castKey);
    this.#electionCasts = lanes.map(castLane);
    this.#pollCasts = lanes.map(castLane);
    this.#confirms = lanes.map(() =>
      createLane((rows: readonly ConfirmRow[]) => confirmBallots(pool, rows), confirmKey),
    );
  }

  cast(request: CastRequest): Promise<CastVerdict> {
    const { voter, eventId } = request.row;
    return this.#lane(voter === undefined ? this.#pollCasts : this.#electionCasts, eventId).submit(request);
  }

  confirm(row: ConfirmRow): Promise<ConfirmVerdict> {
    return this.#lane(this.#confirms, row.eventId).submit(row);
  }

  #lane<Lane>(lanes: readonly Lane[], eventId: string): Lane {
    const lane = lanes[laneOf(eventId)];
    if (lane === undefined) throw new Error('an event has a lane');
    return lane;
  }
}

/** Ballots of one participant go into separate statements: the second must see what the first did. */
function castKey({ row }: CastRequest): string {
  return `${row.eventId} ${row.voter?.identity.key ?? row.participants[0]}`;
}

function confirmKey(row: ConfirmRow): string {
  return `${row.eventId} ${row.codeTag.toString('hex')}`;
}
