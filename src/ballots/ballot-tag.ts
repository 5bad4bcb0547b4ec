import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { codeTagOf } from './confirmation-code.ts';

/**
 * What a ballot is found by while it is pending or waits in the queue, the one that new ballots get first. In an election it
 * is a keyed hash of the code: the tag that stands in the log would join a copy of these rows, which can be recognised as
 * somebody's, with the ballot that is opened later. Then follow those under earlier secret keys, and the tag of the log,
 * which ballots had before there were keyed ones. Polls use that one alone: their ballots carry their voter.
 */
export function waitingTags(secrets: Secrets, event: Pick<VotingEvent, 'id' | 'type'>, code: string): Buffer[] {
  const codeTag = codeTagOf(code);
  return event.type === 'poll' ? [codeTag] : [...secrets.macs('ballot-tag', `${event.id}\n${code}`), codeTag];
}
