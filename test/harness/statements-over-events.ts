/** A piece of source text in quotes, with what it puts in, and the declaration that it stands in. */
interface Literal {
  readonly owner: string;
  readonly text: string;
}

const DECLARATION = /^(?:export )?(?:async )?(?:function\*?|const|class) (\w+)/gm;

/** Where a literal ends that begins at a place. */
function endOf(source: string, from: number): number {
  const quote = source[from];
  let at = from + 1;
  for (let depth = 0; at < source.length && (depth > 0 || source[at] !== quote); at += 1) {
    // An apostrophe that quotes nothing.
    if (quote === "'" && source[at] === '\n') return from + 1;
    if (source[at] === '\\') at += 1;
    else if (depth === 0 && quote === '`' && source.startsWith('${', at)) depth = 1;
    else if (depth > 0 && (source[at] === "'" || source[at] === '`')) at = endOf(source, at) - 1;
    else if (depth > 0 && source[at] === '{' && source[at - 1] !== '$') depth += 1;
    else if (depth > 0 && source[at] === '}') depth -= 1;
  }
  return at + 1;
}

/** The literals of a file, the outermost ones: a statement with all its parts. */
export function literalsOf(source: string): Literal[] {
  const found: Literal[] = [];
  for (let at = 0; at < source.length; at += 1) {
    if (source.startsWith('//', at)) at = source.indexOf('\n', at);
    else if (source.startsWith('/*', at)) at = source.indexOf('*/', at) + 1;
    else if (source[at] === "'" || source[at] === '`') {
      const end = endOf(source, at);
      const owner = [...source.slice(0, at).matchAll(DECLARATION)].at(-1)?.[1] ?? '';
      found.push({ owner, text: source.slice(at, end) });
      at = end - 1;
    }
  }
  return found;
}

const BY_THE_CLOCK = 'lists what is due in all events';
const PART = 'a part of statements that name the event';
const OPERATOR = 'an operator asks for all events';
const MOVE = 'a move takes all events of an account';
const DIRECTORY = 'asked for a business or an account: the directory';

/** Statements that name tables of an event and not the event, by file and declaration, or function of the database, and why. */
export const STATEMENTS_OVER_EVENTS: Readonly<Record<string, string>> = {
  announce_ballots: 'a process announces the events that it confirmed ballots of, until the outbox does',
  'ballot-log/checkpoint.ts forgetQueuedCheckpoints': 'each row by its event and size, of many events at once',
  'ballot-log/checkpoint.ts readQueuedCheckpoints': 'the one log of the service has the heads of all events',
  'ballot-log/due-repository.ts NOT_CLOSED': BY_THE_CLOCK,
  'ballot-log/due-repository.ts WAITING': BY_THE_CLOCK,
  'ballot-log/due-repository.ts listEventsToTend': BY_THE_CLOCK,
  'ballot-log/due-repository.ts listLogs': BY_THE_CLOCK,
  'ballot-log/due-repository.ts readCloseDue': BY_THE_CLOCK,
  'ballot-log/repository.ts takeQueue': PART,
  'ballot-log/rewrite-roll.ts listRollsToMix': BY_THE_CLOCK,
  'ballot-log/service-identity.ts signHeadsAgain': OPERATOR,
  'ballot-log/void-ballot.ts NOT_COUNTED': PART,
  'ballot-log/void-ballot.ts VOID_AFTER_CLOSE': PART,
  'ballots/drop-expired-ballots.ts listEventsWithExpiredBallots': BY_THE_CLOCK,
  'cells/account-rows.ts ACTING': MOVE,
  'cells/account-rows.ts GUESTS': MOVE,
  'cells/account-rows.ts JOBS_OF_ACCOUNT': MOVE,
  'cells/account-rows.ts LIVING_EVENTS': MOVE,
  'cells/account-rows.ts ofHiddenEvents': MOVE,
  'cells/copy-account.ts showAccount': MOVE,
  'cells/find-cell.ts findCell': 'a code is asked for: the directory',
  'cells/finish-move.ts deleteMarked': MOVE,
  'cells/move-account.ts HIDE_EVENTS': MOVE,
  'cells/move-account.ts letGo': MOVE,
  'cells/move-account.ts lockAccount': MOVE,
  'cells/move-account.ts requireCodes': MOVE,
  'cells/move-account.ts serveKept': MOVE,
  'cells/move-account.ts OF_DELETED_EVENTS': MOVE,
  'cells/move-account.ts tellGuests': MOVE,
  'cells/open-cells.ts noteGuests': 'guests of all events: what a restored cell forgot',
  'commands/backup-keys.ts listKnown': OPERATOR,
  'commands/cell-status.ts FIGURES': OPERATOR,
  'commands/recovery-server.ts describeRecovered': OPERATOR,
  'commands/reseal-secrets.ts PASSING': OPERATOR,
  'commands/reseal-secrets.ts countEach': OPERATOR,
  'letters/letter-run.ts dropOldLetters': BY_THE_CLOCK,
  'payments/attempt-repository.ts listDueAttempts': BY_THE_CLOCK,
  'payments/business-repository.ts isBusinessLinked': DIRECTORY,
  'payments/business-repository.ts listUnopenedEvents': DIRECTORY,
  'payments/manage-payment.ts AGED': BY_THE_CLOCK,
  'read-figures.ts readFigures': OPERATOR,
  'results/read-stats.ts foldAllRollFigures': BY_THE_CLOCK,
  'results/repository.ts hasOnlyCommonWeights': PART,
  'voters/disclose-voters.ts listUndisclosed': BY_THE_CLOCK,
  'voters/notification.ts inAudience': PART,
  'voters/notification.ts isPausing': PART,
  'voters/registration-repository.ts listEventsWithExpired': BY_THE_CLOCK,
  'voters/registration-repository.ts takeExpired': PART,
  'voters/repository.ts vote': PART,
  'voters/retag-voters.ts TAGGED': OPERATOR,
  'voters/roll-sum.ts foldRolls': BY_THE_CLOCK,
  'voting-events/check-ballot-keys.ts listLivingKeys': OPERATOR,
  'voting-events/code-claims.ts isTaken': 'a code is asked for: the directory',
  'voting-events/show-event.ts countInEvents': 'a page of events says of each whether voters wait to be shown',
  'voting-events/invite.ts isArrivingInvite': 'a token of an invite is looked for: the directory',
  'voting-events/key-places.ts initPlaces': OPERATOR,
  'voting-events/key-places.ts makeIdentity': OPERATOR,
  'voting-events/key-places.ts shareIdentity': OPERATOR,
  'voting-events/repository.ts listShared': 'the events that are shared with an account: the directory',
  'voting-events/repository.ts listTimedEvents': BY_THE_CLOCK,
  'webhooks/publish-ballots.ts publishAllBallots': BY_THE_CLOCK,
  'webhooks/sending-repository.ts DUE': BY_THE_CLOCK,
};
