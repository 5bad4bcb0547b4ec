import type { Pool } from 'pg';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { listUnsafeSettings } from './check-server.ts';

/**
 * Looks again and again whether a committed vote still survives a power cut: settings of a server can be changed while it
 * runs. Raises the alarm `database_not_durable` with each look that finds one switched off.
 */
export function watchDurability(pool: Pool, log: Log, everyMs: number = MINUTE_MS): { stop(): void } {
  const look = async (): Promise<void> => {
    try {
      const settings = await listUnsafeSettings(pool);
      if (settings.length > 0)
        log.error(
          { alarm: 'database_not_durable', settings },
          'the database would lose confirmed votes in a power cut',
        );
    } catch (fault) {
      log.warn({ fault: summariseFault(fault) }, 'the settings of the database could not be read');
    }
  };
  const timer = setInterval(() => void look(), everyMs);
  return { stop: () => clearInterval(timer) };
}
