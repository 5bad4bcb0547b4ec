import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { publishTimedEvents } from '#src/voting-events/publish-status.ts';
import { noteFailure } from '#src/webhooks/failing-endpoint.ts';
import type { PostOutcome } from '#src/webhooks/guarded-post.ts';
import { EVENT_TYPE_NAMES } from '#src/webhooks/record-event.ts';
import type { DueDelivery } from '#src/webhooks/sending-repository.ts';
import { demand } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY } from '#test/harness/elections.ts';
import type { Received, Receiver } from '#test/harness/receiver.ts';
import { eventually, type TestAccount, untilTrue, useService } from '#test/harness/test-service.ts';
import { useReceivers } from '#test/harness/use.ts';

const receive = useReceivers();

const service = await useService();

const subscribe = (account: TestAccount, url: string, eventTypes: readonly string[], more = {}) =>
  account.make('/webhook-endpoints', { url, eventTypes, ...more });

const typesOf = (received: readonly Received[]): string[] => received.map(({ body }) => JSON.parse(body).type);
const until = (receiver: Receiver, count: number) =>
  eventually(() => (receiver.received.length >= count ? receiver.received : undefined));

/** A fresh account whose endpoint hears of some events at a receiver of its own. */
async function listen(eventTypes = ['voting_event.created'], answer?: Parameters<typeof receive>[0]) {
  const account = await service.account();
  const receiver = await receive(answer);
  const { id, secret } = await subscribe(account, receiver.url, eventTypes);
  const path = `/webhook-endpoints/${id}`;
  const rotate = async (): Promise<string> => (await account.post(`${path}/rotate-secret`)).body.data.secret;
  /** Waits until the endpoint is shown so. */
  const shown = (holds: (endpoint: Record<string, unknown>) => boolean) =>
    eventually(async () => {
      const endpoint = await account.show(path);
      return holds(endpoint) ? endpoint : undefined;
    });
  /** The first delivery that was tried. */
  const tried = () =>
    eventually(async () =>
      (await deliveries(account, id)).find((one: { attempts: unknown[] }) => one.attempts.length > 0),
    );
  const happen = () => account.event({}, [], false);
  return { account, receiver, id, secret, path, rotate, shown, tried, happen };
}

/** Which of some secrets a message is signed by. */
const signedBy = (message: Received | undefined, secrets: readonly string[]): boolean[] =>
  secrets.map((one) => {
    try {
      new Webhook(one).verify(message?.body ?? '', message?.headers ?? {});
      return true;
    } catch {
      return false;
    }
  });

const deliveries = (account: TestAccount, id: string, query = '') =>
  account.show(`/webhook-endpoints/${id}/deliveries${query}`);

describe('an endpoint', () => {
  test('tells its secret once, and has the shape of the contract', async () => {
    const account = await service.account();
    const own = { url: 'https://hooks.example.com/a', description: 'Ours', eventTypes: ['payment.succeeded'] };
    const made = await account.make('/webhook-endpoints', own);
    const path = `/webhook-endpoints/${made.id}`;
    expect(made).toEqual({
      ...{ id: expect.stringMatching(/^whe_/), votingEventId: null, ...own },
      ...{ status: 'active', disabledReason: null, consecutiveFailures: 0 },
      secretHint: `whsec_…${made.secret.slice(-4)}`,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      createdAt: expect.any(Number),
    });
    const { secret: _, ...shown } = made;
    expect(await account.show(path)).toEqual(shown);
    expect((await account.get('/webhook-endpoints')).body).toEqual({ data: [shown], nextCursor: null });
    const off = { ...shown, status: 'disabled', disabledReason: 'manual' };
    expect(await account.change(path, { status: 'disabled' })).toEqual(off);
    expect(await account.change(path, { status: 'active' })).toEqual(shown);
    expect((await account.patch(path, {})).status).toBe(422);
    expect(demand(await account.post(`${path}/rotate-secret`), 200).secret).not.toBe(made.secret);
    expect((await account.delete(path)).status).toBe(204);
    expect((await account.get(path)).status).toBe(404);
  });

  test('written with its scheme and host in capitals is taken, and reached', async () => {
    const account = await service.account();
    const shouted = await subscribe(account, 'HTTPS://Hooks.Example.com/A', ['payment.succeeded']);
    expect(shouted.url).toBe('https://Hooks.Example.com/A');
    const receiver = await receive();
    await subscribe(account, receiver.url.replace('http://', 'HTTP://'), ['voting_event.created']);
    await account.event({}, [], false);
    const [message] = await until(receiver, 1);
    expect(JSON.parse(message?.body ?? '').type).toBe('voting_event.created');
  });

  test('of one event is listed with that event and not with the account', async () => {
    const account = await service.account();
    const event = await account.event({}, PLURALITY, false);
    const limited = { votingEventCode: event.code };
    const made = await subscribe(account, 'https://hooks.example.com/a', ['voter.created'], limited);
    expect(made.votingEventId).toBe(event.id);
    const list = (query: string) => account.show(`/webhook-endpoints${query}`);
    expect(await list('')).toEqual([]);
    expect((await list(`?votingEventCode=${event.code}`)).map(({ id }: { id: string }) => id)).toEqual([made.id]);
  });

  test('of one event hears of its deletion, and is then in no list and no count', async () => {
    const account = await service.account('free');
    const receiver = await receive();
    const event = await account.event({}, [], false);
    const types = ['voting_event.deleted'];
    const { id } = await subscribe(account, receiver.url, types, { votingEventCode: event.code });
    await subscribe(account, receiver.url, ['voter.created'], { votingEventCode: event.code });
    expect((await account.delete(`/voting-events/${event.id}`)).status).toBe(204);
    const [told] = await until(receiver, 1);
    expect(JSON.parse(told?.body ?? '')).toMatchObject({ type: types[0], votingEventId: event.id });
    expect((await account.get(`/webhook-endpoints/${id}`)).status).toBe(404);
    // The free plan has two.
    for (const url of ['https://hooks.example.com/a', 'https://hooks.example.com/b'])
      await subscribe(account, url, types);
    expect((await account.get('/webhook-endpoints')).body.data).toHaveLength(2);
  });
});

describe('a message', () => {
  test('is signed so that an independent receiver accepts it, by both secrets after a rotation', async () => {
    const { receiver, secret, rotate, happen } = await listen();
    await happen();
    const [first] = await until(receiver, 1);
    const payload = new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {});
    expect(payload).toMatchObject({
      id: first?.headers['webhook-id'],
      type: 'voting_event.created',
      createdAt: expect.any(Number),
      votingEventId: expect.stringMatching(/^evt_/),
      data: { title: 'An event', status: 'draft' },
    });
    const rotated = await rotate();
    await happen();
    const second = (await until(receiver, 2))[1];
    for (const one of [secret, rotated])
      expect(() => new Webhook(one).verify(second?.body ?? '', second?.headers ?? {})).not.toThrow();
    // Every secret of the last day signs, the newest five of them, however often it was rotated.
    const secrets: string[] = [secret, rotated];
    for (let times = 0; times < 4; times += 1) secrets.push(await rotate());
    await happen();
    const third = (await until(receiver, 3))[2];
    expect(signedBy(third, secrets)).toEqual([false, true, true, true, true, true]);
    expect(() => new Webhook(secret).verify(`${second?.body} `, second?.headers ?? {})).toThrow();
  });

  test('is signed by the newest secret alone once a day has passed since the rotations', async () => {
    const { receiver, id, secret, rotate, happen } = await listen();
    const dayPasses = () =>
      service.query(
        `UPDATE webhook_endpoints SET updated_at = updated_at + 1, earlier_secrets =
           (SELECT jsonb_agg(jsonb_set(one, '{until}', '1')) FROM jsonb_array_elements(earlier_secrets) AS one) WHERE id = $1`,
        [id],
      );
    const signatures = async (count: number): Promise<string[]> => {
      await happen();
      const message = (await until(receiver, count)).at(-1);
      return (message?.headers['webhook-signature'] ?? '').split(' ');
    };
    const second = await rotate();
    expect(await signatures(1)).toHaveLength(2);
    await dayPasses();
    expect(await signatures(2)).toHaveLength(1);
    const third = await rotate();
    expect(await signatures(3)).toHaveLength(2);
    const last = receiver.received.at(-1);
    expect(signedBy(last, [secret, second, third])).toEqual([false, true, true]);
  });

  test('is sent for each of the facts that one change makes true, once', async () => {
    const account = await service.account();
    const receiver = await receive();
    const event = await account.event({ type: 'election', results: { visibility: 'published' } });
    // The log tells of itself at times of its own.
    const types = EVENT_TYPE_NAMES.filter((type) => type !== 'log.checkpoint');
    await subscribe(account, receiver.url, types);
    const voters = ['v1', 'v2', 'v3'].map((voterId) => ({ name: 'Vera', voterId }));
    await account.post(`/voting-events/${event.id}/voters/batch`, { voters });
    await account.patch(`/voting-events/${event.id}`, { status: 'closed' });
    await until(receiver, 5);
    // Until the time for confirmations is over nothing is published; then whoever comes first publishes it.
    await finishEvent(service, event.id);
    await Promise.all([1, 2, 3].map(() => publishTimedEvents(service.deps)));
    await until(receiver, 6);
    const told = typesOf(receiver.received).filter((type) => type !== 'log.checkpoint');
    const created = voters.map(() => 'voter.created');
    expect(told.toSorted()).toEqual(['results.published', ...created, 'voting_event.closed', 'voting_event.updated']);
  });

  test('goes to the endpoints of its event and of its account, and to nobody else', async () => {
    const account = await service.account();
    const stranger = await service.account();
    const [ofAccount, ofEvent] = [await receive(), await receive()];
    const [ofOther, ofStranger] = [await receive(), await receive()];
    const [one, two] = [await account.event({}, [], false), await account.event({}, [], false)];
    const types = ['voting_event.updated'];
    await subscribe(account, ofAccount.url, types);
    await subscribe(account, ofEvent.url, types, { votingEventCode: one.code });
    await subscribe(account, ofOther.url, types, { votingEventCode: two.code });
    await subscribe(stranger, ofStranger.url, types);
    await account.patch(`/voting-events/${one.id}`, { title: 'Anew' });
    await until(ofAccount, 1);
    const [told] = await until(ofEvent, 1);
    expect(told?.headers['webhook-id']).toBe(ofAccount.received[0]?.headers['webhook-id']);
    expect([ofOther.received, ofStranger.received]).toEqual([[], []]);
  });

  test('is kept while its endpoint is off, and sent when it is asked for again', async () => {
    const { account, receiver, id, path, happen } = await listen();
    await account.patch(path, { status: 'disabled' });
    await happen();
    const [skipped] = await deliveries(account, id, '?status=skipped');
    const retry = () => account.post(`${path}/deliveries/${skipped.id}/retry`);
    expect((await retry()).body.error.details.reason).toBe('endpoint_disabled');
    await account.patch(path, { status: 'active' });
    expect((await retry()).status).toBe(202);
    await until(receiver, 1);
    expect((await retry()).status).toBe(202);
    const both = await until(receiver, 2);
    expect(new Set(both.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([skipped.messageId]));
    const unknown = await account.post(`${path}/deliveries/whd_none/retry`);
    expect(unknown.status).toBe(404);
  });

  test('is sent again as it is asked for while its last attempt fails', async () => {
    const { account, id, path, receiver } = await listen();
    await service.query(
      `INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, status, tries, next_try_at, created_at)
       VALUES ('whd_c', $1, 'msg_c', 'voting_event.created', '{}', 'pending', 9, 9999999999999, 0)`,
      [id],
    );
    const nothing = { url: receiver.url, secret: '', earlierSecrets: [], endpointVersion: 0, body: '{}' };
    const begun = { ...nothing, id: 'whd_c', endpointId: id, messageId: 'msg_c', tries: 9 } as unknown as DueDelivery;
    demand(await account.post(`${path}/deliveries/whd_c/retry`), 202);
    await service.query("UPDATE webhook_deliveries SET next_try_at = 9999999999999 WHERE id = 'whd_c'");
    const outcome = { status: 500, error: null, body: '', retryAfter: null, durationMs: 1 } as unknown as PostOutcome;
    await service.deps.db.transaction((tx) => noteFailure(tx, service.deps, begun, Date.now(), outcome));
    expect(await service.query("SELECT status, tries FROM webhook_deliveries WHERE id = 'whd_c'")).toEqual([
      { status: 'pending', tries: 1 },
    ]);
  });

  test('is not sent again where it describes a voter or candidate who was deleted since', async () => {
    const types = ['voter.created', 'voter.updated', 'voter.deleted', 'candidate.created'];
    const { account, receiver, id, path } = await listen(types);
    const event = await account.event({ type: 'election' });
    const own = account.of(event);
    const positionIds = [event.positions[0]?.id];
    const candidates = [];
    for (const name of ['Gone', 'Stays'])
      candidates.push(await own.make('/candidates', { name, email: `${name}@erased.example`, positionIds }));
    // What was not sent yet ends with the deletion.
    const made = event.positions.flatMap((position) => position.candidates).length;
    await until(receiver, made + 2);
    demand(await own.delete(`/candidates/${candidates[0].id}`), 202);
    const [gone, stays] = await own.make('/voters/batch', {
      voters: ['gone', 'stays'].map((name) => ({ name, email: `${name}@erased.example` })),
    });
    await own.change(`/voters/${gone.id}`, { name: 'Renamed' });
    await finishEvent(service, event.id);
    await until(receiver, made + 5);
    demand(await own.delete(`/voters/${gone.id}`), 202);
    await until(receiver, made + 6);
    const sent = await deliveries(account, id, '');
    const again = async (type: string, voter: string) => {
      const message = receiver.received
        .map(({ body }) => JSON.parse(body))
        .find((one) => one.type === type && one.data.id === voter);
      const delivery = sent.find(({ messageId }: { messageId: string }) => messageId === message.id);
      return (await account.post(`${path}/deliveries/${delivery.id}/retry`)).status;
    };
    expect([await again('voter.created', gone.id), await again('voter.updated', gone.id)]).toEqual([404, 404]);
    expect([await again('voter.created', stays.id), await again('voter.deleted', gone.id)]).toEqual([202, 202]);
    const ofCandidates = candidates.map((candidate) => again('candidate.created', candidate.id));
    expect(await Promise.all(ofCandidates)).toEqual([404, 202]);
    await service.query('UPDATE voting_events SET deleted_at = 1 WHERE id = $1', [event.id]);
    expect(await again('candidate.created', candidates[1].id)).toBe(404);
  });

  test('ends, and loses the person whom it describes, when the voter or candidate is deleted', async () => {
    const types = ['voter.created', 'candidate.created'];
    const echo = (response: ServerResponse): unknown => response.writeHead(500).end('of erased.example');
    const { account, id, path } = await listen(['results.published'], echo);
    const event = await account.event({ type: 'election' });
    demand(await account.patch(path, { eventTypes: types }), 200);
    const own = account.of(event);
    const person = (name: string) => ({ name, email: `${name}@erased.example` });
    const positionIds = [event.positions[0]?.id];
    const candidate = await own.make('/candidates', { ...person('Stands'), positionIds });
    await own.make('/candidates', { ...person('Stays'), positionIds });
    const voters = await own.make('/voters/batch', { voters: ['a', 'b', 'c'].map(person) });
    const failed = async () =>
      (await deliveries(account, id)).filter((one: { attempts: unknown[] }) => one.attempts.length > 0).length === 5;
    await untilTrue(failed);
    const version = () => service.query('SELECT updated_at FROM webhook_endpoints WHERE id = $1', [id]);
    const [before] = await version();
    demand(await own.delete(`/candidates/${candidate.id}`), 202);
    await finishEvent(service, event.id);
    demand(await own.delete(`/voters/${voters[0].id}`), 202);
    demand(await own.post('/voters/bulk', { action: 'delete', voterIds: [voters[1].id, voters[2].id] }), 200);
    const left = () =>
      service.query(
        `SELECT d.status, d.body ~ 'erased' AS named, bool_or(a.response_body IS NOT NULL) AS answered
         FROM webhook_deliveries d LEFT JOIN webhook_attempts a ON a.delivery_id = d.id
         WHERE d.endpoint_id = $1 AND d.event_type LIKE '%.created' GROUP BY d.id, 1, 2 ORDER BY 2, 1`,
        [id],
      );
    const ended = { status: 'skipped', named: false, answered: false };
    expect(await left()).toEqual([...[ended, ended, ended, ended], { status: 'pending', named: true, answered: true }]);
    // A sender forgets what it has read before.
    expect((await version())[0].updated_at).not.toEqual(before.updated_at);
    demand(await own.delete('?force=true'), 204);
    await untilTrue(async () => (await left()).every(({ status }) => status === 'skipped'));
    expect((await left()).filter(({ named }) => named)).toEqual([]);
  });

  test('can be asked for as a test', async () => {
    const { account, receiver, path } = await listen(['voter.created']);
    const answer = await account.post(`${path}/test`);
    expect(answer.status).toBe(202);
    const [one] = await until(receiver, 1);
    expect(JSON.parse(one?.body ?? '').type).toBe('webhook_endpoint.test');
  });
});

describe('a receiver', () => {
  const ELSEWHERE = { location: 'http://127.0.0.1:1/' };
  const answers: readonly (readonly [string, (response: ServerResponse) => void, number | null, string | null])[] = [
    ['that fails', (response) => response.writeHead(500).end('no'), 500, null],
    ['that sends us elsewhere', (response) => response.writeHead(302, ELSEWHERE).end(), 302, 'redirect'],
    ['that breaks off', (response) => response.destroy(), null, 'broken_off'],
  ];
  test.each(answers)('%s is tried again, by the plan', async (_what, answer, status, error) => {
    const { account, tried, happen } = await listen(undefined, answer);
    await happen();
    const delivery = await tried();
    expect(delivery).toMatchObject({
      status: 'pending',
      responseStatus: status,
      attempts: [{ number: 1, responseStatus: status, error, durationMs: expect.any(Number) }],
    });
    const wait = delivery.nextTryAt - delivery.attempts[0].at;
    expect(wait).toBeGreaterThanOrEqual(3_900);
    expect(wait).toBeLessThan(8_000);
    const [endpoint] = (await account.get('/webhook-endpoints')).body.data;
    expect(endpoint.consecutiveFailures).toBe(1);
  });

  test('that succeeds after failures gets the same message, and clears its count', async () => {
    const { account, receiver, id, shown, happen } = await listen(undefined, (response, _request, times) =>
      response.writeHead(times === 1 ? 503 : 200).end(),
    );
    await happen();
    await until(receiver, 1);
    await untilTrue(async () => (await deliveries(account, id))[0]?.attempts.length === 1);
    await service.query('UPDATE webhook_deliveries SET next_try_at = 0 WHERE endpoint_id = $1', [id]);
    const [one, two] = await until(receiver, 2);
    expect([two?.body, two?.headers['webhook-id']]).toEqual([one?.body, one?.headers['webhook-id']]);
    const endpoint = await shown(({ consecutiveFailures }) => consecutiveFailures === 0);
    expect(endpoint.status).toBe('active');
  });

  test('that is gone is switched off at once', async () => {
    const { shown, happen } = await listen(undefined, (response) => response.writeHead(410).end());
    await happen();
    const endpoint = await shown(({ status }) => status === 'disabled');
    expect(endpoint.disabledReason).toBe('gone');
  });

  test('that has failed ten times and taken nothing for three days is switched off, and its owner is told', async () => {
    const { account, id, shown, happen } = await listen(undefined, (response) => response.writeHead(500).end());
    const email = 'owner@mail.example';
    await service.query('UPDATE accounts SET contact_email = $2 WHERE id = $1', [account.id, email]);
    const long = service.deps.clock.now() - 73 * 3_600_000;
    const failed = 'UPDATE webhook_endpoints SET consecutive_failures = 9, last_success_at = $2 WHERE id = $1';
    await service.query(failed, [id, long]);
    await happen();
    const endpoint = await shown(({ status }) => status === 'disabled');
    expect(endpoint.disabledReason).toBe('consecutive_failures');
    const mail = await eventually(() => service.mails().find((text) => text.includes(email)));
    expect(mail).toContain(id);
  });

  test('that asks for patience gets it', async () => {
    const { tried, happen } = await listen(undefined, (response) =>
      response.writeHead(429, { 'retry-after': '3600' }).end(),
    );
    await happen();
    const delivery = await tried();
    expect(delivery.nextTryAt - delivery.attempts[0].at).toBeGreaterThanOrEqual(60_000);
  });

  test('that answers without end costs no memory, and keeps two thousand characters', async () => {
    const { account, id, happen } = await listen(undefined, (response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(65_536, 'x');
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    await happen();
    const delivery = await eventually(async () => (await deliveries(account, id, '?status=delivered'))[0]);
    expect(delivery.attempts[0].responseBody).toHaveLength(2_048);
  });
});

test('a change of an endpoint that changes nothing stands nowhere: a repeat whose answer was lost is such a change', async () => {
  const { account, id, path, receiver } = await listen();
  const body = { url: receiver.url, description: 'Ours', status: 'active' };
  const [first, again] = [await account.change(path, body), await account.change(path, body)];
  expect(again).toEqual(first);
  const rows = await service.query("SELECT after FROM audit_entries WHERE resource = $1 AND action LIKE '%updated'", [
    id,
  ]);
  expect(rows.map(({ after }) => after)).toEqual([{ fields: ['description'] }]);
});

test('no endpoint is left of an event that is deleted while it is made', async () => {
  const account = await service.account();
  for (let round = 0; round < 20; round += 1) {
    const event = await account.event({}, [], false);
    const body = {
      url: 'https://hooks.example.com/a',
      eventTypes: ['voting_event.created'],
      votingEventCode: event.id,
    };
    await Promise.all([account.delete(`/voting-events/${event.id}`), account.post('/webhook-endpoints', body)]);
  }
  const left = await service.query('SELECT FROM webhook_endpoints WHERE account_id = $1 AND retired_at IS NULL', [
    account.id,
  ]);
  expect(left).toEqual([]);
});
