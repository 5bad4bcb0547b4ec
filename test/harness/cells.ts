import { expect, onTestFinished } from 'vitest';
import { showMovedAccounts } from '#src/cells/finish-move.ts';
import { moveAccount, type Stage } from '#src/cells/move-account.ts';
import type { Deps } from '#src/deps.ts';
import { interceptStatements } from './intercept-statements.ts';
import type { TestAccount, TestService } from './test-service.ts';

type Named = Pick<TestAccount, 'id'>;

export class Killed extends Error {}

/** Cuts a move off at a stage, as a command that is killed there. */
export const cutAt = (cut: Stage, before: () => unknown = () => undefined) => {
  return async (stage: Stage): Promise<void> => {
    if (stage !== cut) return;
    await before();
    throw new Killed();
  };
};

/** The cells of a service, and moves between them. */
export function cellsOf({ deps }: Pick<TestService, 'deps'>) {
  const cellOf = (name: string): Deps => {
    const found = deps.cells.get(name);
    if (found === undefined) throw new Error(`no cell ${name}`);
    return found;
  };
  const move = (
    account: Named,
    from: string,
    to: string,
    onStage: (stage: Stage) => Promise<void> = async () => undefined,
  ) => moveAccount(cellOf(from), cellOf(to), account.id, { say: () => undefined, onStage });
  return {
    cellOf,
    move,
    /** Cuts a move off after its switch, and keeps every process from finishing it. @returns what shows the account in its new cell */
    async leaveBetween(account: Named, from: string, to: string): Promise<() => Promise<void>> {
      const free = Promise.withResolvers<void>();
      const restore = interceptStatements((text, send) =>
        text.includes('moved_accounts ORDER BY') ? free.promise.then(send) : send(),
      );
      onTestFinished(restore);
      await expect(move(account, from, to, cutAt('switched'))).rejects.toThrow(Killed);
      return async () => {
        free.resolve();
        await showMovedAccounts(cellOf(from));
      };
    },
    read: async (name: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
      (await cellOf(name).db.$client.query(text, values)).rows,
    /** The cells in which an account or an event of it lives. */
    async homesOf(account: Named): Promise<string[]> {
      const found = await Promise.all(
        [...deps.cells.values()].map(async ({ cell, db }) => {
          const { rows } = await db.$client.query(
            'SELECT 1 FROM voting_events WHERE account_id = $1 AND deleted_at IS NULL UNION ALL SELECT 1 FROM accounts WHERE id = $1',
            [account.id],
          );
          return rows.length > 0 ? [cell] : [];
        }),
      );
      return found.flat();
    },
  };
}
