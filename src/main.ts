import cluster from 'node:cluster';
import { loadEnvironmentFile, readConfig } from '#src/config.ts';
import { serveAsOneOfMany } from '#src/many-processes.ts';
import { runMain } from '#src/run-main.ts';

loadEnvironmentFile();
if (cluster.isWorker) await serveAsOneOfMany();
else await runMain(() => readConfig());
