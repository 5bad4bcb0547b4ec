import { readConfig } from '#src/config.ts';
import { requireMigrated } from '#src/database/migrate.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { endInTime } from '#src/many-processes.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { createLog } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { createDeps, startService } from '#src/service.ts';

/**
 * The service as a process of its own on a test's database, which a test may kill. It differs from the real start in taking a
 * database without fsync, a sandbox of payment providers, and a signal in place of the clock's next minute.
 */
const config = readConfig();
const { SANDBOX_URL, BY_CLOCK } = process.env;
const databaseUrl = config.databaseUrl ?? '';
// As the real start: while another build migrates, a process of this one does not begin.
await requireMigrated(databaseUrl);
const deps = createDeps(config, databaseUrl, createLog(config.logLevel), SANDBOX_URL);
const service = await startService(deps, databaseUrl, BY_CLOCK === 'off' ? [] : undefined);
process.on('SIGUSR2', () => void reconcilePayments(paymentDeps(deps)));
process.on('message', () => {
  const held = Object.entries(deps.leases).map(([kind, leases]) => [kind, leases.held] as const);
  const { totalCount, idleCount } = deps.db.$client;
  process.send?.({ ...Object.fromEntries(held), connections: totalCount - idleCount });
});
const asked = new Promise<'asked'>((resolve) => process.once('SIGTERM', () => resolve('asked')));
const why = await Promise.race([asked, service.replaced]);
if (why !== 'asked') process.stderr.write(`Stopping: ${why}\n`);
endInTime(TIME_LIMITS.stopMs);
await service.stop();
process.exit(why === 'asked' ? 0 : 1);
