import { setTimeout as delay } from 'node:timers/promises';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { conflict, orNotFound } from '#src/platform/errors.ts';
import { type CountCheck, checkCount, comparable, differencesOf, judged } from '#src/results/check-count.ts';
import { EventCounter, type ResultsAudience } from '#src/results/count-event.ts';
import type { EventResults } from '#src/results/event-results.ts';
import { findAnyEvent } from '#src/voting-events/access.ts';
import { type Answer, commandLine, type Row } from './cli.ts';

/** The running service that a count is compared with. */
interface Service {
  readonly baseUrl: string;
  readonly key: string;
}

/** Attempts to count while no ballot arrives: a count is repeated if the service's results before and after it differ. */
const CALM_ATTEMPTS = 10;
const PAUSE_MS = 200;
const LIVE_TIMEOUT_MS = 30_000;

/** Counts all ballots with a new counter, which has no cached sums. */
async function countAnew(
  deps: Deps,
  definition: BallotDefinition,
  audience: ResultsAudience = 'auditor',
): Promise<EventResults> {
  return new EventCounter(deps).results(definition, audience, deps.clock.now());
}

async function readLive({ baseUrl, key }: Service, eventId: string): Promise<unknown> {
  const url = `${baseUrl}/voting-events/${eventId}/results`;
  const answer = await fetch(url, {
    headers: { Authorization: `Bearer ${key}` },
    redirect: 'error',
    signal: AbortSignal.timeout(LIVE_TIMEOUT_MS),
  }).catch(() => undefined);
  if (answer === undefined) throw conflict('service_away', `${baseUrl} cannot be reached.`);
  if (!answer.ok) {
    await answer.body?.cancel();
    throw conflict(
      'service_refused',
      `the service answered ${answer.status}: the key must be a read key of the event's account.`,
    );
  }
  const body = (await answer.json()) as { readonly data?: object };
  return comparable({ ...body.data });
}

async function checkLive(deps: Deps, service: Service, definition: BallotDefinition): Promise<CountCheck> {
  for (let attempt = 0; attempt < CALM_ATTEMPTS; attempt += 1) {
    const before = await readLive(service, definition.event.id);
    // Counts what an organizer sees: the service hides figures that would single out a voter (completions 5.6).
    const counted = comparable(await countAnew(deps, definition, 'organizer'));
    if (differencesOf(await readLive(service, definition.event.id), before, 1).length === 0) {
      const differences = differencesOf(before, counted);
      return judged('service', differences.length === 0, 'the service gives the same result', differences.join('; '));
    }
    await delay(PAUSE_MS);
  }
  return { check: 'service', status: 'differs', detail: 'votes kept coming in while it was counted: run it again' };
}

/** Counts all ballots from scratch and compares the result. @throws ApiError 404 for an unknown event */
export async function recount(deps: Deps, reference: string, service: Service | undefined): Promise<Answer> {
  const definition = orNotFound(await deps.definitions.get(await findAnyEvent(deps.db, reference)));
  const { results, checks: inside } = await checkCount(deps, definition, () => countAnew(deps, definition));
  const checks = [...inside, ...(service === undefined ? [] : [await checkLive(deps, service, definition)])];
  const agrees = checks.every(({ status }) => status !== 'differs');
  return {
    value: { ...results, agrees, checks },
    shown: results.positions.flatMap((position) =>
      position.candidates.map(
        (one): Row => ({
          position: position.title,
          candidate: one.name,
          votes: one.votesWon,
          weight: one.weightWon,
          winner: one.winner ? (one.tied ? 'tied' : 'yes') : '',
        }),
      ),
    ),
    also: checks.map((check) => ({ ...check })),
    next: agrees
      ? []
      : [
          'Something differs. Change nothing; keep a copy of the database and this output, and compare with a backup.',
          `Seen from outside: ${commandLine(`log verify --base-url URL --event ${results.votingEventId}`)}`,
        ],
    refused: !agrees,
  };
}
