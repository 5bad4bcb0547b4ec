import { expect, test } from 'vitest';
import type { Caller } from '#src/http/caller.ts';
import { type Organizer, ownerOf, type VoteCaller, voteCallerOf } from '#src/voting-events/access.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** The compiler reads these: a line that it takes without a complaint is one itself. */
test('keeps organizers and vote callers apart, for the compiler and for whoever asks', () => {
  const caller = { plan: 'free' } as Caller;
  const event = {} as VotingEvent;
  const change = (organizer: Organizer) => organizer.isOrganizer;
  const cast = (voter: VoteCaller) => voter.isOrganizer;
  // @ts-expect-error A vote caller changes no event.
  expect(change(voteCallerOf(caller, event))).toBeUndefined();
  // @ts-expect-error An organizer casts no ballot.
  expect(cast(ownerOf(caller, event))).toBe(true);
  expect(change(ownerOf(caller, event))).toBe(true);
  expect(cast(voteCallerOf(caller, event))).toBeUndefined();
});
