import { parentPort, type Transferable } from 'node:worker_threads';

/** A job as the pool posts it to a thread. */
export interface Posted {
  readonly module: string;
  readonly input: unknown;
}

export type Reply = { readonly value: unknown } | { readonly fault: string };

/** Runs each job that arrives. A result of bytes, or the `bytes` of a result, is transferred; any other value is copied. */
parentPort?.on('message', async ({ module, input }: Posted) => {
  try {
    const { work } = (await import(module)) as { readonly work: (input: unknown) => unknown };
    const value = await work(input);
    const bytes = value instanceof Uint8Array ? value : (value as { readonly bytes?: unknown } | undefined)?.bytes;
    const moved: Transferable[] = bytes instanceof Uint8Array ? [bytes.buffer as ArrayBuffer] : [];
    parentPort?.postMessage({ value } satisfies Reply, moved);
  } catch (fault) {
    const words = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    parentPort?.postMessage({ fault: words } satisfies Reply);
  }
});
