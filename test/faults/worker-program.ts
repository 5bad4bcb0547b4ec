import { readConfig } from '#src/config.ts';
import { createLog } from '#src/platform/log.ts';
import { createDeps, startService } from '#src/service.ts';

/** The service as a process of its own on a test's database, which a test may kill. */
const config = readConfig();
const databaseUrl = config.databaseUrl ?? '';
const service = await startService(createDeps(config, databaseUrl, createLog('silent')), databaseUrl);
process.once('SIGTERM', () => {
  service.stop().then(() => process.exit(0));
});
