import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Deps } from '#src/deps.ts';
import { conflict, notFound } from '#src/platform/errors.ts';
import { type CountCheck, checkCount, comparable, differencesOf, judged } from '#src/results/check-count.ts';
import { EventCounter } from '#src/results/count-event.ts';
import type { EventResults } from '#src/results/view-schemas.ts';
import { findAnyEvent } from '#src/voting-events/find-event.ts';
import { type Answer, type Cli, commandLine, type Row } from './cli.ts';

interface RecountOptions {
  readonly event: string;
  readonly baseUrl?: string;
  readonly key?: string;
}

interface Service {
  readonly baseUrl: string;
  readonly key: string;
}

/** A count is compared with what the service says before and after it: while both are the same, nothing came between. */
const CALM_ATTEMPTS = 10;
const PAUSE_MS = 200;
const LIVE_TIMEOUT_MS = 30_000;

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('must be an address such as https://vote.example.org');
  return text.replace(/\/+$/, '');
}

/** Counts with a counter that has seen no ballot yet: from the first one on. */
async function countAnew(deps: Deps, paper: BallotPaper): Promise<EventResults> {
  return new EventCounter(deps, false).results(paper, 'organizer', deps.clock.now());
}

async function readLive({ baseUrl, key }: Service, eventId: string): Promise<unknown> {
  const url = `${baseUrl}/voting-events/${eventId}/results`;
  const answer = await fetch(url, {
    headers: { Authorization: `Bearer ${key}` },
    redirect: 'error',
    signal: AbortSignal.timeout(LIVE_TIMEOUT_MS),
  }).catch(() => undefined);
  if (answer === undefined) throw conflict('service_away', `${baseUrl} cannot be reached.`);
  if (!answer.ok) {
    await answer.body?.cancel();
    throw conflict(
      'service_refused',
      `the service answered ${answer.status}: the key must be a read key of the event's account.`,
    );
  }
  const body = (await answer.json()) as { readonly data?: object };
  return comparable({ ...body.data });
}

async function checkLive(deps: Deps, service: Service, paper: BallotPaper): Promise<CountCheck> {
  for (let attempt = 0; attempt < CALM_ATTEMPTS; attempt += 1) {
    const before = await readLive(service, paper.event.id);
    const counted = comparable(await countAnew(deps, paper));
    if (differencesOf(await readLive(service, paper.event.id), before, 1).length === 0) {
      const differences = differencesOf(before, counted);
      return judged('service', differences.length === 0, 'the service gives the same result', differences.join('; '));
    }
    await delay(PAUSE_MS);
  }
  return { check: 'service', status: 'differs', detail: 'votes kept coming in while it was counted: run it again' };
}

async function recount(deps: Deps, options: RecountOptions, service: Service | undefined): Promise<Answer> {
  const paper = await deps.papers.take(await findAnyEvent(deps.db, options.event));
  if (paper === undefined) throw notFound();
  const { results, checks: inside } = await checkCount(deps, paper, () => countAnew(deps, paper));
  const checks = [...inside, ...(service === undefined ? [] : [await checkLive(deps, service, paper)])];
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

const HELP = `
The count is held against the roll (who voted), the signed log with each ballot's leaf, and after the end against the
result that the log bears. With --base-url it is compared with what the running service answers at the same moment; the
key comes from the environment as VOTING_KEY.

Exit status: 0 everything agrees, 1 something differs (the last table says what), 2 wrong usage.`;

/** `recount`: counts from the first ballot on, and compares (completions 9.3; trust I9). */
export function addRecountCommand(cli: Cli): void {
  cli
    .command(
      cli.program,
      'recount',
      'count the box of an event from the first ballot on, and compare',
      'recount --event CODE',
      'recount --event CODE --base-url https://vote.example.org',
    )
    .requiredOption('--event <idOrCode>', 'the event')
    .option('--base-url <url>', 'address of the running service to compare with', parseUrl)
    .option('--key <key>', 'a read key of the event’s account; better in the environment as VOTING_KEY')
    .addHelpText('after', HELP)
    .action((options: RecountOptions) =>
      cli.withDeps((deps) => {
        const { baseUrl } = options;
        if (baseUrl === undefined) return recount(deps, options, undefined);
        const key = cli.votingKey(options.key);
        if (key === undefined) throw conflict('no_key', 'set VOTING_KEY to a read key of the event’s account.');
        return recount(deps, options, { baseUrl, key });
      }),
    );
}
