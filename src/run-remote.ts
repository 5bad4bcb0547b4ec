import { VotingService } from '#sdk/index.ts';
import type { Answer, Cli } from '#src/commands/cli.ts';
import { type ApiFault, explainApiFault, wordsOfApiFault } from '#src/commands/explain-api-fault.ts';
import { print } from '#src/commands/print.ts';
import { ConfigError, hasApiKey, loadEnvironmentFile, readApiAccess } from '#src/config.ts';

// What organizers' commands do their work with: a key and HTTP. Nothing of a database is loaded.

const REFUSED = 1;
/** A wrong address is to be found out within seconds. */
const MAX_RETRIES = 3;
/** What is under way is worth two minutes of waiting for a service that restarts. */
const PATIENT_RETRIES = 8;
/** A batch of a roll, or a large file of an election, may take a while. */
const TIMEOUT_MS = 120_000;

/** Whether the environment, or the file `.env` of the checkout, holds a key. */
export function isRemote(): boolean {
  loadEnvironmentFile();
  return hasApiKey();
}

/** Does the work with a client of the service, and prints. @throws ConfigError without a key */
export async function withApi(work: Parameters<Cli['withApi']>[0], json: boolean): Promise<void> {
  loadEnvironmentFile();
  const { baseUrl, key } = readApiAccess();
  const clientOf = (maxRetries: number) => new VotingService({ baseUrl, key, maxRetries, timeoutMs: TIMEOUT_MS });
  const answer: Answer = await work(clientOf(MAX_RETRIES), clientOf(PATIENT_RETRIES));
  print(answer, json);
  if (answer.refused === true) process.exitCode = REFUSED;
}

/** What was wrong, for programs; undefined for a fault of our own, which keeps its stack. */
export function faultOf(fault: unknown): ApiFault | undefined {
  return fault instanceof ConfigError ? { message: fault.message } : explainApiFault(fault);
}

/** The same in words for a person. */
export const wordsOf = (fault: unknown): string | undefined =>
  fault instanceof ConfigError ? fault.message : wordsOfApiFault(fault);
