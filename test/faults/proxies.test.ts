import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { sendRaw } from '#test/harness/raw-http.ts';
import { ask } from '#test/harness/real-processes.ts';
import { freePort } from '#test/harness/started-service.ts';
import { eventually, useService } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const PAGE = readFileSync(path.resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');
const folder = useFolder('voting-proxies-');
chmodSync(folder, 0o755);

const lines: Record<string, unknown>[] = [];
const service = await useService({
  environment: { TRUST_PROXY: '1' },
  log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }),
});
const account = await service.account();

/** Debian's packages. Where one is missing its test is not run, but in CI, which installs them. */
const PROXIES = [
  {
    name: 'haproxy',
    program: '/usr/sbin/haproxy',
    own: (text: string, port: number) => text.replace(/bind :443 ssl .*/, `bind 127.0.0.1:${port}`),
    words: (file: string) => ['-db', '-f', file],
  },
  {
    name: 'nginx',
    program: '/usr/sbin/nginx',
    own: (text: string, port: number) =>
      `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {} http { access_log off; client_body_temp_path ${folder}/nginx; proxy_temp_path ${folder}/nginx; fastcgi_temp_path ${folder}/nginx; uwsgi_temp_path ${folder}/nginx; scgi_temp_path ${folder}/nginx;\n${text.replace('listen 443 ssl', `listen 127.0.0.1:${port}`).replace(/ssl_certificate.*/g, '')}}`,
    words: (file: string) => ['-e', 'stderr', '-c', file],
  },
  {
    name: 'caddy',
    program: '/usr/bin/caddy',
    own: (text: string, port: number) =>
      `{\n  admin off\n}\n${text.replace('vote.example.org', `http://127.0.0.1:${port}`)}`,
    words: (file: string) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
];

test.each(PROXIES.filter(({ program }) => existsSync(program) || process.env['REQUIRE_PROXIES'] !== undefined))(
  'the page’s text for $name brings every request to the process that is there, with the caller’s address',
  async ({ name, program, own, words }) => {
    const [, text = ''] = new RegExp(`^\`\`\`${name}\\n([^]*?)^\`\`\``, 'm').exec(PAGE) ?? [];
    const [port, nobody] = [await freePort(), await freePort()];
    const config = own(text, port)
      .replace('10.0.0.11:3000', `127.0.0.1:${service.port}`)
      .replace('10.0.0.12:3000', `127.0.0.1:${nobody}`);
    const file = path.join(folder, `${name}.conf`);
    mkdirSync(path.join(folder, 'nginx'), { recursive: true });
    writeFileSync(file, config);
    const child = spawn(program, words(file), {
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    try {
      await eventually(async () =>
        (await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined))?.status === 200 ? true : undefined,
      ).catch(() => expect.fail(said));
      // By now every process was asked how it is.
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      const event = await account.event();
      const large = { visitorId: visitor(), votes: votesFor(event), name: 'x'.repeat(200) };
      for (let times = 0; times < 20; times += 1) {
        const headers = { 'X-Forwarded-For': '192.0.2.77', 'X-Request-Id': `through-${name}-${times}` };
        const path_ = `/public/voting-events/${event.id}/ballot/cast`;
        const body = { ...large, visitorId: visitor() };
        expect((await ask(port, 'POST', path_, { key: account.vote, body, headers })).status).toBe(201);
      }
      const seen = lines.filter(({ requestId }) => String(requestId).startsWith(`through-${name}-`));
      expect(seen.map(({ address }) => address)).toEqual(Array.from({ length: 20 }, () => '127.0.0.1'));
    } finally {
      // Not SIGKILL, which would leave workers of nginx behind.
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  },
);

test('a check in HTTP/1.0 needs no host, and HTTP/1.1 does', async () => {
  const old = await sendRaw(service.port, 'GET /health HTTP/1.0\r\n\r\n');
  const without = await sendRaw(service.port, 'GET /health HTTP/1.1\r\n\r\n', { halfClose: true });
  const bad = await sendRaw(service.port, 'GET /health HTTP/1.0\r\nHost: a b\r\n\r\n');
  expect([old.status, without.status, bad.status]).toEqual([200, 400, 400]);
  const console = await sendRaw(service.port, 'GET /console HTTP/1.0\r\n\r\n');
  expect(console.status).toBe(404);
});
