import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Deps } from '#src/deps.ts';
import { createDemo, type Demo } from './create-demo.ts';

async function readDemo(file: string): Promise<Demo | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (fault) {
    if (fault instanceof Error && Reflect.get(fault, 'code') === 'ENOENT') return undefined;
    throw fault;
  }
}

/** Lines that work as they are pasted, one after another, from the checkout's folder. */
function linesOf(demo: Demo, baseUrl: string, mailFolder: string): string[] {
  const election = `${baseUrl}/public/voting-events/${demo.electionCode}`;
  const poll = `${baseUrl}/public/voting-events/${demo.pollCode}`;
  const post = (url: string, body: string): string =>
    `curl -s -H "Authorization: Bearer $VOTE_KEY" -H 'Content-Type: application/json' -d ${body} ${url}`;
  const cast = JSON.stringify({ voterKey: 'KEY', email: demo.voterEmail, votes: [demo.electionEntry] });
  return [
    '# A first vote in an election: ask for a voter key, which comes by mail (into a file here), cast, confirm, read the results',
    `export VOTE_KEY=${demo.voteKey} READ_KEY=${demo.organizerKey}`,
    post(`${election}/voter-key/request`, `'${JSON.stringify({ email: demo.voterEmail })}'`),
    `sleep 2; KEY=$(grep -hoE '[0-9A-Z]{4}(-[0-9A-Z]{4}){3}' '${mailFolder}'/*.eml | tail -1)`,
    `CODE=$(curl -s -H "Authorization: Bearer $VOTE_KEY" -H 'Content-Type: application/json' -d '${cast.replace('"KEY"', `"'$KEY'"`)}' ${election}/ballot/cast | grep -oE '[0-9A-Z]{26}')`,
    post(`${election}/ballot/confirm`, `'{"confirmationCode":"'$CODE'"}'`),
    `curl -s -H "Authorization: Bearer $READ_KEY" ${baseUrl}/voting-events/${demo.electionCode}/results`,
    '',
    ...pollLines(demo, poll, post),
  ];
}

/** A paid poll asks for its price in the browser; a free one is cast at once. */
function pollLines(demo: Demo, poll: string, post: (url: string, body: string) => string): string[] {
  const visitorId = `vi_${randomBytes(16).toString('hex')}`;
  const bearer = `-H "Authorization: Bearer $VOTE_KEY"`;
  const sent = (body: unknown): string => `'${JSON.stringify(body)}'`;
  const confirm = [
    post(`${poll}/ballot/confirm`, `'{"confirmationCode":"'$CODE'"}'`),
    `curl -s ${bearer} ${poll}/results`,
  ];
  const code = `| grep -oE '[0-9A-Z]{26}'`;
  const ballot = { visitorId, votes: demo.pollEntries };
  if (!demo.pollIsPaid) {
    return [
      '# A vote in a poll: your own server names the visitor',
      `CODE=$(${post(`${poll}/ballot/cast`, sent(ballot))} ${code})`,
      ...confirm,
    ];
  }
  return [
    '# A paid vote: the first call asks for money. Open the checkoutUrl that it prints in a browser and press Pay',
    `PAY=$(${post(`${poll}/ballot/cast`, sent({ ...ballot, returnUrl: `${originOf(poll)}/reference` }))}); echo "$PAY" | grep -oE 'http[^"]*/pay/[^"]*'`,
    '# (or pay from here)',
    `curl -s -o /dev/null -d outcome=pay $(echo "$PAY" | grep -oE 'http[^"]*/pay/[^"]*')`,
    '# The second call finishes it',
    `CODE=$(${post(`${poll}/ballot/cast`, `'{"paymentAttemptId":"'$(echo "$PAY" | grep -oE 'pay_[0-9a-z]+' | head -1)'"}'`)} ${code})`,
    ...confirm,
  ];
}

const originOf = (address: string): string => new URL(address).origin;

/** At the first start creates the demo; at every start prints what to try. */
export async function showDemo(
  deps: Deps,
  baseUrl: string,
  sandbox: boolean,
  say: (line: string) => void,
): Promise<void> {
  const file = path.join(deps.config.dataDir, 'demo.json');
  let demo = await readDemo(file);
  if (demo === undefined) {
    demo = await createDemo(deps, sandbox);
    await writeFile(file, JSON.stringify(demo), { mode: 0o600 });
  }
  say('');
  for (const line of linesOf(demo, baseUrl, path.join(deps.config.dataDir, 'mail'))) say(line);
  say('');
  say(`Reference: ${baseUrl}/reference    Stop: Ctrl-C`);
}
