import type { PathClient } from '#sdk/index.ts';
import { type Answer, commandLine } from './cli.ts';

/** What an organizer says, the status that it sends, and what it does. */
export const STATUS_VERBS = {
  rehearse: ['rehearsal', 'vote by way of trial; nothing of it counts'],
  'end-rehearsal': ['draft', 'remove the ballots of a rehearsal; the event is a draft again'],
  open: ['open', 'take votes from now on'],
  close: ['closed', 'take no more votes; the result is final 15 minutes later'],
} as const;

/** Sets the status of an event. @throws VotingServiceError such as 409 `not_ready`, which says what is missing */
export async function setStatus(
  client: PathClient,
  verb: keyof typeof STATUS_VERBS,
  idOrCode: string,
): Promise<Answer> {
  const [status] = STATUS_VERBS[verb];
  const { data: event } = await client.patch('/voting-events/{idOrCode}', { path: { idOrCode }, body: { status } });
  const { id: votingEventId, code, title } = event;
  const look = { open: 'watch', closed: 'results pdf', rehearsal: 'watch', draft: 'event open' }[status];
  return {
    value: { votingEventId, code, title, status: event.status },
    next: [commandLine(`${look} --event ${code}`)],
  };
}
