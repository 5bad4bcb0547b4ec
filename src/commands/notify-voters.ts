import type { PathClient, Resources } from '#sdk/index.ts';
import { type Answer, type Cli, commandLine, commandOf } from './cli.ts';
import { waitForEnd } from './progress.ts';

export type Notification = Resources['Notification'];

export interface NotifyOptions {
  readonly event: string;
  readonly kind: Notification['kind'];
  readonly audience?: Notification['audience'];
  readonly beforeOpening?: boolean;
  readonly wait: boolean;
}

/** Pauses between requests for the progress, ms: short at first, because a few mails are sent quickly. */
const PAUSES_MS = [250, 500, 1_000, 2_000, 5_000];

function wordsFor({ failed, limitReached, failing }: Notification): string {
  if (limitReached) return 'the mails of the day are used up, the others go out tomorrow';
  if (failing) return 'the mail server refuses them';
  return (failed ?? 0) === 0 ? '' : `${failed} failed`;
}

/** A hint about approved voters with neither an e-mail address nor a letter, and how to reach them; empty if there are none. */
export async function nameUnreachable(
  client: PathClient,
  event: { readonly id: string; readonly code?: string },
): Promise<string[]> {
  const { data } = await client.get('/voting-events/{idOrCode}/stats', { path: { idOrCode: event.id } });
  return unreachableWords(data, event.code ?? event.id);
}

export function unreachableWords({ voters, status }: Resources['EventStats'], event: string): string[] {
  if (voters.unreachable === 0 || status === 'closed') return [];
  const who = voters.unreachable === 1 ? '1 approved voter has' : `${voters.unreachable} approved voters have`;
  return [
    `${who} neither an e-mail address nor a letter, and cannot vote. Print letters: ${commandLine(`voters letters --event ${event}`)}`,
  ];
}

/** Warns if mails or letters lack the address of the voting page, or the voter ID that voters must enter there. */
export function pageWarnings(
  { code, votingPageUrl: page }: Resources['VotingEvent'],
  kind: 'mails' | 'letters',
): string[] {
  const set = `Set it: PATCH /voting-events/${code} {"votingPageUrl":"https://…#key={voterKey}&voterId={voterId}"}`;
  if (page === null) return [`The event has no votingPageUrl: its ${kind} name no address to vote at. ${set}`];
  if (kind === 'mails' || page.includes('{voterId}')) return [];
  return [`The votingPageUrl has no {voterId}: voters without an e-mail address must type their voter ID. ${set}`];
}

/** Mails voter keys or reminders, and shows the progress (completions 10.2). `client` sends the request; `patient` reads the progress. */
export async function notifyVoters(
  cli: Pick<Cli, 'json'>,
  [client, patient]: readonly [PathClient, PathClient],
  options: NotifyOptions,
): Promise<Answer> {
  const { event, kind, audience = kind === 'key' ? 'not_invited' : 'not_voted', wait, beforeOpening } = options;
  const body = { kind, audience, ...(beforeOpening === true ? { beforeOpening } : {}) };
  const { data } = await client.post('/voting-events/{idOrCode}/voters/notify', { path: { idOrCode: event }, body });
  const place = { path: { idOrCode: event } };
  const warnings = [
    ...pageWarnings((await patient.get('/voting-events/{idOrCode}', place)).data, 'mails'),
    ...(await nameUnreachable(patient, { id: event })),
  ];
  if (!wait) return { value: { ...data, ...body }, next: ['The mails go out in the background.', ...warnings] };
  const path = { idOrCode: event, id: data.id };
  const row = await waitForEnd(
    cli.json(),
    async () => (await patient.get('/voting-events/{idOrCode}/notifications/{id}', { path })).data,
    { done: ({ handled }) => handled, unit: 'mails', note: wordsFor },
    PAUSES_MS,
  );
  const isDone = row.finishedAt !== null;
  const again = commandOf('voters notify', { event, ...body });
  return {
    value: row,
    refused: (row.failed ?? 0) > 0,
    next: [
      ...(isDone ? [] : ['Not waited for the end: the mails go on in the background.']),
      ...(row.pausedUntil === null
        ? []
        : [
            `Some had a mail of this kind a short time ago: ask again after ${new Date(row.pausedUntil).toISOString()}.`,
          ]),
      ...((row.failed ?? 0) > 0 ? [`Mend the addresses of the voters whose keyStatus is failed; then: ${again}`] : []),
      ...(isDone && row.total === 0
        ? ['No mail was due: nobody is in this audience, or nobody of it has an e-mail address.']
        : []),
      ...warnings,
    ],
  };
}
