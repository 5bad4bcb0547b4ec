import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { startReceiver } from '#test/harness/receiver.ts';
import { eventually, useService } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';
import { VotingService, WebhookVerificationError, webhooks } from '../../sdk/typescript/src/index.ts';

const service = await useService();
const receiver = await use(startReceiver());
const { write: key } = await service.account();
const voting = new VotingService({ baseUrl: `http://127.0.0.1:${service.port}`, key });
const body = { url: receiver.url, eventTypes: ['voting_event.created' as const] };
const { data: endpoint } = await voting.post('/webhook-endpoints', { body });
const { secret } = endpoint;
await voting.post('/voting-events', { body: { title: 'Où mange-t-on ? 🍕', type: 'poll' } });
const delivered = await eventually(() => receiver.received[0]);
// While the secret is rotated, a message bears a signature of each.
const rotated = await voting.post('/webhook-endpoints/{id}/rotate-secret', { path: { id: endpoint.id } });
await voting.post('/voting-events', { body: { title: 'Second', type: 'poll' } });
await eventually(() => receiver.received[1]);
const secrets = [secret, rotated.data.secret];

/** A message that anybody could have signed who has this secret. */
function signed(id: string, seconds: string, body: string, by: string): Record<string, string> {
  const key = Buffer.from(by.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
}
const now = (shift = 0): string => String(Math.floor(Date.now() / 1_000) + shift);

describe('webhooks.verify', () => {
  test('accepts a delivery of the service, from Node’s headers and from others, as text and as bytes', async () => {
    const { body, headers } = delivered;
    const message = await webhooks.verify(body, headers, secret);
    expect(message).toEqual(JSON.parse(body));
    if (message.type === 'voting_event.created') expect(message.data.title).toBe('Où mange-t-on ? 🍕');
    expect(message.type).toBe('voting_event.created');
    expect(await webhooks.verify(Buffer.from(body), new Headers(headers), secret)).toEqual(message);
  });

  test('accepts what another library of the standard has signed', async () => {
    const body = '{"type":"x"}';
    const at = new Date();
    const signature = new Webhook(secret).sign('msg_1', at, body);
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)) };
    expect(await webhooks.verify(body, { ...headers, 'webhook-signature': signature }, secret)).toEqual({ type: 'x' });
  });

  test('accepts either secret while it is rotated, and one of several endpoints', async () => {
    const [, { body, headers } = delivered] = receiver.received;
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const one of secrets)
      expect(await webhooks.verify(body, headers, one)).toMatchObject({ data: { title: 'Second' } });
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    expect(await webhooks.verify(body, headers, [other, secret])).toMatchObject({ data: { title: 'Second' } });
  });

  test('refuses every message that was changed, replayed late or signed by others', async () => {
    const { body, headers } = delivered;
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    const id = headers['webhook-id'] ?? '';
    const signature = headers['webhook-signature'] ?? '';
    const without = (name: string) => ({ ...headers, [name]: undefined });
    const forged: readonly [why: string, body: string, headers: Record<string, string | undefined>, secret?: string][] =
      [
        ['another body', body.replace('poll', 'Poll'), headers],
        ['a body that was written again', `${body} `, headers],
        ['another id', body, { ...headers, 'webhook-id': 'msg_other' }],
        ['a fresh time', body, { ...headers, 'webhook-timestamp': now(1) }],
        ['an old message', body, signed(id, now(-310), body, secret)],
        ['a message of the future', body, signed(id, now(310), body, secret)],
        ['a time that is no number', body, signed(id, 'soon', body, secret)],
        ['a time that is no whole number', body, signed(id, `${now()}.5`, body, secret)],
        ['a time in hex', body, signed(id, `0x${Number(now()).toString(16)}`, body, secret)],
        ['another secret', body, headers, other],
        ['signed by others', body, signed(id, now(), body, other)],
        ['another version', body, { ...headers, 'webhook-signature': signature.replace('v1,', 'v1a,') }],
        ['no version', body, { ...headers, 'webhook-signature': signature.replace('v1,', '') }],
        ['half a signature', body, { ...headers, 'webhook-signature': signature.slice(0, 25) }],
        ['an empty signature', body, { ...headers, 'webhook-signature': 'v1,' }],
        ['no base64', body, { ...headers, 'webhook-signature': 'v1,ÄÄÄ' }],
        ['no signature', body, without('webhook-signature')],
        ['no time', body, without('webhook-timestamp')],
        ['no id', body, without('webhook-id')],
      ];
    for (const [why, text, sent, by = secret] of forged) {
      const outcome = await webhooks.verify(text, sent, by).catch((error: unknown) => error);
      expect([why, outcome]).toEqual([why, expect.any(WebhookVerificationError)]);
    }
    // The same within the tolerance is accepted: it is what was changed that is refused.
    await webhooks.verify(body, signed(id, now(-290), body, secret), secret);
    await webhooks.verify(body, signed(id, now(-310), body, secret), secret, { toleranceSeconds: 600 });
  });

  test.each(['', 'whsec_', 'whsec_ä'])('takes no secret that anybody could have: %j', async (empty) => {
    const { body, headers } = delivered;
    await expect(webhooks.verify(body, headers, empty)).rejects.toBeInstanceOf(TypeError);
  });
});
