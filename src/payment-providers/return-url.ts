/** Name of the attempt's ID in return URLs and in the providers' metadata. */
export const ATTEMPT_PARAMETER = 'paymentAttemptId';

/**
 * The URL that a payer returns to, with `paymentAttemptId` appended. Query and fragment keep their exact text: a URL object
 * would re-encode them and so break signed URLs.
 */
export function appendAttempt(returnUrl: string, attemptId: string): string {
  const hash = returnUrl.indexOf('#');
  const address = hash === -1 ? returnUrl : returnUrl.slice(0, hash);
  const fragment = hash === -1 ? '' : returnUrl.slice(hash);
  const separator = !address.includes('?') ? '?' : /[?&]$/.test(address) ? '' : '&';
  return `${address}${separator}${ATTEMPT_PARAMETER}=${encodeURIComponent(attemptId)}${fragment}`;
}
