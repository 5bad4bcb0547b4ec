import cluster from 'node:cluster';
import '#src/platform/quick-start.ts';

// Not imported above: all imports are loaded before the first of them takes effect.
const { loadEnvironmentFile, readConfig } = await import('#src/config.ts');
loadEnvironmentFile();
if (cluster.isWorker) await (await import('#src/many-processes.ts')).serveAsOneOfMany();
else await (await import('#src/run-main.ts')).runMain(() => readConfig());
