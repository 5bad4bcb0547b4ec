import type { Config } from '#src/config.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { createNoteSigner, type NoteSigner } from './signed-note.ts';

/**
 * The key that signs checkpoints and promises: LOG_SIGNING_KEY, or one derived from the first SECRET_KEY that the database was
 * used with. Its name is the host name that BASE_URL had then: name and key are kept with the database from the first start on.
 */
export function createLogKey(
  { baseUrl, logName, logSigningKey }: Pick<Config, 'baseUrl' | 'logName' | 'logSigningKey'>,
  secrets: Secrets,
): NoteSigner {
  return createNoteSigner(logName ?? new URL(baseUrl).hostname, logSigningKey ?? secrets.derive('log-signing'));
}
