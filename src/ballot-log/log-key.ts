import type { Config } from '#src/config.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { createNoteSigner, type NoteSigner } from './signed-note.ts';

/**
 * The key that signs checkpoints and promises: LOG_SIGNING_KEY, or one derived from the current SECRET_KEY. Its name is the
 * host name of BASE_URL. Whoever rotates SECRET_KEY should set LOG_SIGNING_KEY first, or every observer learns a new key.
 */
export function createLogKey(config: Pick<Config, 'baseUrl' | 'logSigningKey'>, secrets: Secrets): NoteSigner {
  return createNoteSigner(new URL(config.baseUrl).hostname, config.logSigningKey ?? secrets.derive('log-signing'));
}
