import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { codeTagOf } from './confirmation-code.ts';

/**
 * What a ballot is found by while it is pending or waits in the queue, the one that new ballots get first. In an election it
 * is a hash of the code under the key of the event: the tag that stands in the log would join a copy of these rows, which can
 * be recognised as somebody's, with the ballot that is opened later. In an event that opened before there were keys of events
 * it is one under each listed secret key. Last comes the tag of the log, which ballots had before there were keyed ones, and by
 * which those of the box are found. Polls use that one alone: their ballots carry their voter.
 * @param secrets what the ballots of the event wait under; undefined once none waits any more
 */
export function waitingTags(
  secrets: Secrets | undefined,
  event: Pick<VotingEvent, 'id' | 'type'>,
  code: string,
): Buffer[] {
  const codeTag = codeTagOf(code);
  const keyed = event.type === 'poll' ? [] : (secrets?.macs('ballot-tag', `${event.id}\n${code}`) ?? []);
  return [...keyed, codeTag];
}
