import type { PathClient } from '#sdk/index.ts';
import { type Answer, type Cli, commandLine } from './cli.ts';
import { parseChoice, parseEvent, parseWhole } from './options.ts';
import type { SaveOptions } from './save-results.ts';

const ACCESS_HELP = `
Needs VOTING_API_KEY in the environment: a key of your account. VOTING_API is the address of the service; without it, the one
on this machine. No database is needed.`;

const APPLY_HELP = `
The file is the election as GET …/voting-events/CODE/definition answers it, in YAML or JSON: version, event, groups, positions,
candidates, sponsors. Rows name each other by IDs of your choice; startsAt and endsAt may be moments such as
2027-03-01T09:00:00+01:00. The draft with the code of the file (event.code, or --event) becomes exactly what the file says,
and is made where there is none. Rows that the event has already are found by their ID, or by their name, and stay the same
rows; rows that the file does not name are deleted. An event with startsAt is scheduled, and takes no file any more: set it last.
${ACCESS_HELP}`;

const WATCH_HELP = `
Shows the turnout until the event closes or Ctrl-C is pressed. In a secret event, who voted is shown by at least five at a time.
With --json it reads once.
${ACCESS_HELP}`;

const PAPERS = ['a4', 'letter'] as const;
const LAYOUTS = ['figures', 'table'] as const;

/** Organizers' commands, which use the API over HTTP with a key of their account (completions 10). */
export function addOrganizerCommands({ program, command, group, withApi, json }: Cli): void {
  const event = group('event', 'your elections and polls');
  command(
    event,
    'apply',
    'make an event what a file says',
    'event apply election.yaml --dry-run',
    'event apply election.yaml',
  )
    .argument('<file>', 'a YAML or JSON file')
    .option('--event <idOrCode>', 'the draft, where the file has no event.code', parseEvent)
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--verbose', 'show every row, however many there are')
    .addHelpText('after', APPLY_HELP)
    .action((file: string, options: { event?: string; dryRun?: boolean; verbose?: boolean }) =>
      withApi(async (client) => (await import('./apply-event.ts')).applyEvent(client, { ...options, file })),
    );

  for (const verb of Object.keys(STATUS_VERBS) as (keyof typeof STATUS_VERBS)[])
    command(event, verb, STATUS_VERBS[verb][1], `event ${verb} --event CODE`)
      .requiredOption('--event <idOrCode>', 'the event', parseEvent)
      .addHelpText('after', ACCESS_HELP)
      .action((options: { event: string }) => withApi((client) => setStatus(client, verb, options.event)));

  command(program, 'watch', 'show the turnout while votes come in', 'watch --event CODE')
    .requiredOption('--event <idOrCode>', 'the event', parseEvent)
    .option('--every <seconds>', 'between two looks', parseWhole(4, 'of seconds from 1'), 5)
    .option('--once', 'look once')
    .addHelpText('after', WATCH_HELP)
    .action((options: { event: string; every: number; once?: boolean }) =>
      withApi(async (client, patient) =>
        (await import('./watch-turnout.ts')).watchTurnout([client, patient], {
          ...options,
          once: options.once === true || json(),
        }),
      ),
    );

  const results = group('results', 'results as files');
  const file = (kind: SaveOptions['kind'], description: string, example: string) =>
    command(results, kind, description, example)
      .requiredOption('--event <idOrCode>', 'the event', parseEvent)
      .option('--output <file>', 'where it is written; CODE-results and its ending in this folder unless set')
      .addHelpText('after', ACCESS_HELP);
  const save = (options: SaveOptions) =>
    withApi(async (client) => (await import('./save-results.ts')).saveResults(client, options));
  type Named = Pick<SaveOptions, 'event' | 'output'>;
  file('pdf', 'save the report of the results', 'results pdf --event CODE')
    .option('--paper <size>', PAPERS.join(' or '), parseChoice(PAPERS), 'a4')
    .action((options: Named & { paper: (typeof PAPERS)[number] }) => save({ kind: 'pdf', ...options }));
  file('csv', 'save the results as a table', 'results csv --event CODE --layout table')
    .option(
      '--layout <layout>',
      'figures: one figure a row; table: one candidate a row',
      parseChoice(LAYOUTS),
      'figures',
    )
    .action((options: Named & { layout: (typeof LAYOUTS)[number] }) => save({ kind: 'csv', ...options }));
  file('json', 'save the results as JSON', 'results json --event CODE').action((options: Named) =>
    save({ kind: 'json', ...options }),
  );
}

/** Commands that change an event's status: the verb, the status to send, and the description. */
const STATUS_VERBS = {
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
