import { createTestEvent, demand, visitor } from './elections.ts';
import { startHealthProxy } from './health-proxy.ts';
import { ask, type RealProcesses } from './real-processes.ts';
import { freePort, type StartedService } from './started-service.ts';

const CLIENTS = 8;

/**
 * Restarts two processes behind a proxy one after the other, while votes are cast, confirmed and results read all the time.
 * @returns how many requests there were, what of them was answered with 500 or above, or not at all, and the exit statuses of the processes
 */
export async function rollRestarts(real: RealProcesses, restarts: number) {
  const proxy = await startHealthProxy();
  const event = await createTestEvent(real.inside, real.account, {}, [
    { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
  ]);
  const [position] = event.positions;
  const votes = [{ positionId: position?.id, candidateId: position?.candidates[0] }];
  const base = `/public/voting-events/${event.id}`;
  const failed: string[] = [];
  let requests = 0;
  let going = true;
  const send = async (method: string, target: string, key: string, body?: unknown): Promise<Response | undefined> => {
    requests += 1;
    try {
      const answer = await ask(proxy.port, method, target, { key, body });
      if (answer.status < 500) return answer;
      failed.push(`${method} ${target}: ${answer.status} ${await answer.text()}`);
      return undefined;
    } catch (fault) {
      failed.push(`${method} ${target}: ${String(fault)}`);
      return undefined;
    }
  };
  const vote = async (): Promise<void> => {
    while (going) {
      const cast = await send('POST', `${base}/ballot/cast`, real.account.vote, { visitorId: visitor(), votes });
      if (cast?.status === 201) {
        const { data } = (await cast.json()) as { data: { confirmationCode: string } };
        const { confirmationCode } = data;
        const confirmed = await send('POST', `${base}/ballot/confirm`, real.account.vote, { confirmationCode });
        await confirmed?.arrayBuffer();
      } else await cast?.arrayBuffer();
      await (await send('GET', `/voting-events/${event.id}`, real.account.read))?.arrayBuffer();
    }
  };
  const ended = new Set<number | null>();
  const running: StartedService[] = [];
  try {
    const ports = [await freePort(), await freePort()];
    for (const port of ports) running.push(await real.start({ PORT: String(port) }));
    proxy.use(ports);
    for (const port of ports) await proxy.whenWell(port);
    const clients = Array.from({ length: CLIENTS }, vote);
    for (let turn = 0; turn < restarts; turn += 1) {
      const place = turn % 2;
      const port = ports[place] ?? 0;
      ended.add((await running[place]?.stop()) ?? null);
      running[place] = await real.start({ PORT: String(port) });
      await proxy.whenWell(port);
    }
    going = false;
    await Promise.all(clients);
    // Nothing that was answered was lost on the way.
    demand(await real.inside.call('GET', `/voting-events/${event.id}`, undefined, { key: real.account.read }), 200);
  } finally {
    going = false;
    for (const one of running) one.child.kill('SIGKILL');
    await proxy.stop();
  }
  return { requests, failed, ended };
}
