import type { z } from 'zod';

/** @returns a function that parses a provider's answer. It throws PaymentProviderUnavailable if the answer does not match the schema */
export const answerReader =
  (provider: string) =>
  <T>(schema: z.ZodType<T>, answer: unknown): T => {
    const parsed = schema.safeParse(answer);
    if (!parsed.success) throw new PaymentProviderUnavailable(provider, 'unreadable');
    return parsed.data;
  };

type UnavailableReason = 'network' | 'timeout' | 'rate_limited' | 'busy' | 'server_error' | 'unreadable';

/** The provider did not answer, or its answer is unusable. The call may or may not have had an effect; a retry may help. */
export class PaymentProviderUnavailable extends Error {
  readonly provider: string;
  readonly reason: UnavailableReason;
  readonly status: number | null;

  constructor(provider: string, reason: UnavailableReason, status: number | null = null, cause?: unknown) {
    super(`${provider} is unavailable: ${reason}${status === null ? '' : ` (${status})`}`, { cause });
    this.name = 'PaymentProviderUnavailable';
    this.provider = provider;
    this.reason = reason;
    this.status = status;
  }
}

/** A field of the first call that the payer can correct after the provider refused it. */
export type PayerField = 'email' | 'returnUrl' | 'cancelUrl';

/** The provider refused the call. Its message is left out, because it may quote a key or a payer's input. */
export class PaymentProviderRefused extends Error {
  readonly provider: string;
  readonly status: number;
  /** The provider's error code, such as `duplicate_reference`. */
  readonly code: string | null;
  /** The field that caused the refusal, if the payer can correct it. */
  readonly field: PayerField | null;
  /** The account takes no payments: the provider refused its keys, or restricted the account. */
  readonly blocksAccount: boolean;

  constructor(provider: string, status: number, code: string | null, field: PayerField | null = null) {
    super(`${provider} refused: ${status}${code === null ? '' : ` ${code}`}`);
    this.name = 'PaymentProviderRefused';
    this.provider = provider;
    this.status = status;
    this.code = code;
    this.field = field;
    this.blocksAccount = field === null && isAboutAccount(status, code);
  }
}

/** Whether a refusal concerns the account. 401, 403 and codes about accounts or keys do; codes about the payment do not. */
function isAboutAccount(status: number, code: string | null): boolean {
  if (code !== null && /amount|currency|parameter/.test(code)) return false;
  return (
    status === 401 || status === 403 || (code !== null && /^(?:account|merchant|api_key|platform_api_key)_/.test(code))
  );
}

/** Maps an HTTP status other than success to a failure. */
export function failureOf(
  provider: string,
  status: number,
  code: unknown,
  field: PayerField | null = null,
): PaymentProviderUnavailable | PaymentProviderRefused {
  if (status === 429) return new PaymentProviderUnavailable(provider, 'rate_limited', status);
  // 409: another call with the same idempotency key is still running.
  if (status === 408 || status === 409 || status === 425) {
    return new PaymentProviderUnavailable(provider, 'busy', status);
  }
  if (status >= 400 && status < 500) return new PaymentProviderRefused(provider, status, safeCode(code), field);
  return new PaymentProviderUnavailable(provider, status >= 500 ? 'server_error' : 'unreadable', status);
}

/** The error code if it has the form of a code, and not of a key; otherwise null, so that no secret reaches an error message. */
function safeCode(code: unknown): string | null {
  return typeof code === 'string' && /^(?!\w{2}_(?:org_)?(?:live|test)_|whsec_)[a-z][a-z0-9_]{1,63}$/i.test(code)
    ? code
    : null;
}
