import type { Deps } from '#src/deps.ts';
import { conflict, orNotFound } from '#src/platform/errors.ts';
import { type Answer, type Cli, commandLine } from './cli.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function requireCell(deps: Deps, name: string): Deps {
  const found = deps.cells.get(name);
  if (found === undefined)
    throw conflict(
      'no_such_cell',
      `there is no cell ${name}: DATABASE_CELLS names ${[...deps.cells.keys()].join(', ')}.`,
    );
  return found;
}

const MOVE_HELP = `
The account goes with its keys, events, voters, ballots, businesses and endpoints; requests about it wait meanwhile, below a second for an
ordinary account. A move that was cut off goes on when the command is given again; until it has switched, --back undoes it.`;

/** `cells status|move-event|move-account|drain`: the databases of the service, and the accounts in them (completions 9.3). */
export function addCellCommands({ command, group, withDeps, withDatabase }: Cli): void {
  const cells = group('cells', 'the databases of the service, each with whole accounts');

  command(cells, 'status', 'show each cell, and what is half done or missing', 'cells status').action(() =>
    withDatabase(async (config, _check, url) => (await import('./cell-status.ts')).showCells(config, url)),
  );

  command(cells, 'move-account', 'move an account into another cell, while it votes', 'cells move-account acc_… --to b')
    .argument('<account>', 'the account')
    .requiredOption('--to <cell>', 'where it is to live')
    .option('--back', 'undo a move that was cut off before it switched')
    .addHelpText('after', MOVE_HELP)
    .action((account: string, { to, back }: { to: string; back?: boolean }) =>
      withDeps((deps) => moveOne(deps, account, requireCell(deps, to), back === true)),
    );

  command(
    cells,
    'move-event',
    'move an event into another cell, with its whole account',
    'cells move-event --event BOARD2030 --to b',
  )
    .requiredOption('--event <event>', 'its ID or code')
    .requiredOption('--to <cell>', 'where its account is to live')
    .addHelpText('after', MOVE_HELP)
    .action(({ event, to }: { event: string; to: string }) =>
      withDeps(async (deps) => {
        const { findAnyEvent } = await import('#src/voting-events/access.ts');
        return await moveOne(deps, (await findAnyEvent(deps.db, event)).accountId, requireCell(deps, to), false);
      }),
    );

  command(cells, 'drain', 'move every account of a cell into others', 'cells drain b', 'cells drain b --to main')
    .argument('<cell>', 'the cell that is to be empty')
    .option('--to <cell>', 'where they are to live; the cell with the fewest accounts if left out')
    .action((name: string, { to }: { to?: string }) =>
      withDeps((deps) => drain(deps, requireCell(deps, name), to === undefined ? undefined : requireCell(deps, to))),
    );
}

/** @throws ApiError 409 with the reason of a move that is refused */
async function moving<T>(work: () => Promise<T>): Promise<T> {
  const { MoveRefused } = await import('#src/cells/finish-move.ts');
  return work().catch((fault: unknown) => {
    throw fault instanceof MoveRefused ? conflict('move_refused', `${fault.message}.`) : fault;
  });
}

async function moveOne(deps: Deps, account: string, to: Deps, isBack: boolean): Promise<Answer> {
  const { findCell, findCutMove } = await import('#src/cells/find-cell.ts');
  const { moveAccount, serveKept } = await import('#src/cells/move-account.ts');
  const { finishMove, takeBack } = await import('#src/cells/finish-move.ts');
  const all = [...deps.cells.values()];
  const cut = await findCutMove(all, account);
  if (cut !== undefined && !isBack) await moving(() => finishMove(cut.from, cut.to, account));
  const home = (isBack ? cut?.from : undefined) ?? (await findCell(all, account));
  const isKept = home === undefined && !isBack && (await moving(() => serveKept(to, account)));
  const from = isKept ? to : orNotFound(home);
  if (from === to) return { value: { account, from: (cut?.from ?? from).cell, to: to.cell, pauseMs: null } };
  if (isBack) {
    await moving(() => takeBack(from, to, account));
    return { value: { account, from: from.cell, to: from.cell, pauseMs: null } };
  }
  const pauseMs = Math.round(await moving(() => moveAccount(from, to, account, { say })));
  return { value: { account, from: from.cell, to: to.cell, pauseMs } };
}

async function drain(deps: Deps, from: Deps, chosen: Deps | undefined): Promise<Answer> {
  const { listAccounts } = await import('#src/accounts/repository.ts');
  const { finishMoves, MoveRefused } = await import('#src/cells/finish-move.ts');
  const { moveAccount } = await import('#src/cells/move-account.ts');
  const { showProgress } = await import('./progress.ts');
  const others = [...deps.cells.values()].filter(
    (cell) => cell !== from && (chosen === undefined ? cell.standing.isServed : cell === chosen),
  );
  const held = new Map<Deps, number>();
  for (const cell of others) held.set(cell, (await listAccounts(cell.db)).length);
  await finishMoves(from);
  const accounts = await listAccounts(from.db);
  const progress = showProgress(accounts.length, 0, 'accounts');
  const refused: { account: string; reason: string }[] = [];
  for (const [index, { id }] of accounts.entries()) {
    const [to] = [...held].toSorted(([, one], [, other]) => one - other)[0] ?? [];
    if (to === undefined) throw conflict('no_other_cell', 'there is no other cell that could take its accounts.');
    try {
      await moveAccount(from, to, id, { say });
      held.set(to, (held.get(to) ?? 0) + 1);
    } catch (fault) {
      if (!(fault instanceof MoveRefused)) throw fault;
      refused.push({ account: id, reason: fault.message });
    }
    progress.update(index + 1, refused.length === 0 ? '' : `${refused.length} stay`);
  }
  progress.stop();
  const value = { cell: from.cell, moved: accounts.length - refused.length, refused };
  const next =
    refused.length === 0 ? [] : [`${commandLine(`cells drain ${from.cell}`)}   goes on with those that stay`];
  return {
    value,
    shown: { cell: value.cell, moved: value.moved, stay: refused.length },
    also: refused,
    next,
    refused: refused.length > 0,
  };
}
