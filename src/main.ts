import cluster from 'node:cluster';
import '#src/platform/quick-start.ts';

// Use dynamic imports, because static imports would be loaded before `quick-start.ts` takes effect.
const { loadEnvironmentFile, readConfig } = await import('#src/config.ts');
loadEnvironmentFile();
if (cluster.isWorker) await (await import('#src/many-processes.ts')).serveAsOneOfMany();
else await (await import('#src/run-main.ts')).runMain(() => readConfig());
