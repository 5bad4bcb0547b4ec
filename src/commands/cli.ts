import type { Command } from 'commander';
import type { Deps } from '#src/deps.ts';
import type { ProviderCredentials } from '#src/payments/providers/provider.ts';

/** What a command answers: a row of names and values, or a list of rows. */
export type Row = Record<string, unknown>;

/** What every group of commands is given to add itself. */
export interface Cli {
  readonly program: Command;
  /** A command that takes `--json` wherever it stands. */
  command(parent: Command, name: string, description: string): Command;
  /** Opens the database of the running service, or its own for the time of the command, does the work, and prints. */
  withDeps(work: (deps: Deps, json: boolean) => Promise<Row | readonly Row[]>): Promise<void>;
  /** The keys of a payment business, where the environment holds them. */
  paymentCredentials(): ProviderCredentials | undefined;
}
