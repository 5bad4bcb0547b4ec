/** The name under which an attempt travels, in addresses and in the providers' metadata. */
export const ATTEMPT_PARAMETER = 'paymentAttemptId';

/**
 * The address a payer comes back to, with `paymentAttemptId` appended. Query and fragment stay as they were written:
 * a URL object would rewrite them, and break addresses that are signed.
 */
export function appendAttempt(returnUrl: string, attemptId: string): string {
  const hash = returnUrl.indexOf('#');
  const address = hash === -1 ? returnUrl : returnUrl.slice(0, hash);
  const fragment = hash === -1 ? '' : returnUrl.slice(hash);
  const separator = !address.includes('?') ? '?' : /[?&]$/.test(address) ? '' : '&';
  return `${address}${separator}${ATTEMPT_PARAMETER}=${encodeURIComponent(attemptId)}${fragment}`;
}
