import path from 'node:path';
import { removeSandboxAddress, writeSandboxAddress } from './sandbox-address.ts';
import { readSandboxKey } from './sandbox-keys.ts';
import { type Sandbox, startSandbox } from './start-sandbox.ts';

interface LocalSandboxOptions {
  readonly dataDir: string;
  /** The preferred port, so that pages keep their URL after a restart. If it is taken, any free port is used. */
  readonly port: number;
  readonly production: boolean;
  readonly now: () => number;
  /** The URL of this service; undefined until it listens. */
  readonly serviceAddress: () => string | undefined;
}

function isPortTaken(fault: unknown): boolean {
  return fault instanceof Error && Reflect.get(fault, 'code') === 'EADDRINUSE';
}

/** Starts the sandbox beside this service. It stores its pages in the data folder, and sends its messages to this service. */
export async function runSandbox(options: LocalSandboxOptions): Promise<Sandbox> {
  const start = (port: number): Promise<Sandbox> =>
    startSandbox({
      port,
      production: options.production,
      stateFile: path.join(options.dataDir, 'sandbox.json'),
      now: options.now,
      webhookTarget: ({ secretKey, provider }) => {
        const account = readSandboxKey(secretKey);
        const address = options.serviceAddress();
        if (account === undefined || address === undefined) return undefined;
        return `${address}/provider-webhooks/${provider}/${account.businessId}`;
      },
    });
  let sandbox: Sandbox;
  try {
    sandbox = await start(options.port);
  } catch (fault) {
    if (!isPortTaken(fault) || options.port === 0) throw fault;
    sandbox = await start(0);
  }
  writeSandboxAddress(options.dataDir, sandbox.url);
  return {
    ...sandbox,
    async stop() {
      removeSandboxAddress(options.dataDir);
      await sandbox.stop();
    },
  };
}
