import type { Command } from 'commander';
import type { PathClient } from '#sdk/index.ts';
import type { Config } from '#src/config.ts';
import type { Finding } from '#src/database/check-server.ts';
import type { ProgramFolders } from '#src/database/postgres-programs.ts';
import type { Deps } from '#src/deps.ts';
import type { ProviderCredentials } from '#src/payment-providers/provider.ts';

export type Row = Record<string, unknown>;

export interface Answer {
  /** For programs: the one JSON value that `--json` prints. */
  readonly value: Row | readonly Row[];
  /** For people, where they need less or other than programs. */
  readonly shown?: Row | readonly Row[];
  /** A second table for people. */
  readonly also?: readonly Row[];
  /** What people will want to do now: command lines and hints. Never a secret. */
  readonly next?: readonly string[];
  /** The work was done, and what it found is not right: exit status 1. */
  readonly refused?: boolean;
}

/**
 * Clients of a service: the second one waits two minutes for one that does not answer, for what is under way.
 * @param isReplayed whether the last answer was the stored one of an earlier request
 */
type Clients = [client: PathClient, patient: PathClient, isReplayed: () => boolean];

/** Refuses where an event has no room for so many more voters. @throws ApiError 422 `plan_limit` */
export type RequireRoom = (count: number) => Promise<void>;

/** What every group of commands is given to add itself. */
export interface Cli {
  readonly program: Command;
  /** A command that takes `--json` wherever it stands. @param example the words after `cli --` that its help shows */
  command(parent: Command, name: string, description: string, ...examples: readonly string[]): Command;
  group(name: string, description: string): Command;
  /** Opens the database of the running service, or its own for the time of the command, does the work, and prints. */
  withDeps(work: (deps: Deps) => Promise<Answer>): Promise<void>;
  /**
   * Gives the settings and the database's address without using the database: for commands that look at it, or prepare it.
   * @param work its second parameter is what the start asks of database and keys
   */
  withDatabase(work: (config: Config, check: () => Promise<Finding[]>, url: string) => Promise<Answer>): Promise<void>;
  /**
   * Gives the settings, the address of a database server of its own, and where PostgreSQL's programs may be.
   * @throws ApiError 409 for the embedded database, with how that one is backed up
   */
  withServer(work: (config: Config, url: string, programs: ProgramFolders) => Promise<Answer>): Promise<void>;
  /** Gives where PostgreSQL's programs may be: for commands that need neither settings nor a database. */
  withPrograms(work: (programs: ProgramFolders) => Promise<Answer>): Promise<void>;
  /**
   * Gives a client of a running service, with the key of an account from the environment: for commands of organizers, which need no
   * database. @throws ConfigError where there is no key
   */
  withApi(work: (...clients: Clients) => Promise<Answer>): Promise<void>;
  /** Gives clients of a service that runs for this command alone, on the operator's own database, for the account of an event. */
  withOwnService(
    event: string,
    work: (...own: [...Clients, requireRoom: RequireRoom]) => Promise<Answer>,
  ): Promise<void>;
  hasApiKey(): Promise<boolean>;
  /** Whether a program reads the answer: then nothing but one JSON value is printed. */
  json(): boolean;
  paymentCredentials(): Promise<Partial<ProviderCredentials>>;
  /** The API key that a command reads the service with: `--key`, better the environment's VOTING_KEY. */
  votingKey(given: string | undefined): Promise<string | undefined>;
  verifierEnvironment(votingKey: string | undefined): Promise<Readonly<Record<string, string | undefined>>>;
}

export const commandLine = (words: string): string => `npm run --silent cli -- ${words}`;

/** A word as a shell takes it. */
export const quoted = (word: string): string =>
  /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

type OptionValue = string | readonly string[] | boolean | undefined;

/** A command line with all its options, which can be copied. @param options by the names that their parser gives them */
export function commandOf(command: string, options: Readonly<Record<string, OptionValue>>): string {
  const words = Object.entries(options).flatMap(([name, value = false]) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (typeof value === 'boolean') return value ? [flag] : [];
    return [value].flat().flatMap((one) => [flag, quoted(one)]);
  });
  return commandLine([command, ...words].join(' '));
}
