import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

const LOOK_EVERY_MS = 200;

/**
 * A load balancer like the common ones: it asks each process for `/health` and sends requests only to healthy processes. It forwards each
 * request once, unchanged, does not retry failures, and keeps its connections to the processes.
 */
export async function startHealthProxy() {
  let ports: readonly number[] = [];
  const well = new Set<number>();
  const agents = new Map<number, Agent>();
  let turn = 0;
  const look = async (port: number): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(2_000) }).catch(
      () => undefined,
    );
    await answer?.arrayBuffer();
    if (answer?.status === 200) well.add(port);
    else well.delete(port);
  };
  const timer = setInterval(() => {
    for (const port of ports) void look(port);
  }, LOOK_EVERY_MS);
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const able = ports.filter((port) => well.has(port));
    const port = able[turn++ % Math.max(able.length, 1)];
    if (port === undefined) {
      outgoing.writeHead(502).end('none is well');
      return;
    }
    const agent = agents.get(port) ?? new Agent({ keepAlive: true });
    agents.set(port, agent);
    const { method, url, headers } = incoming;
    const inner = request({
      port,
      host: '127.0.0.1',
      method,
      path: url,
      headers: { ...headers, connection: 'keep-alive' },
      agent,
    });
    inner.on('response', (answer) => {
      const { connection: _connection, ...kept } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 502, kept);
      answer.pipe(outgoing);
    });
    inner.on('error', (fault) => {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end(String(fault));
    });
    incoming.pipe(inner);
  };
  const listening = await listen(createServer(pass));
  return {
    port: listening.port,
    /** Names the ports of the processes behind it. */
    use(next: readonly number[]): void {
      ports = next;
    },
    /** Waits until a process is sent requests. */
    async whenWell(port: number): Promise<void> {
      while (!well.has(port)) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      for (const agent of agents.values()) agent.destroy();
      await listening.stop();
    },
  };
}
