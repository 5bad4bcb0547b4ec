import { databaseErrorCode } from './client.ts';

/**
 * Whether a fault says that the next try would fail too: nothing listens, or nothing answers. A single connection that was
 * lost says nothing of the others.
 */
export function isDatabaseUnanswering(fault: unknown): boolean {
  if (databaseErrorCode(fault) === '57P03') return true;
  for (let error = fault; error instanceof Error; error = error.cause) {
    if (/^(ECONNREFUSED|ENOENT)$/.test(String(Reflect.get(error, 'code')))) return true;
    if (/timeout exceeded when trying to connect|Query read timeout|gives no answer/.test(error.message)) return true;
  }
  return false;
}
