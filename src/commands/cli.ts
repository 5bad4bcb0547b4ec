import type { Command } from 'commander';
import type { PathClient } from '#sdk/index.ts';
import type * as configuration from '#src/config.ts';
import type { Config } from '#src/config.ts';
import type { Finding } from '#src/database/check-server.ts';
import type { ProgramFolders } from '#src/database/postgres-programs.ts';
import type { Deps } from '#src/deps.ts';

export type Row = Record<string, unknown>;

export interface Answer {
  /** For programs: the one JSON value that `--json` prints. */
  readonly value: Row | readonly Row[];
  /** For people, if they need other or fewer fields than programs. */
  readonly shown?: Row | readonly Row[];
  /** A second table for people. */
  readonly also?: readonly Row[];
  /** Next steps for people: command lines and hints. Never a secret. */
  readonly next?: readonly string[];
  /** The command ran, but found a problem: exit status 1. */
  readonly refused?: boolean;
}

/** `patient` retries for two minutes, across a restart of the service. `isReplayed`: whether the last answer repeats an earlier run's. */
type Clients = [client: PathClient, patient: PathClient, isReplayed: () => boolean];

/** Requires that an event can take `count` more voters. @throws ApiError 422 `plan_limit` */
export type RequireRoom = (count: number) => Promise<void>;

export interface Cli {
  readonly program: Command;
  /** Adds a command with the option `--json`. @param examples command lines for its help, without the leading `cli --` */
  command(parent: Command, name: string, description: string, ...examples: readonly string[]): Command;
  group(name: string, description: string): Command;
  /** Opens the database, or starts the embedded one for this command if the service does not run, runs `work`, and prints its answer. */
  withDeps(work: (deps: Deps) => Promise<Answer>): Promise<void>;
  /** To inspect or prepare a database: neither migrates nor checks it. `check` runs a start's checks, `withCells` also on other cells. */
  withDatabase(
    work: (config: Config, check: (withCells?: boolean) => Promise<Finding[]>, url: string) => Promise<Answer>,
  ): Promise<void>;
  /** For commands on an external database server. @throws ApiError 409 for the embedded database; the message says how to back it up */
  withServer(work: (config: Config, url: string, programs: ProgramFolders) => Promise<Answer>): Promise<void>;
  /** Passes the folders of PostgreSQL's programs to `work`: for commands without settings or database. */
  withPrograms(work: (programs: ProgramFolders) => Promise<Answer>): Promise<void>;
  /** For organizers' commands: clients of a running service, with the key of the environment. @throws ConfigError without a key */
  withApi(work: (...clients: Clients) => Promise<Answer>): Promise<void>;
  /** Starts a service for this command only, on the operator's database, and gives `work` API clients of the event's account. */
  withOwnService(
    event: string,
    work: (...own: [...Clients, requireRoom: RequireRoom]) => Promise<Answer>,
  ): Promise<void>;
  hasApiKey(): Promise<boolean>;
  /** Whether `--json` was given: then one JSON value is printed and nothing else. */
  json(): boolean;
  /** The module that reads the environment, loaded only when a command needs it. */
  config(): Promise<typeof configuration>;
}

export const commandLine = (words: string): string => `npm run --silent cli -- ${words}`;

export const quoted = (word: string): string =>
  /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

type OptionValue = string | readonly string[] | boolean | undefined;

/** A command line with its options, to be copied. @param options by their names in camel case */
export function commandOf(command: string, options: Readonly<Record<string, OptionValue>>): string {
  const words = Object.entries(options).flatMap(([name, value = false]) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (typeof value === 'boolean') return value ? [flag] : [];
    return [value].flat().flatMap((one) => [flag, quoted(one)]);
  });
  return commandLine([command, ...words].join(' '));
}
