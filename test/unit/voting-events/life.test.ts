import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Caller } from '#src/http/caller.ts';
import { type Organizer, ownerOf, type VoteCaller, voteCallerOf } from '#src/voting-events/access.ts';
import { LIFE, type LifeAction, type LifeAnswer, PHASES } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** What the guide calls each action of the table. */
const WORDS: Readonly<Record<LifeAction, string>> = {
  cast: 'cast a ballot',
  confirm: 'confirm a ballot that was cast before the close',
  register_voter: 'register a voter',
  register_candidate: 'register a candidate',
  open: 'open: `status: "open"`, or a later `endsAt`',
  rehearse: 'rehearse: `status: "rehearsal"`',
  close: 'close: `status: "closed"`',
  take_back: 'a `startsAt` that leads back to `draft` or `scheduled`',
  change_identity_rules: '`type`, `voter.requireVoterId`, `voter.saveVoterInfo`',
  change_settings: 'title, times and every other setting that a result shows or depends on',
  change_words:
    'descriptions, code, visibility, `contactEmail`, `language`, `votingPageUrl`, `logoUrl`, `log.open`, new groups, sponsors, webhook endpoints',
  change_ballot_rules:
    'positions, all of them but the description; candidates that are or were on the ballot: name, positions, role, group, picture, order, and their deletion; deletions of positions, and of groups with somebody in them',
  change_names:
    'the status of candidates, new candidates, everything of those that never were on the ballot; names of groups',
  add_voters: 'add voters',
  mail_voters: 'mail voters their keys, or a reminder',
  change_standing: 'a voter’s status, weight or group',
  change_identity: 'a voter’s e-mail address or voter ID',
  delete_voter: 'delete a voter',
};

/** Casts and registrations of candidates answer 403; registrations of voters, as other changes of the roll, 409. */
const CELLS: Readonly<Record<LifeAnswer, string>> = {
  yes: 'yes',
  unless_ballots: 'until a ballot depends on it, then `event_has_ballots`',
  event_not_open: '`event_not_open`',
  mails_early: '`event_not_open`, unless `beforeOpening` is true and it is scheduled and ready',
  event_closed: '`event_closed`',
  event_has_ballots: '`event_has_ballots`',
  results_final: '`results_final`',
  not_open: '`not_open`',
  was_open: '`was_open`',
  not_visible: '404',
};

test('the guide’s table of what may be done when is the table that the service decides by', () => {
  const rows = (Object.keys(LIFE) as LifeAction[]).map(
    (action) => `| ${[WORDS[action], ...PHASES.map((phase) => CELLS[LIFE[action][phase]])].join(' | ')} |`,
  );
  const guide = readFileSync(new URL('../../../docs/guides/event-life.md', import.meta.url), 'utf8');
  const table = guide.split('\n').filter((line) => line.startsWith('| '));
  expect(table.slice(1)).toEqual(rows);
});

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
