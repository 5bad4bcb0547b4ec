import { databaseErrorCode } from '#src/database/client.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payments/providers/provider.ts';
import { ApiError, type Issue } from '#src/platform/errors.ts';
import { RollRefused } from './read-lines.ts';

/** What is known of why a database did not answer; its own messages may hold parameters and are not repeated. */
const DATABASE_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be looked up now',
  ETIMEDOUT: 'it does not answer',
  ECONNRESET: 'it broke the connection off',
  EPIPE: 'it broke the connection off',
  '28P01': 'it refuses the password',
  '28000': 'it refuses this user',
  '3D000': 'there is no such database',
  '42501': 'its role lacks a right that this command needs',
  '53300': 'it has no connection left',
  '55P03': 'a row stayed locked for too long',
  '57014': 'a statement took too long',
  '57P01': 'it was shut down',
  '57P03': 'it is starting up',
};

function systemCode(fault: unknown): string | undefined {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const code: unknown = Reflect.get(error, 'code');
    if (typeof code === 'string' && DATABASE_FAULTS[code] !== undefined) return code;
    // Every address of a host was tried: they failed alike.
    if (error instanceof AggregateError) return systemCode(error.errors[0]);
  }
  return undefined;
}

function wordsOf(fault: ApiError): string {
  if (fault.code === 'not_found') return 'there is nothing with this ID or code.';
  const issues = (fault.details?.['issues'] ?? []) as readonly Issue[];
  return issues.length > 1 ? issues.map(({ field, message }) => `\n  ${field}: ${message}`).join('') : fault.message;
}

/** What was wrong, for whoever typed the command; undefined for a fault of our own, which keeps its stack. */
export function explainFault(fault: unknown): string | undefined {
  if (fault instanceof RollRefused) return `Refused: ${fault.message}`;
  if (fault instanceof ApiError) return `Refused: ${wordsOf(fault)}`;
  if (fault instanceof PaymentProviderUnavailable || fault instanceof PaymentProviderRefused)
    return `Refused: ${fault.message}. Check the credentials, and that the provider can be reached.`;
  const code = systemCode(fault) ?? databaseErrorCode(fault);
  if (code === undefined) return undefined;
  const why = DATABASE_FAULTS[code] ?? 'it refused a statement';
  return `Refused: the database could not be used: ${why} (${code}). Check DATABASE_URL, and that the database runs; then try again.`;
}
