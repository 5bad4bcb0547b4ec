import type { PathClient, Resources } from '#sdk/index.ts';
import type { Answer } from './cli.ts';
import { unreachableWords } from './notify-voters.ts';
import { listenForStop } from './progress.ts';

interface WatchOptions {
  readonly event: string;
  /** Seconds between two requests. */
  readonly every: number;
  readonly once: boolean;
}

type Stats = Resources['EventStats'];
type Event = Resources['VotingEvent'];

const figure = (count: number): string => count.toLocaleString('en-US');

/** The turnout on one line, such as `open · 36 of 40 voters (90.0 %) · 36 ballots confirmed`. */
function lineOf({ status, voters, turnout, ballots }: Stats, { type }: Event): string {
  const confirmed = `${figure(ballots.confirmed)} ${ballots.confirmed === 1 ? 'ballot' : 'ballots'} confirmed`;
  if (type === 'poll') return `${status} · ${confirmed}`;
  const share = `${(turnout.heads * 100).toFixed(1)} %`;
  return `${status} · ${figure(voters.voted)} of ${figure(voters.approved)} voters (${share}) · ${confirmed}`;
}

function answerOf(stats: Stats, { id, code, title, type, endsAt }: Event): Answer {
  const { status, voters, turnout, ballots, byGroup, updatedAt } = stats;
  const share = Number((turnout.heads * 100).toFixed(1));
  return {
    value: { votingEventId: id, code, title, type, status, endsAt, voters, turnout, ballots, byGroup, updatedAt },
    shown: {
      code,
      title,
      status,
      endsAt,
      ...(type === 'poll' ? {} : { voters: voters.approved, voted: voters.voted, 'turnout %': share }),
      ballotsConfirmed: ballots.confirmed,
    },
    ...(byGroup.length === 0
      ? {}
      : { also: byGroup.map(({ name, voters: heads, voted }) => ({ group: name, voters: heads, voted })) }),
    next: unreachableWords(stats, code),
  };
}

/** Shows the turnout until the event closes, or once. `client` reads the event; `patient` reads the turnout, even across a restart. */
export async function watchTurnout(
  [client, patient]: readonly [PathClient, PathClient],
  { event: reference, every, once }: WatchOptions,
): Promise<Answer> {
  const { data: event } = await client.get('/voting-events/{idOrCode}', { path: { idOrCode: reference } });
  const path = { idOrCode: event.id };
  const read = async (): Promise<Stats> => (await patient.get('/voting-events/{idOrCode}/stats', { path })).data;
  let stats = await read();
  if (once) return answerOf(stats, event);
  const stop = listenForStop();
  const isTerminal = process.stderr.isTTY === true;
  let last = '';
  try {
    for (;;) {
      const line = lineOf(stats, event);
      const time = new Date(stats.updatedAt).toISOString().slice(11, 19);
      // A terminal shows only the newest line; a file or pipe gets a line for each change.
      if (isTerminal) process.stderr.write(`\r\u001b[K${time} UTC · ${line}`);
      else if (line !== last) process.stderr.write(`${time} UTC · ${line}\n`);
      last = line;
      if (stats.status === 'closed' || stop.stopped) break;
      await stop.sleep(every * 1_000);
      stats = await read();
    }
  } finally {
    if (isTerminal) process.stderr.write('\n');
    stop.release();
  }
  return answerOf(stats, event);
}
