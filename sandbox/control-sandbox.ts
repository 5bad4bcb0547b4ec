import { z } from 'zod';
import { DISPUTE_STATUSES, type DisputeStatus, REFUND_STATUSES, type RefundStatus } from './checkouts.ts';
import { NO_FAULTS, type SandboxFaults, someFaultsSchema } from './faults.ts';
import type { ListedPage } from './list-pages.ts';
import type { ApiAnswer, ApiRequest } from './sandbox-context.ts';
import { readSandboxKey } from './sandbox-keys.ts';

/** Actions on a running sandbox that no real provider offers. */
export interface SandboxControls {
  readonly faults: SandboxFaults;
  /** The newest requests to the APIs, oldest first. */
  readonly requests: readonly ApiRequest[];
  /** The newest pages of both providers, newest first. */
  pages(): readonly ListedPage[];
  /** Lets time pass for the open pages, so that they expire. Pages that are opened later have their full hour. */
  advance(ms: number): void;
  /**
   * Returns a payment, as the merchant or the payer's bank would.
   * @param reference the merchant's reference of the page
   * @param amount of a refund, in the provider's unit; by default the whole payment
   */
  reverse(reference: string, kind: 'refund' | 'dispute', amount?: number): Promise<void>;
  /** Opens or decides a dispute, as the payer's bank would. */
  dispute(reference: string, status: DisputeStatus): Promise<void>;
  /** Lets a payment by a method that takes days arrive or fail. */
  finishDelayed(reference: string, arrives: boolean): Promise<void>;
  /** Moves the newest refund of a page to a status. It may fail after it had succeeded. */
  moveRefund(reference: string, status: RefundStatus): Promise<void>;
  /** Restricts an account as the provider would, or lets it take payments again. */
  setAccountReady(secretKey: string, ready: boolean): void;
  /** Sets the URL to which an account's messages go from now on. */
  registerWebhook(secretKey: string, url: string): void;
}

const YEAR_MS = 366 * 86_400_000;
const clockSchema = z.strictObject({ advanceMs: z.int().min(-YEAR_MS).max(YEAR_MS) });
const reversalSchema = z.strictObject({
  reference: z.string(),
  kind: z.enum(['refund', 'dispute']),
  amount: z.int().min(1).optional(),
});
const disputeSchema = z.strictObject({ reference: z.string(), status: z.enum(DISPUTE_STATUSES) });
const delayedSchema = z.strictObject({ reference: z.string(), arrives: z.boolean() });
const refundSchema = z.strictObject({ reference: z.string(), status: z.enum(REFUND_STATUSES) });
const accountSchema = z.strictObject({ secretKey: z.string(), ready: z.boolean() });
const webhookSchema = z.strictObject({
  secretKey: z.string().refine((key) => readSandboxKey(key) !== undefined, 'is no key of the sandbox'),
  url: z.url({ protocol: /^https?$/ }),
});

const done = (data: unknown): ApiAnswer => ({ status: 200, body: { data } });
const refused = (status: number, message: string): ApiAnswer => ({ status, body: { error: { message } } });

/** Runs `work` with a body that fits the schema; answers any other body with its faults. */
async function take<T>(
  schema: z.ZodType<T>,
  body: unknown,
  work: (input: T) => unknown | Promise<unknown>,
): Promise<ApiAnswer> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return refused(400, z.prettifyError(parsed.error));
  return done(await work(parsed.data));
}

/** The same, but answers 409 if `work` throws, because the page is not in the right state. */
async function takeIfPossible<T>(
  schema: z.ZodType<T>,
  body: unknown,
  work: (input: T) => Promise<void>,
): Promise<ApiAnswer> {
  try {
    return await take(schema, body, async (input) => {
      await work(input);
      return input;
    });
  } catch (fault) {
    return refused(409, fault instanceof Error ? fault.message : 'not done');
  }
}

function listRequests(controls: SandboxControls): ApiAnswer {
  return done(controls.requests.map(({ query, ...request }) => ({ ...request, query: Object.fromEntries(query) })));
}

/**
 * Answers `/_sandbox/…`: `POST faults` sets some faults (`DELETE` switches all off), `POST clock { advanceMs }`,
 * `POST reversals { reference, kind, amount? }`, `POST disputes { reference, status }`, `POST delayed { reference, arrives }`,
 * `POST refunds { reference, status }`, `POST accounts { secretKey, ready }`, `POST webhooks { secretKey, url }`, `GET faults`,
 * `GET pages` and `GET requests`.
 */
export async function answerControl(
  controls: SandboxControls,
  { method, path, body }: Pick<ApiRequest, 'method' | 'path' | 'body'>,
): Promise<ApiAnswer> {
  switch (`${method} ${path.slice('/_sandbox/'.length)}`) {
    case 'GET faults':
      return done(controls.faults);
    case 'POST faults':
      return take(someFaultsSchema, body, (some) => Object.assign(controls.faults, some));
    case 'DELETE faults':
      return done(Object.assign(controls.faults, NO_FAULTS));
    case 'POST clock':
      return take(clockSchema, body, ({ advanceMs }) => {
        controls.advance(advanceMs);
        return { advanceMs };
      });
    case 'POST reversals':
      return takeIfPossible(reversalSchema, body, ({ reference, kind, amount }) =>
        controls.reverse(reference, kind, amount),
      );
    case 'POST disputes':
      return takeIfPossible(disputeSchema, body, ({ reference, status }) => controls.dispute(reference, status));
    case 'POST delayed':
      return takeIfPossible(delayedSchema, body, ({ reference, arrives }) =>
        controls.finishDelayed(reference, arrives),
      );
    case 'POST refunds':
      return takeIfPossible(refundSchema, body, ({ reference, status }) => controls.moveRefund(reference, status));
    case 'POST accounts':
      return take(accountSchema, body, ({ secretKey, ready }) => {
        controls.setAccountReady(secretKey, ready);
        return { ready };
      });
    case 'POST webhooks':
      return take(webhookSchema, body, ({ secretKey, url }) => {
        controls.registerWebhook(secretKey, url);
        return { url };
      });
    case 'GET pages':
      return done(controls.pages());
    case 'GET requests':
      return listRequests(controls);
    default:
      return refused(404, 'no such control');
  }
}
