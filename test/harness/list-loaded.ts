import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

// Loaded before a program (`node --import`): writes the address of every module that the program loads to the file LOADED_FILE.

const loaded = new Set<string>();
registerHooks({
  load(url, context, nextLoad) {
    loaded.add(url);
    return nextLoad(url, context);
  },
});
process.on('exit', () => {
  const { LOADED_FILE } = process.env;
  if (LOADED_FILE !== undefined) writeFileSync(LOADED_FILE, [...loaded].join('\n'));
});
