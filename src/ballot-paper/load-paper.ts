import { findTarget } from '#src/http/find-target.ts';
import type { Clock } from '#src/platform/clock.ts';
import { notFound } from '#src/platform/errors.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import type { EventCache } from '#src/voting-events/event-cache.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import type { BallotPaper, PaperShelf } from './paper.ts';

/** The ballot of an event. @throws ApiError `not_found` where the event is gone meanwhile */
export async function requirePaper(papers: PaperShelf, event: VotingEvent): Promise<BallotPaper> {
  const paper = await papers.take(event);
  if (paper === undefined) throw notFound();
  return paper;
}

/** 404 and 403 of an operation for a vote key, with the ballot of the event. */
export const loadPublicPaper = (deps: { events: EventCache; papers: PaperShelf; clock: Clock }) =>
  findTarget(async (c) => {
    const caller = await requireVoteCaller(deps, c);
    return { ...caller, paper: await requirePaper(deps.papers, caller.event) };
  });
