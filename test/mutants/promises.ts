import type { Mutant } from './copy-project.ts';

/** A test, by its file and a part of its name, and a build on which it is red. */
type Slip = readonly [test: string, title: string, name: string, find: string, replace: string];

/** What is promised to organizers, voters and programs, by the file that keeps the promise. */
const SLIPS: Readonly<Record<string, readonly Slip[]>> = {
  'voting-events/update-event.ts': [
    [
      'api/event-life.test.ts',
      'stays closed where a request says so',
      'a later end opens what the same request closes',
      'keepsClosed && changed.endsAt !== undefined',
      'false',
    ],
    [
      'api/paid-for.test.ts',
      'drops the ballots that wait unpaid when it gets one',
      'a price leaves the ballots that wait unpaid',
      'if (changes.payToVote !== null) await dropUnpaidBallots(tx, before.id);',
      '',
    ],
    [
      'api/rehearsal.test.ts',
      'goes in rounds',
      'a closed round is no end of a rehearsal',
      "wanted === 'rehearsal' && before.closedAt !== null",
      "wanted === 'rehearsal' && before.closedAt === 0",
    ],
  ],
  'accounts/take-mail.ts': [
    [
      'api/rehearsal.test.ts',
      'has a budget of mails of its own',
      'mails of a rehearsal are taken from those of the election',
      'const rehearsal = event.rehearsalSince === null ? null : event.rehearsalNumber;',
      'const rehearsal = null;',
    ],
  ],
  'voting-events/publish-status.ts': [
    [
      'api/webhook-events.test.ts',
      'voting_event.not_opened',
      'an event that does not open says nothing',
      "await publish(tx, deps, aboutOf(marked), 'voting_event.not_opened', [await tellEvent(tx, marked, event.lockedAt)]);",
      '',
    ],
  ],
  'voting-events/opening.ts': [
    [
      'api/event-life.test.ts',
      'names everything that is missing',
      'a position without candidates may open',
      "part('no_candidate',",
      "part('no_position',",
    ],
  ],
  'voting-events/lifecycle.ts': [
    [
      'api/notify.test.ts',
      'mail nobody before the opening but by a word that says so',
      'a draft mails keys',
      "if (phase !== 'scheduled' || !beforeOpening) throw refuse(answer);",
      '',
    ],
    [
      'api/notify.test.ts',
      'mail nobody before the opening but by a word that says so',
      'an event that cannot open mails keys',
      "if (event.missing.length > 0) throw refuse('not_ready', { missing: event.missing });",
      '',
    ],
  ],
  'voting-events/event-mail.ts': [
    [
      'api/notify.test.ts',
      'wait where a voter has had the mails of an hour',
      'an answer to a mail reaches no organizer',
      'contactEmail === null ? mail : { ...mail, replyTo: contactEmail }',
      'mail',
    ],
  ],
  'voters/notification.ts': [
    [
      'api/notify.test.ts',
      'leave voters and non-voters alike',
      'reminders say how many were sent before the result is final',
      'isSilent ? { sent: null, failed: null, skipped: null }',
      'isSilent ? { sent, failed: null, skipped: null }',
    ],
    [
      'api/notify.test.ts',
      'to those who have not voted pass over who has',
      'who had a mail a short time ago counts as mailed',
      '{ sent, failed, skipped: skipped + voted }',
      '{ sent: sent + skipped, failed, skipped: voted }',
    ],
  ],
  'ballot-definition/change-candidate.ts': [
    [
      'api/event-life.test.ts',
      'gives a referendum without candidates Yes, No and Abstain',
      'a referendum gets no Abstain',
      "['yes', 'no', 'abstain'] as const",
      "['yes', 'no'] as const",
    ],
  ],
  'commands/apply-event.ts': [
    [
      'api/organizer-commands.test.ts',
      'ends with what is missing, by title',
      'an applied file does not say what is missing',
      '...missing.map(',
      '...missing.slice(0, 0).map(',
    ],
    [
      'api/organizer-commands.test.ts',
      'sums many rows up unless all are asked for',
      'many rows are printed one by one',
      'options.verbose === true ? shown : briefly(shown)',
      'shown',
    ],
  ],
  'commands/read-roll.ts': [
    [
      'faults/import-voters.test.ts',
      'refuses a file that it cannot read before it takes anything',
      'a decimal comma is refused',
      "delimiter === ';' && /^",
      "delimiter === '' && /^",
    ],
    [
      'faults/import-voters.test.ts',
      'refuses a file that it cannot read before it takes anything',
      'a column that is passed over refuses the file',
      'ignoreColumns !== true &&',
      '',
    ],
  ],
  'platform/text.ts': [
    ['api/roll.test.ts', 'is searched in one form', 'ß is another letter than ss', "'ß', 'ss'", "'ß', 'ß'"],
    ['api/roll.test.ts', 'is searched in one form', 'a final sigma is another letter', "'ς', 'σ'", "'ς', 'ς'"],
  ],
  'results/repository.ts': [
    [
      'api/letters.test.ts',
      'stands in the first leaf, grows with each run',
      'who has a letter counts as unreachable',
      "AND v.key_status = 'none' AND",
      'AND',
    ],
  ],
  'results/ask-count.ts': [
    [
      'api/results.test.ts',
      'the electorate of a position',
      'a position of one group is measured against the whole roll',
      'electorateByGroup: inputs.electorate.byGroup,',
      '',
    ],
  ],
  'results/report/report-words.ts': [
    [
      'unit/results/report-languages.test.ts',
      'has no word of the English table',
      'every report is English',
      'WORDS[language]',
      "language === 'de' ? en : WORDS[language]",
    ],
  ],
  'results/report/write-candidates.ts': [
    [
      'unit/results/report-pages.test.ts',
      'name many candidates without a vote in one line',
      'rows of zeros are not folded',
      'zeros.length <= FEW',
      'zeros.length >= 0',
    ],
  ],
  'results/report/describe-rules.ts': [
    [
      'unit/results/report.test.ts',
      'names ties and how they were decided',
      'a tie says how many changed votes it would have taken',
      'if (tie !== null) return',
      'if (tie === undefined) return',
    ],
  ],
  'voters/check-roll.ts': [
    [
      'api/results.test.ts',
      'turnout of the groups is told',
      'turnout of a group of four is shown',
      'const SMALLEST_GROUP = 5;',
      'const SMALLEST_GROUP = 4;',
    ],
  ],
  'reference/describe-operation.ts': [
    [
      'api/document.test.ts',
      'lists the reasons of each refusal as an enum',
      'reasons are any text',
      "{ type: 'string', enum: [...new Set(reasons)] }",
      "{ type: 'string' }",
    ],
  ],
  'platform/csv.ts': [
    [
      'api/roll.test.ts',
      'holds every voter as the list shows them',
      'times in a file for people are numbers',
      'new Date(value).toISOString()',
      'value',
    ],
    [
      'unit/results/downloads.test.ts',
      'is no formula behind what a spreadsheet may cut off',
      'an invisible sign hides a formula',
      "'[\\\\s\\\\p{Cf}\\\\p{Default_Ignorable_Code_Point}\"]*'",
      "'[\\\\s\\\\p{Cf}\"]*'",
    ],
  ],
  'webhooks/endpoint-routes.ts': [
    [
      'api/shared-events.test.ts',
      'are listed and created by the owner alone',
      'a viewer sees the endpoints of the owner',
      "requireRole('owner', seen);",
      '',
    ],
  ],
  'voters/copy-event.ts': [
    [
      'api/copy.test.ts',
      'with voters stays with the owner',
      'an editor takes a copy of the roll along',
      "withVoters && role !== 'owner'",
      "withVoters && role === 'viewer'",
    ],
  ],
  'voters/import-roll.ts': [
    [
      'api/roll.test.ts',
      'answers 404 where the event was deleted while it was imported',
      'an import into a deleted event says something else',
      '    if ((await findEventById(tx, eventId)) === undefined) throw notFound();\n    // Throws',
      '    // Throws',
    ],
    [
      'api/roll.test.ts',
      'takes none where one is bad and all are asked for',
      'an import of all with a bad row is taken',
      "rejected.length > 0 && mode === 'all'",
      "rejected.length > 0 && mode !== 'all'",
    ],
  ],
  'http/request-headers.ts': [
    [
      'unit/server/listen.test.ts',
      'carries one list of headers on early refusals',
      'an early refusal has no HSTS',
      "...(secure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),",
      '',
    ],
  ],
  'tally/margin.ts': [
    [
      'unit/tally/further-figures.test.ts',
      'is none in a tie, one vote where a seat is vacant',
      'the margin of a tie is not exact',
      "NO_MARGIN: Margin = { votes: '0', exact: true, bound: null }",
      "NO_MARGIN: Margin = { votes: '0', exact: false, bound: 'lower' }",
    ],
  ],
  // What holds off a neighbour.
  'app.ts': [
    [
      'api/neighbours.test.ts',
      'so many are worked at, without those whose bodies do not come',
      'all requests of an account are worked at at once',
      '  app.use(takeWork); // 429\n',
      '',
    ],
  ],
  'server/connection.ts': [
    [
      'unit/server/floods.test.ts',
      'so many begin in one turn of the loop',
      'dozens of requests begin in one turn of the loop',
      'new LoopTurns({ together: 8 })',
      'new LoopTurns({ together: 30 })',
    ],
    [
      'unit/server/floods.test.ts',
      'and few of them are parsed before',
      'requests that are sent ahead are parsed by the hundred',
      'head === -1 ? piece.length : head + HEAD_END.length',
      'head === -1 ? piece.length : piece.length',
    ],
  ],
  'platform/stream-text.ts': [
    [
      'unit/platform/text.test.ts',
      'one chunk is made in a turn',
      'hundreds of long answers are made at once',
      '    await turns.take(account, () => undefined);\n',
      '',
    ],
  ],
  'http/send.ts': [
    [
      'api/reference.test.ts',
      'a document of a megabyte',
      'a long document is written at once',
      'if (content.length <= CHUNK_LENGTH)',
      'if (content.length > 0)',
    ],
  ],
  'voters/delete-voter.ts': [
    [
      'api/participants.test.ts',
      'is erased after the final result',
      'a voter is erased before the log has closed',
      'if (event.finalAt === null)',
      'if (event.finalAt === 0)',
    ],
  ],
  'voters/take-rows.ts': [
    [
      'api/results.test.ts',
      'a roll weighs no more than can be counted exactly',
      'a roll has any weight',
      'exceedsWith(0n)',
      'exceedsWith(-(10n ** 30n))',
    ],
  ],
  'payments/settle-payment.ts': [
    [
      'api/reversals.test.ts',
      'where only a message says so',
      'a message about a refund brings no amount',
      "'refunded', { amountMinor: backMinor })",
      "'refunded', {})",
    ],
  ],
  'jobs/run-jobs.ts': [
    [
      'faults/job-runner.test.ts',
      'whose process was killed while it ran',
      'a recurring job has one attempt for its life',
      'const MOST_ATTEMPTS = 2_147_483_647;',
      'const MOST_ATTEMPTS = 1;',
    ],
    [
      'faults/job-runner.test.ts',
      'a job that is put off comes again',
      'a job that is put off uses up its attempts',
      'attempts = attempts - 1, run_at = $4',
      'run_at = $4',
    ],
    [
      'faults/mail-jobs.test.ts',
      'while the mail server does not answer for those of another',
      'one account may have all mails under way',
      'const mostOfAccount = (group: JobGroup): number => JOB_PLACES[group] - 1;',
      'const mostOfAccount = (group: JobGroup): number => JOB_PLACES[group];',
    ],
  ],
  'jobs/jobs.sql': [
    [
      'faults/job-runner.test.ts',
      'one place is left to others',
      'thousands of jobs of one account keep those of others waiting',
      'share CONSTANT integer := 20;',
      'share CONSTANT integer := 2000000;',
    ],
  ],
  'http/read-body.ts': [
    [
      'api/examples.test.ts',
      'in a place of their account',
      'requests with a body are worked at however many there are',
      "    if (scope !== 'write') await beginWork(c);\n",
      '',
    ],
    [
      'api/neighbours.test.ts',
      'wait for one of four places',
      'messages without a key are worked at however many there are',
      '  await beginWork(c);\n  return bytes;',
      '  return bytes;',
    ],
  ],
  'voters/update-voter.ts': [
    [
      'api/participants.test.ts',
      'loses no ballot that waits at the close',
      'a correction drops a ballot that nobody can cast again',
      '() => hasPendingBallot(tx, event.id, before.id)',
      'async () => false',
    ],
  ],
  'ballot-definition/match-definition.ts': [
    [
      'api/definition.test.ts',
      'with IDs of its own changes nothing',
      'rows are the same by their IDs alone',
      'if (others.length === 0) return ids;',
      'return ids;',
    ],
  ],
  'platform/leases.ts': [
    [
      'unit/platform/leases.test.ts',
      'are fewer while another',
      'an account holds as much beside others as alone',
      'return beside?.presence.isShared(account) === true ? beside.perAccount : perAccount;',
      'return perAccount;',
    ],
  ],
  'platform/presence.ts': [
    [
      'unit/platform/leases.test.ts',
      'are fewer while another',
      'an account that sends nothing any more is present for ever',
      'if (atMs > since) return;',
      'if (atMs > 0) return;',
    ],
  ],
  'ballots/cast-ballot.ts': [
    [
      'races/stale-event.test.ts',
      'changes all the time is cast',
      'each try of a cast reads what a change can outdate',
      'tries < TRIES_UNHELD ? await send(current) : await sendHeld()',
      'await send(current)',
    ],
  ],
  'webhooks/change-endpoint.ts': [
    [
      'api/webhooks.test.ts',
      'is not sent again where',
      'a message about a deleted voter is sent again',
      '  if (await isOfDeletedPerson(executor, delivery)) throw notFound();\n',
      '',
    ],
  ],
  'results/report/text-setter.ts': [
    [
      'unit/results/report-pages.test.ts',
      'parses each of its font files once',
      'two names stand for one font file',
      'style.bold === true && hasBold(run.face)',
      'style.bold === true',
    ],
  ],
  'http/request-life.ts': [
    [
      'api/neighbours.test.ts',
      'goes on in a place',
      'a request that has waited for a turn goes on beside all places',
      '    await this.#goOn().catch(() => undefined);\n',
      '',
    ],
  ],
  'webhooks/repository.ts': [
    [
      'races/plan-limits.test.ts',
      'never has more webhook endpoints',
      'two processes count the endpoints of an account at the same time',
      ' FOR UPDATE`);\n  return tx.$count(',
      '`);\n  return tx.$count(',
    ],
  ],
  'server/listen.ts': [
    [
      'unit/server/floods.test.ts',
      'an address that holds a thousand connections',
      'an address holds any number of connections',
      ' || (this.#held.get(address) ?? 0) >= most;',
      ';',
    ],
    [
      'unit/server/floods.test.ts',
      'of a second with thousands of new connections',
      'a refused connection costs a parser',
      "this.#isGuarded = guardAccept(server, (peer) => this.#refuses(countedAddress(peer) ?? ''));",
      '',
    ],
  ],
  'results/result-routes.ts': [
    [
      'api/neighbours.test.ts',
      'large results wait for their turn',
      'any number of large results is sent at once',
      'if (hasLargeResults(definition))',
      'if (hasLargeResults(definition) && audience === undefined)',
    ],
    [
      'api/results.test.ts',
      'are read by observers once they are final',
      'observers read hidden results before they are final',
      'event.finalAt !== null) return;',
      'event.closedAt !== null) return;',
    ],
  ],
  'ballot-log/record-configuration.ts': [
    [
      'api/changes-before-leaves.test.ts',
      'after the opening, before its log has begun',
      'the first leaf of a log counts changes that it does not tell',
      '{ rollIdentityChanges: 0, rollOtherChanges: 0 }',
      '{}',
    ],
  ],
  'ballot-log/record-letters.ts': [
    [
      'api/changes-before-leaves.test.ts',
      'where letters are printed after a first ballot',
      'letters sign a number of ballots before a change that waits',
      'await recordWaitingChange(deps, tx, event, head)',
      'head',
    ],
  ],
  'ballot-log/check-log.ts': [
    [
      'races/rehearsal.test.ts',
      'while its close is checked disputes nothing',
      'a check that met a wipe believes what it saw',
      'const CHECKS_AGAIN = 3;',
      'const CHECKS_AGAIN = 0;',
    ],
  ],
  'http/idempotency.ts': [
    [
      'faults/claims.test.ts',
      'whose answer to COMMIT was lost',
      'a claim is released with the answer that it has',
      'where(and(held(), isNull(idempotencyKeys.status)))',
      'where(held())',
    ],
  ],
  'payments/check-business.ts': [
    [
      'api/provider-health.test.ts',
      'although an import holds it',
      'an event that was held stays kept from opening by a business that is ready',
      'await planBusinessCheck(deps.db, business.id, null, (await readNow(deps.db)) + CHECKED_EVERY_MS);',
      '',
    ],
  ],
  'voters/retag-voters.ts': [
    [
      'faults/key-rotation.test.ts',
      'whose result is final, so that its roll can be copied',
      'a rotation leaves out the voters of final events',
      'AND v.erased_at IS NULL AND',
      'AND v.erased_at IS NULL AND NOT EXISTS (SELECT FROM voting_events e WHERE e.id = v.voting_event_id AND e.final_at > 0) AND',
    ],
  ],
  // One of each other kind of check.
  'http/middleware.ts': [
    [
      'api/conventions.test.ts',
      'refuses a key without its scope',
      'every key has every scope',
      'if (!granted.some((one) => needed.includes(one)))',
      'if (granted.length === 0)',
    ],
  ],
  'ballots/confirm.sql': [
    [
      'api/one-event.test.ts',
      'an operation on one event, with the jobs that it enqueues',
      'a statement of a confirm names no event',
      'WHERE p.voting_event_id = p_event AND p.participant = r.participant AND',
      'WHERE p.participant = r.participant AND',
    ],
  ],
};

export const PROMISES: readonly Mutant[] = Object.entries(SLIPS).flatMap(([file, slips]) =>
  slips.map(([test, title, name, find, replace]) => ({
    ...{ name, file: `src/${file}`, find, replace },
    test: { file: `test/${test}`, title },
  })),
);
