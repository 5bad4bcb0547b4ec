import { readConfig } from '#src/config.ts';
import { createLog } from '#src/platform/log.ts';
import { createDeps, startService } from '#src/service.ts';
import { leadClock, setTimeOffset } from './driver-time.ts';

/** What the driver tells a process; each is answered with its number. */
export type Order =
  | { readonly number: number; readonly do: 'time'; readonly offsetMs: number }
  | { readonly number: number; readonly do: 'forget' };

setTimeOffset(Number(process.env['DRIVER_OFFSET_MS'] ?? 0));
const config = readConfig();
const databaseUrl = config.databaseUrl ?? '';
const provider = process.env['DRIVER_PROVIDER_URL'];
const deps = createDeps(config, databaseUrl, createLog(config.logLevel), provider);
leadClock(deps.clock);
const service = await startService(deps, databaseUrl);
process.on('message', (order: Order) => {
  if (order.do === 'time') {
    setTimeOffset(order.offsetMs);
  } else {
    deps.authenticator.forgetAll();
    deps.events.forgetAll();
  }
  process.send?.({ number: order.number });
});
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)));
// The driver ended without a word: nothing of it may be left.
process.once('disconnect', () => process.exit(0));
process.send?.({ port: service.port });
