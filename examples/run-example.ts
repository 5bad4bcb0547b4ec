import './use-sdk-sources.ts';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { VotingService } from '#sdk/index.ts';
import { loadEnvironmentFile, readConfig } from '#src/config.ts';
import { offersConsole } from '#src/console/guard-console.ts';

// `npm run example`: the voting page as customers copy it, beside the demo of `npm start`.

/** The names that `npm start` wrote of its demo. */
function readDemo(dataDir: string): NodeJS.Dict<string> {
  const file = path.join(dataDir, 'demo.env');
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch (fault) {
    if (!(fault instanceof Error) || Reflect.get(fault, 'code') !== 'ENOENT') throw fault;
    process.stderr.write(`There is no ${file}. Run "npm start" first, and leave it running.\n`);
    return process.exit(1);
  }
}

/** The first port from one on that no program listens on. */
async function freePort(first: number): Promise<number> {
  const probe = createServer().listen(first, '127.0.0.1');
  try {
    await once(probe, 'listening');
    return first;
  } catch (fault) {
    if (Reflect.get(Object(fault), 'code') !== 'EADDRINUSE') throw fault;
    return freePort(first + 1);
  } finally {
    probe.close();
  }
}

if (process.argv.includes('--help')) {
  process.stdout.write(
    'npm run example: serves the voting page of examples/voting-page beside the demo of a running "npm start".\n',
  );
  process.exit();
}
loadEnvironmentFile();
const config = readConfig();
const { dataDir } = config;
const demo = readDemo(dataDir);
// Where the service says that it listens: `npm start` may have been given another PORT than this process.
const address = new URL(demo['API'] ?? `http://127.0.0.1:${config.port}`);
// One port after the sandbox's, or the next that is free. An address of HTTP names no port 80.
const port = await freePort(Number(address.port || '80') + 2);
Object.assign(process.env, demo, { PORT: String(port) });
// Links in mails lead to where the page is now.
const voting = new VotingService({ baseUrl: address.origin, key: demo['WRITE_KEY'] ?? '' });
for (const code of [demo['EVENT'] ?? '', demo['POLL'] ?? '']) {
  const { votingPageUrl } = (await voting.events.get(code)).data;
  const moved = votingPageUrl?.replace(/^http:\/\/127\.0\.0\.1:\d+/, `http://127.0.0.1:${port}`);
  if (moved !== undefined && moved !== votingPageUrl) await voting.events.update(code, { votingPageUrl: moved });
}
await import(new URL('voting-page/server.mjs', import.meta.url).href);
const consoleToo = offersConsole(config) ? `${address.origin}/console, and as files into ` : '';
process.stdout.write(
  `Mails with voter keys, as of vera@club.example, come into ${consoleToo}${path.join(dataDir, 'mail')}\n`,
);
