import { Agent, request } from 'undici';
import { z } from 'zod';
import { failureOf, type PayerField, PaymentProviderRefused, PaymentProviderUnavailable } from './provider-fault.ts';

const NAME = 'provider_b';
/** The provider's answers have a few KiB; a longer body is treated as unreadable. */
const MAX_ANSWER_BYTES = 1_048_576;

const envelopeSchema = z.object({
  status: z.boolean(),
  message: z.string().nullish(),
  code: z.string().nullish(),
  data: z.unknown().optional(),
});

interface ProviderBCall {
  readonly method: 'GET' | 'POST';
  /** Begins with `/`, and may have a query. */
  readonly path: string;
  readonly secretKey: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** The provider does not know the transaction, and answered with 404 or 400. */
export class TransactionNotFound extends PaymentProviderRefused {}

/** Parses JSON, and keeps an integer that a double cannot hold as text: a rounded ID would name another object. */
export function parseKeepingIds(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const inexact = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    return inexact && context?.source !== undefined ? context.source : value;
  });
}

/** An answer in another format, such as a gateway's error page, is not the provider's refusal: its 403 says nothing about the account. */
function unreadable(status: number): PaymentProviderUnavailable | PaymentProviderRefused {
  return status === 429 || status >= 500
    ? failureOf(NAME, status, null)
    : new PaymentProviderUnavailable(NAME, 'unreadable', status);
}

function parseEnvelope(text: string, status: number): z.infer<typeof envelopeSchema> {
  let json: unknown;
  try {
    json = parseKeepingIds(text);
  } catch {
    throw unreadable(status);
  }
  const parsed = envelopeSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw unreadable(status);
}

function dataOf(status: number, text: string): unknown {
  const envelope = parseEnvelope(text, status);
  if (status >= 200 && status < 300 && envelope.status) return envelope.data;
  const missing = status === 404 || envelope.code === 'transaction_not_found';
  if (missing || (status === 400 && /reference not found/i.test(envelope.message ?? ''))) {
    throw new TransactionNotFound(NAME, status, 'transaction_not_found');
  }
  // `status: false` means a refusal, even with HTTP status 200.
  throw failureOf(NAME, status < 400 ? 400 : status, envelope.code, payerFieldOf(envelope.message ?? ''));
}

/** The field of a refusal. The provider names no parameter: only the text of its message shows the field. */
function payerFieldOf(message: string): PayerField | null {
  if (/\bemail\b/i.test(message)) return 'email';
  return /\bcallback/i.test(message) ? 'returnUrl' : null;
}

function transportFailure(fault: unknown): PaymentProviderUnavailable {
  const name = fault instanceof Error ? fault.name : '';
  if (name === 'ResponseExceededMaxSizeError') return new PaymentProviderUnavailable(NAME, 'unreadable');
  const late = name === 'TimeoutError' || name === 'AbortError' || /Timeout/.test(name);
  return new PaymentProviderUnavailable(NAME, late ? 'timeout' : 'network');
}

/** Exchanges JSON with provider_b. @param timeoutMs for the whole exchange, from the connection to the last byte */
export function createProviderBHttp(baseUrl: string, timeoutMs: number) {
  const [root = ''] = /^.*[^/]/s.exec(baseUrl) ?? [];
  if (!/^https?:$/.test(new URL(root).protocol)) throw new RangeError('the address of provider_b is http or https');
  const agent = new Agent({
    ...{ connect: { timeout: timeoutMs }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
    maxResponseSize: MAX_ANSWER_BYTES,
  });

  async function exchange({ method, path, secretKey, body }: ProviderBCall): Promise<{ status: number; text: string }> {
    const answer = await request(`${root}${path}`, {
      method,
      dispatcher: agent,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${secretKey}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  return {
    /** The `data` of a successful answer. */
    async call(call: ProviderBCall): Promise<unknown> {
      let answer: { status: number; text: string };
      try {
        answer = await exchange(call);
      } catch (fault) {
        throw transportFailure(fault);
      }
      return dataOf(answer.status, answer.text);
    },
    close: () => agent.close(),
  };
}
