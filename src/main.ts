import { loadEnvironmentFile, readConfig } from '#src/config.ts';
import { runMain } from '#src/run-main.ts';

await runMain(() => {
  loadEnvironmentFile();
  return readConfig();
});
