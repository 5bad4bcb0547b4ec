import { Agent, request } from 'undici';
import { z } from 'zod';
import { failureOf, type PayerField, PaymentProviderRefused, PaymentProviderUnavailable } from './provider.ts';

const NAME = 'provider_b';
/** Its answers have a few KiB. A longer body is no answer to the question. */
const MAX_ANSWER_BYTES = 1_048_576;

const envelopeSchema = z.object({
  status: z.boolean(),
  message: z.string().nullish(),
  code: z.string().nullish(),
  data: z.unknown().optional(),
});

interface ProviderBCall {
  readonly method: 'GET' | 'POST';
  /** Begins with `/`. */
  readonly path: string;
  readonly secretKey: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

interface ProviderBHttp {
  /** The `data` of a successful answer. */
  call(call: ProviderBCall): Promise<unknown>;
  close(): Promise<void>;
}

/** A refusal that says that there is no such transaction; it has come as 404 and as 400. */
export class TransactionNotFound extends PaymentProviderRefused {}

/** JSON with whole numbers that a double cannot hold kept as text: an ID that is off by one is another's. */
export function parseKeepingIds(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const inexact = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    return inexact && context?.source !== undefined ? context.source : value;
  });
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new PaymentProviderUnavailable(NAME, 'unreadable');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What is no answer of the provider's own, such as a gateway's page, refuses nothing: a 403 of it is not the account's. */
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
  // `status: false` is a refusal whatever the HTTP status says.
  throw failureOf(NAME, status < 400 ? 400 : status, envelope.code, payerFieldOf(envelope.message ?? ''));
}

/** This provider names no parameter: its words alone say what a refusal is about. */
function payerFieldOf(message: string): PayerField | null {
  if (/\bemail\b/i.test(message)) return 'email';
  return /\bcallback/i.test(message) ? 'returnUrl' : null;
}

function transportFailure(fault: unknown): PaymentProviderUnavailable {
  const name = fault instanceof Error ? fault.name : '';
  const late = name === 'TimeoutError' || name === 'AbortError' || /Timeout/.test(name);
  return new PaymentProviderUnavailable(NAME, late ? 'timeout' : 'network');
}

/**
 * Speaks JSON with provider_b.
 * @param timeoutMs for the whole exchange, from the connection to the last byte.
 */
export function createProviderBHttp(baseUrl: string, timeoutMs: number): ProviderBHttp {
  const [root = ''] = /^.*[^/]/s.exec(baseUrl) ?? [];
  if (!/^https?:$/.test(new URL(root).protocol)) throw new RangeError('the address of provider_b is http or https');
  const agent = new Agent({ connect: { timeout: timeoutMs }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });

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
    return { status: answer.statusCode, text: await readText(answer.body) };
  }

  return {
    async call(call) {
      let answer: { status: number; text: string };
      try {
        answer = await exchange(call);
      } catch (fault) {
        throw fault instanceof PaymentProviderUnavailable ? fault : transportFailure(fault);
      }
      return dataOf(answer.status, answer.text);
    },
    close: () => agent.close(),
  };
}
