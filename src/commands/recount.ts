import type { Deps } from '#src/deps.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { checkCount } from '#src/results/check-count.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { findAnyEvent } from '#src/voting-events/access.ts';
import { type Answer, commandLine, type Row } from './cli.ts';

/** Counts all ballots from scratch and compares the result. @throws ApiError 404 for an unknown event */
export async function recount(deps: Deps, reference: string): Promise<Answer> {
  const definition = orNotFound(await deps.definitions.get(await findAnyEvent(deps.db, reference)));
  // A new counter has no sums of earlier counts.
  const { results, checks } = await checkCount(deps, definition, () =>
    new EventCounter(deps).results(definition, 'auditor', deps.clock.now()),
  );
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
