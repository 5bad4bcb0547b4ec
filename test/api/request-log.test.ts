import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import { visitor } from '#test/harness/elections.ts';
import { sendRaw } from '#test/harness/raw-http.ts';
import { useService } from '#test/harness/test-service.ts';

const lines: string[] = [];

const service = await useService({ log: createLog('info', { write: (line) => lines.push(line) }) });
const account = await service.account();

interface Line {
  readonly [field: string]: unknown;
}

/** The lines of one request. */
const linesOf = (requestId: string): Line[] =>
  lines.map((line): Line => JSON.parse(line)).filter((line) => line['requestId'] === requestId);

const ALLOWED = 'account address code key level method ms msg reason requestId route status time'.split(' ');

describe('the log', () => {
  test('has one line for every request, refused or not, with the fields that are listed and no others', async () => {
    const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
    const id = () => `log-${randomUUID()}`;
    const cases: [expected: Line, ask: (headers: Record<string, string>) => Promise<unknown>][] = [
      [
        { status: 200, route: '/me', account: account.id, key: expect.stringMatching(/^vsk_….{4}$/) },
        (headers) => service.call('GET', '/me', undefined, { key: account.read, headers }),
      ],
      [
        { status: 401, code: 'unauthorized', route: '/voting-events' },
        (headers) => service.call('GET', '/voting-events', undefined, { key: 'vsk_wrong', headers }),
      ],
      [
        { status: 403, code: 'insufficient_scope', route: '/voting-events', account: account.id },
        (headers) =>
          service.call('POST', '/voting-events', { title: 'A', type: 'poll' }, { key: account.read, headers }),
      ],
      [
        { status: 403, code: 'forbidden', reason: 'results_not_available' },
        (headers) =>
          service.call('GET', `/public/voting-events/${event.id}/results`, undefined, { key: account.vote, headers }),
      ],
      [
        { status: 404, code: 'not_found', route: '/voting-events/:idOrCode' },
        (headers) => service.call('GET', '/voting-events/NOWHERE1', undefined, { key: account.read, headers }),
      ],
      [
        { status: 422, code: 'validation_error', route: '/voting-events' },
        (headers) => account.post('/voting-events', { title: 7 }, headers),
      ],
      [
        { status: 404, code: 'not_found' },
        (headers) => service.call('GET', '/nowhere', undefined, { key: account.read, headers }),
      ],
      [
        { status: 400, code: 'bad_request' },
        (headers) =>
          sendRaw(
            service.port,
            `GET /me HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Request-Id: ${headers['X-Request-Id']}\r\n\r\n`,
          ),
      ],
    ];
    for (const [expected, ask] of cases) {
      const requestId = id();
      await ask({ 'X-Request-Id': requestId });
      const found = linesOf(requestId);
      expect(found).toEqual([
        expect.objectContaining({ ...expected, address: expect.stringMatching(/127\.0\.0\.1|::1/) }),
      ]);
      expect(Object.keys(found[0] ?? {}).filter((name) => !ALLOWED.includes(name))).toEqual([]);
    }
  });

  test('holds no key, code, address of a voter, name or choice', async () => {
    const event = await account.event({ voter: { saveVoterInfo: true } }, [
      { votingMethod: 'plurality', candidates: ['Zebedee', 'Bea'] },
    ]);
    const [position, visitorId] = [event.positions[0], visitor()];
    const cast = await account.page(event, 'ballot/cast', {
      ...{ visitorId, email: 'secret.person@mail.example' },
      votes: [{ positionId: position?.id, candidateId: position?.candidates[0] }],
    });
    const code = cast.body.data.confirmationCode;
    await account.page(event, 'ballot/confirm', { confirmationCode: code });
    const all = lines.join('');
    for (const secret of [
      code,
      account.vote,
      account.write,
      account.read,
      'secret.person',
      visitorId,
      'Xanthippe',
      'Zebedee',
      position?.candidates[0],
    ])
      expect(all).not.toContain(secret);
  });
});
