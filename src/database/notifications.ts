import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { requireSchemaNumber } from './schema-number.ts';
import { WriterClient } from './writer.ts';

const RECONNECT_MS = 500;

/**
 * Listens for notifications of other processes, on a connection of its own that is reopened whenever it breaks.
 * @param onGap called after every (re)connection, because notifications may have been missed
 */
export function listenForNotifications(
  url: string,
  log: Log,
  handlers: Readonly<Record<string, (payload: string) => void>>,
  onGap: () => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let current: pg.Client | undefined;

  async function listenOnce(): Promise<void> {
    const client = new WriterClient({ connectionString: url, application_name: 'voting-service notifications' });
    current = client;
    const ended = new Promise<void>((resolve) => {
      client.once('end', resolve);
      client.on('error', () => resolve());
    });
    client.on('notification', ({ channel, payload }) => handlers[channel]?.(payload ?? ''));
    await client.connect();
    await requireSchemaNumber(client);
    for (const channel of Object.keys(handlers)) await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    onGap();
    await ended;
  }

  async function keepListening(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await listenOnce();
      } catch (fault) {
        log.warn({ fault: summariseFault(fault) }, 'not listening to the other processes');
      }
      await delay(RECONNECT_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const listening = keepListening();
  return {
    async stop() {
      stopping.abort();
      await current?.end().catch(() => undefined);
      await listening;
    },
  };
}
