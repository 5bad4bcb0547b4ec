import { registerHooks } from 'node:module';

// Customers install the SDK from the service. Here its sources stand in for it, so that nothing needs to be installed.
const SOURCES = new URL('../sdk/typescript/src/index.ts', import.meta.url).href;

registerHooks({
  resolve: (name, context, next) =>
    name === 'voting-service' ? { url: SOURCES, shortCircuit: true } : next(name, context),
});
