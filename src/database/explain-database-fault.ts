import { databaseErrorCode } from './client.ts';
import { NoWriter } from './writer.ts';

/** Why a database did not answer, by error code. The error's own message may contain parameters, and is never shown. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be looked up now',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  ECONNRESET: 'it broke the connection off',
  EPIPE: 'it broke the connection off',
  '08P01': 'it refuses the way in which it is spoken to: is it a pooler that refuses startup parameters?',
  '28P01': 'it refuses the password',
  '28000': 'it refuses this user',
  '3D000': 'there is no such database',
  '42501': 'its role lacks a right that is needed here',
  '53300': 'it has no connection left',
  '55P03': 'a row or a table stayed locked for too long',
  '57014': 'a statement took too long',
  '57P01': 'it was shut down',
  '57P03': 'it is starting up',
};

function systemCode(fault: unknown): string | undefined {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const code: unknown = Reflect.get(error, 'code');
    if (typeof code === 'string' && REASONS[code] !== undefined) return code;
    // The driver tried every address of a host: report the first error.
    if (error instanceof AggregateError) return systemCode(error.errors[0]);
  }
  return undefined;
}

/** The driver's messages for a failed connection; they contain no values. */
const TIMEOUTS =
  /^(timeout expired|Query read timeout|Connection terminated due to connection timeout|Connection terminated unexpectedly|Client has encountered a connection error and is not queryable)$/;

/** A reason such as `it refuses the password (28P01)`; undefined for an error that is not the database's. */
export function explainDatabaseFault(fault: unknown): string | undefined {
  if (fault instanceof NoWriter) return fault.message;
  const code = systemCode(fault) ?? databaseErrorCode(fault);
  if (code !== undefined) return `${REASONS[code] ?? 'it refused a statement'} (${code})`;
  return fault instanceof Error && TIMEOUTS.test(fault.message) ? 'it does not answer' : undefined;
}
