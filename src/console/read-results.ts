import { desc, isNull } from 'drizzle-orm';
import type { Deps } from '#src/deps.ts';
import { ApiError } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import type { EventResults } from '#src/results/event-results.ts';
import { shownStatusAt } from '#src/voting-events/lifecycle.ts';
import { votingEvents } from '#src/voting-events/tables.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** Most events that are shown, the newest, with their first positions and candidates. */
const MOST_EVENTS = 12;
const MOST_POSITIONS = 20;
const MOST_CANDIDATES = 30;

type ResultDeps = Pick<Deps, 'reads' | 'clock' | 'definitions' | 'counting'>;

/** The results of an event as its organizer sees them now, cut short. */
export type LiveResults = Awaited<ReturnType<typeof readOne>>;

const shortPositions = (positions: EventResults['positions']) =>
  positions.slice(0, MOST_POSITIONS).map((position) => ({
    ...pick(position, ['id', 'title', 'votingMethod', 'ballots']),
    candidates: position.candidates
      .slice(0, MOST_CANDIDATES)
      .map((candidate) => pick(candidate, ['id', 'name', 'votesWon', 'weightWon', 'winner'])),
  }));

/** @returns undefined for a long count @throws ApiError if the event cannot be counted now */
async function countNow(
  { definitions, counting, clock }: ResultDeps,
  event: VotingEvent,
): Promise<EventResults | undefined> {
  const definition = await definitions.get(event);
  if (definition === undefined) return undefined;
  const { body } = await counting.answer(definition, 'organizer', clock.now());
  // A short count answers with a body `{ data }`, a long count with a stream of bytes.
  return (body as { readonly data: EventResults } | undefined)?.data;
}

async function readOne(deps: ResultDeps, event: VotingEvent) {
  const status = shownStatusAt(event, deps.clock.now());
  const head = { ...pick(event, ['id', 'code', 'title', 'type']), status };
  /** @param missing why there are no results here */
  const none = (missing: string) => ({ ...head, missing, ballots: 0, turnout: null, positions: [] });
  try {
    const results = await countNow(deps, event);
    if (results === undefined) return none('They are too long for this page: read them with the API.');
    const { ballots, turnout } = results.stats;
    return { ...head, missing: null, ballots, turnout, positions: shortPositions(results.positions) };
  } catch (fault) {
    if (fault instanceof ApiError) return none(fault.message);
    throw fault;
  }
}

export async function readResults(deps: ResultDeps) {
  const events = await deps.reads
    .select()
    .from(votingEvents)
    .where(isNull(votingEvents.deletedAt))
    .orderBy(desc(votingEvents.createdAt), desc(votingEvents.id))
    .limit(MOST_EVENTS);
  return Promise.all(events.map((event) => readOne(deps, event)));
}
