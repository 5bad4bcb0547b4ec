import fs, { readdirSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { backupKeys } from '#src/commands/backup-keys.ts';
import { createTestEvent, finishEvent } from '#test/harness/elections.ts';
import { eventually, useService } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const service = await useService();
const { deps, databaseUrl } = service;

const rename = fs.promises.rename;
afterEach(() => {
  fs.promises.rename = rename;
  syncBuiltinESMExports();
});

test.each([false, true])(
  'no key of an election that is over stays in a folder of copied keys (a copy was killed before its rename: %s)',
  async (killed) => {
    const to = useFolder('copied-keys-');
    const account = await service.account();
    const event = await createTestEvent(service, account, { type: 'election' });
    const [{ ballot_key: id }] = await service.query('SELECT ballot_key FROM voting_events WHERE id = $1', [event.id]);
    const own = path.join(deps.config.ballotKeysDir ?? '', `${event.id}.${id}.key`);
    const key = readFileSync(own);
    const holding = () => readdirSync(to).filter((name) => readFileSync(path.join(to, name)).includes(key));
    if (killed) {
      // The process is gone at that moment: nothing of it goes on.
      fs.promises.rename = (from, into) =>
        String(into).startsWith(to) ? new Promise(() => undefined) : rename(from, into);
      syncBuiltinESMExports();
      void backupKeys(deps.config, databaseUrl, to);
      await eventually(() => (holding().length > 0 ? true : undefined));
      fs.promises.rename = rename;
      syncBuiltinESMExports();
    }
    await backupKeys(deps.config, databaseUrl, to);
    expect(holding().length).toBeGreaterThan(0);
    await finishEvent(service, event.id);
    await backupKeys(deps.config, databaseUrl, to);
    expect(holding()).toEqual([]);
  },
);
