import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The sources of all functions of the database, in the order in which they are applied. */
export const FUNCTION_FILES = [
  'database/functions/clock.sql',
  'database/functions/figures.sql',
  'database/functions/fold-text.sql',
  'database/functions/sortable-ids.sql',
  'database/functions/append-only.sql',
  'database/functions/living-processes.sql',
  'jobs/jobs.sql',
  'http/idempotency.sql',
  'accounts/account-changes.sql',
  'webhooks/webhook-events.sql',
  'voting-events/event-status.sql',
  'voting-events/event-changes.sql',
  'voting-events/delete-event.sql',
  'voting-events/rehearsal.sql',
  'voters/roll-figures.sql',
  'voters/voter-key.sql',
  'voters/participation.sql',
  'voters/judge-cast.sql',
  'voters/disclosure.sql',
  'credits/credits.sql',
  'payments/give-back.sql',
  'ballots/box.sql',
  'ballots/cast.sql',
  'ballots/confirm.sql',
  'ballots/pending-ballot.sql',
  'ballots/announce.sql',
  'ballot-log/log-guards.sql',
  'ballot-log/scatter-roll.sql',
  'ballot-log/tend-log.sql',
] as const;

export interface FunctionSource {
  readonly name: string;
  /** A `CREATE OR REPLACE FUNCTION` statement, and a `REVOKE` behind it where there is one. */
  readonly text: string;
  /** Names this text: 16 hexadecimal digits. */
  readonly hash: string;
}

/**
 * A statement ends behind its quoted body, or with the `;` of a body that is one expression. Rights that are taken away from
 * everybody belong to it.
 */
const STATEMENT =
  /^CREATE OR REPLACE FUNCTION (\w+)\((?:(?!\$\$|;).)*(?:\$\$.*?\$\$)?;\n(?:REVOKE ALL ON FUNCTION [^;]*;\n)?/gms;
const COMMENT_OR_BLANK = /^(?:--.*)?\n/gm;

/**
 * Reads the functions of one source file. Names stay unique, so that a name alone says which function is meant.
 * @throws Error for a file that holds anything but functions and comments
 */
export function parseFunctions(file: string, text: string): FunctionSource[] {
  const rest = text.replace(STATEMENT, '').replace(COMMENT_OR_BLANK, '');
  if (rest !== '') throw new Error(`${file} holds more than functions: ${rest.split('\n')[0]}`);
  return [...text.matchAll(STATEMENT)].map(([statement, name = '']) => ({
    name,
    text: statement,
    hash: createHash('sha256').update(statement).digest('hex').slice(0, 16),
  }));
}

export function readFunctionSources(): FunctionSource[] {
  const root = path.resolve(import.meta.dirname, '..');
  return FUNCTION_FILES.flatMap((file) => parseFunctions(file, readFileSync(path.join(root, file), 'utf8')));
}
