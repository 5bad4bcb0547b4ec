import { checkLog } from '#src/ballot-log/check-log.ts';
import { createLog } from '#src/platform/log.ts';
import { sealDeps } from '#src/work.ts';
import { tendLog } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

/** What these tests take of an election whose voters have keys. */
interface Keyed {
  readonly id: string;
}

/** A service without jobs that keeps its keys in a folder and its log lines in a list, what the organizer reads, and what SQL does. */
export async function useKeyedService() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('error', { write: (line) => void lines.push(JSON.parse(line)) });
  const keys = useFolder('tampered-keys-');
  const service = await useService({ worker: false, log, ballotKeysDir: keys });
  const account = await service.account();
  const seal = sealDeps(service.deps);
  return {
    ...{ lines, keys, service, account, seal },
    read: ({ id }: Keyed) => account.show(`/voting-events/${id}`),
    results: ({ id }: Keyed) => account.show(`/voting-events/${id}/results`),
    /** @param statement `$1` is the ID of the election, and the values follow it */
    bySql: ({ id }: Keyed, statement: string, ...values: readonly unknown[]) =>
      service.query(statement, [id, ...values]),
    /** What the hourly check finds; undefined where everything is as the service wrote it. */
    check: ({ id }: Keyed) => checkLog(seal, id),
    tend: ({ id }: Keyed, least = 1) => tendLog(seal, id, least),
  };
}
