import type { Pool } from 'pg';
import { SECOND_MS } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { countStandbys, listUnsafeSettings } from './check-server.ts';

/**
 * Looks again and again whether a committed vote still survives a power cut, and where that is asked for the loss of the server: settings
 * can be changed while it runs, and standbys go. Each look that finds it otherwise raises `database_not_durable` or `no_standby`.
 */
export function watchDurability(
  pool: Pool,
  log: Log,
  requireStandby: boolean,
  everyMs: number = 10 * SECOND_MS,
): { stop(): void } {
  const look = async (): Promise<void> => {
    try {
      const settings = await listUnsafeSettings(pool);
      if (settings.length > 0)
        log.error(
          { alarm: 'database_not_durable', settings },
          'the database would lose confirmed votes in a power cut',
        );
      if (requireStandby && (await countStandbys(pool)) === 0)
        log.error({ alarm: 'no_standby' }, 'no synchronous standby is connected: votes would be lost with the server');
    } catch (fault) {
      log.warn({ fault: summariseFault(fault) }, 'the settings of the database could not be read');
    }
  };
  const timer = setInterval(() => void look(), everyMs);
  return { stop: () => clearInterval(timer) };
}
