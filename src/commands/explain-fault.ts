import { StartRefused } from '#src/database/check-server.ts';
import { explainDatabaseFault } from '#src/database/explain-database-fault.ts';
import { SchemaRefused } from '#src/database/migrate.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider.ts';
import { ApiError, type Issue } from '#src/platform/errors.ts';
import { explainFileFault } from '#src/platform/explain-file-fault.ts';
import { RollRefused } from './read-lines.ts';

function wordsOf(fault: ApiError): string {
  if (fault.code === 'not_found') return 'there is nothing with this ID or code.';
  const issues = (fault.details?.['issues'] ?? []) as readonly Issue[];
  return issues.length > 1 ? issues.map(({ field, message }) => `\n  ${field}: ${message}`).join('') : fault.message;
}

/** What was wrong, for the person who typed the command; undefined for a fault of our own, which keeps its stack. */
export function explainFault(fault: unknown): string | undefined {
  if (fault instanceof RollRefused) return `Refused: ${fault.message}`;
  if (fault instanceof ApiError) return `Refused: ${wordsOf(fault)}`;
  if (fault instanceof PaymentProviderUnavailable || fault instanceof PaymentProviderRefused)
    return `Refused: ${fault.message}. Check the credentials, and that the provider can be reached.`;
  if (fault instanceof SchemaRefused || fault instanceof StartRefused) return `Refused: ${fault.message}.`;
  const file = explainFileFault(fault);
  if (file !== undefined) return `Refused: ${file}.`;
  const reason = explainDatabaseFault(fault);
  return reason === undefined
    ? undefined
    : `Refused: the database could not be used: ${reason}. Check DATABASE_URL, and that the database runs; then try again.`;
}
