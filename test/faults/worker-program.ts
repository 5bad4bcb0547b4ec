import { readConfig } from '#src/config.ts';
import { endInTime } from '#src/many-processes.ts';
import { createLog } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { createDeps, startService } from '#src/service.ts';

/** The service as a process of its own on a test's database, which a test may kill. It differs from the real start in taking a database without fsync. */
const config = readConfig();
const databaseUrl = config.databaseUrl ?? '';
const service = await startService(createDeps(config, databaseUrl, createLog(config.logLevel)), databaseUrl);
process.once('SIGTERM', () => {
  endInTime(TIME_LIMITS.stopMs);
  service.stop().then(() => process.exit(0));
});
