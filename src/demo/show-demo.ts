import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Deps } from '#src/deps.ts';
import { unless, writeWhole } from '#src/platform/files.ts';
import { createDemo, type Demo } from './create-demo.ts';
import { voteInDemo } from './vote-in-demo.ts';

/** The variables that README, guides and example use. */
const namesOf = ({ writeKey, readKey, voteKey, event, poll }: Demo, baseUrl: string) => ({
  API: baseUrl,
  WRITE_KEY: writeKey,
  READ_KEY: readKey,
  VOTE_KEY: voteKey,
  EVENT: event,
  POLL: poll,
});

/** The text of an environment file, for `.` of a shell and `--env-file` of Node. */
function environmentOf(demo: Demo, baseUrl: string): string {
  const { confirmationCode, promise } = demo.receipt;
  const names = { ...namesOf(demo, baseUrl), CODE: confirmationCode, PROMISE: promise };
  return Object.entries(names)
    .map(([name, value]) => `export ${name}='${value}'\n`)
    .join('');
}

const post = (path: string, body: string): string =>
  `curl -s -H "Authorization: Bearer $VOTE_KEY" -H 'Content-Type: application/json' -d ${body} $API/public/voting-events/${path}`;
const codeOfAnswer = `grep -oE '[0-9A-Z]{26}'`;

/** Shell lines to try the demo, which can be pasted one after another. */
function linesOf(demo: Demo, baseUrl: string, mailFolder: string): string[] {
  const { confirmationCode: code, promise } = demo.receipt;
  const cast = JSON.stringify({ voterKey: 'KEY', email: demo.voterEmail, votes: [demo.electionEntry] });
  const names = Object.entries(namesOf(demo, baseUrl)).map(([name, value]) => `${name}=${value}`);
  return [
    '# A first vote in an election: ask for a voter key, which comes by mail (into a file here), cast, confirm, read the results',
    `export ${names.join(' ')}`,
    post('$EVENT/voter-key/request', `'${JSON.stringify({ email: demo.voterEmail })}'`),
    `sleep 2; KEY=$(grep -hoE '[0-9A-Z]{4}(-[0-9A-Z]{4}){3}' '${mailFolder}'/*.eml | tail -1)`,
    `CODE=$(${post('$EVENT/ballot/cast', `'${cast.replace('"KEY"', `"'$KEY'"`)}'`)} | ${codeOfAnswer})`,
    post('$EVENT/ballot/confirm', `'{"confirmationCode":"'$CODE'"}'`),
    'curl -s -H "Authorization: Bearer $READ_KEY" $API/voting-events/$EVENT/results',
    '',
    ...pollLines(demo),
    '',
    '# A ballot that is in the log already: open this, and your browser checks it',
    `${baseUrl}/verify#${new URLSearchParams({ event: demo.event, code, promise })}`,
  ];
}

/** Lines for the poll: a paid poll is paid in the browser first, in a free poll the ballot is cast at once. */
function pollLines({ pollEntries, pollIsPaid }: Demo): string[] {
  const visitorId = `vi_${randomBytes(16).toString('hex')}`;
  const sent = (body: unknown): string => `'${JSON.stringify(body)}'`;
  const confirm = [
    post('$POLL/ballot/confirm', `'{"confirmationCode":"'$CODE'"}'`),
    'curl -s -H "Authorization: Bearer $VOTE_KEY" $API/public/voting-events/$POLL/results',
  ];
  const ballot = { visitorId, votes: pollEntries };
  if (!pollIsPaid) {
    return [
      '# A vote in a poll: your own server names the visitor',
      `CODE=$(${post('$POLL/ballot/cast', sent(ballot))} | ${codeOfAnswer})`,
      ...confirm,
    ];
  }
  const paid = sent({ ...ballot, returnUrl: 'API/reference' }).replace('API/', `'$API'/`);
  return [
    '# A paid vote: the first call asks for money. Open the checkoutUrl that it prints in a browser and press Pay',
    `PAY=$(${post('$POLL/ballot/cast', paid)}); echo "$PAY" | grep -oE 'http[^"]*/pay/[^"]*'`,
    '# (or pay from here)',
    `curl -s -o /dev/null -d outcome=pay $(echo "$PAY" | grep -oE 'http[^"]*/pay/[^"]*')`,
    '# The second call finishes it',
    `CODE=$(${post('$POLL/ballot/cast', `'{"paymentAttemptId":"'$(echo "$PAY" | grep -oE 'pay_[0-9a-z]+' | head -1)'"}'`)} | ${codeOfAnswer})`,
    ...confirm,
  ];
}

/**
 * Creates the demo at the first start. At every start prints what to try, and writes the demo's variables into `demo.env` in
 * the data folder, for shells and for `npm run example`.
 * @param seal moves queued ballots of an event into its log
 */
export async function showDemo(
  deps: Deps,
  baseUrl: string,
  sandbox: boolean,
  seal: (eventId: string) => Promise<unknown>,
  say: (line: string) => void,
): Promise<void> {
  const { dataDir, port } = deps.config;
  const file = path.join(dataDir, 'demo.json');
  const text = await unless(readFile(file, 'utf8'), 'ENOENT');
  let demo: Demo | undefined = text === undefined ? undefined : JSON.parse(text);
  if (demo === undefined) {
    // The port of `npm run example`. The payment sandbox uses the port before it.
    const pages = port === 0 ? undefined : `http://127.0.0.1:${port + 2}`;
    const empty = await createDemo(deps, sandbox, pages);
    const { caller, election, positions, voters, ...made } = empty;
    demo = { ...made, receipt: await voteInDemo(deps, empty, seal) };
    await writeWhole(file, JSON.stringify(demo), 0o600);
  }
  const environment = path.join(dataDir, 'demo.env');
  await writeWhole(environment, environmentOf(demo, baseUrl), 0o600);
  say('');
  for (const line of linesOf(demo, baseUrl, path.join(dataDir, 'mail'))) say(line);
  say('');
  say(`A voting page for both: npm run example    These names for a shell: . ${environment}`);
  if (deps.consoleFeed !== undefined)
    say(`Mails with their keys, requests, payments, webhooks and results as they come: ${baseUrl}/console`);
  say(`Reference: ${baseUrl}/reference    Stop: Ctrl-C`);
}
