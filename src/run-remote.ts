// Not the SDK's entry point: its generated methods exist only after a build, but commands run in a checkout without a build.
import { PathClient } from '#sdk/client.ts';
import { ConnectionError, type Issue, VotingServiceError } from '#sdk/errors.ts';
import type { Answer, Cli } from '#src/commands/cli.ts';
import { FileRefused } from '#src/commands/read-lines.ts';
import { ConfigError, hasApiKey, loadEnvironmentFile, readApiAccess } from '#src/config.ts';
import { explainFileFault } from '#src/platform/files.ts';

// HTTP access for organizers' commands, with an API key. Does not load any database code.

/** Few, so that a wrong URL is reported within seconds. */
const MAX_RETRIES = 3;
/** Retries for about two minutes, so that running work survives a service restart. */
const PATIENT_RETRIES = 8;
/** Long enough for a batch of a roll import or a large election file. */
const TIMEOUT_MS = 120_000;

/** Whether VOTING_API_KEY is set in the environment or in the file `.env` of the checkout. */
export function isRemote(): boolean {
  loadEnvironmentFile();
  return hasApiKey();
}

/** Runs `work` with clients of the service. @throws ConfigError without an API key */
export function withApi(work: Parameters<Cli['withApi']>[0]): Promise<Answer> {
  loadEnvironmentFile();
  return work(...openClients(readApiAccess()));
}

/** @returns a client, a client with more retries, and whether the last response was the replay of an earlier run's request */
export function openClients({
  baseUrl,
  key,
}: ReturnType<typeof readApiAccess>): Parameters<Parameters<Cli['withApi']>[0]> {
  let isReplayed = false;
  let lastName: string | null = null;
  const noting: typeof fetch = async (url, init) => {
    const name = new Headers(init?.headers).get('Idempotency-Key');
    // A replayed response to a retry of this run is no replay of an earlier run's request.
    const isRetry = name !== null && name === lastName;
    lastName = name;
    const response = await fetch(url, init);
    isReplayed = !isRetry && response.headers.has('Idempotent-Replayed');
    return response;
  };
  const clientOf = (maxRetries: number) =>
    new PathClient({ baseUrl, key, maxRetries, timeoutMs: TIMEOUT_MS, fetch: noting });
  return [clientOf(MAX_RETRIES), clientOf(PATIENT_RETRIES), () => isReplayed];
}

/** An error as JSON, for programs. */
interface ApiFault extends Partial<Pick<VotingServiceError, 'status' | 'code' | 'reason' | 'requestId' | 'docUrl'>> {
  readonly message: string;
  readonly issues?: readonly Issue[] | undefined;
}

/** A hint how to fix the error, if the service's message does not contain one. */
function cureOf({ status, code, reason, details }: VotingServiceError): string | undefined {
  if (status === 401) return 'Check VOTING_API_KEY, and that VOTING_API is the service that the key is of.';
  if (reason === 'not_ready' && Array.isArray(details['missing']))
    return details['missing']
      .map((part: Readonly<Record<string, unknown>>) =>
        [part['title'], part['message']].filter((words) => typeof words === 'string').join(': '),
      )
      .join(' ');
  if (code === 'insufficient_scope') return 'VOTING_API_KEY needs the scopes read and write.';
  if (code === 'not_found') return 'Check --event: the ID or code of an event that the account of VOTING_API_KEY sees.';
  if (reason === 'not_a_draft')
    return 'A scheduled event is a draft again once its startsAt is null (PATCH /voting-events/CODE). Give the file its startsAt last.';
  if (reason === 'event_not_open') return 'On the command line that is --before-opening.';
  if (code === 'unexpected_response') return 'Check VOTING_API: what answers there is no voting service.';
  return undefined;
}

/** The network error below the generic error of `fetch`, such as ` (ECONNREFUSED)`. */
function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return '';
  const inner = cause.cause instanceof Error ? cause.cause : cause;
  const code: unknown = Reflect.get(inner, 'code');
  return ` (${typeof code === 'string' ? code : inner.message})`;
}

/** The error as JSON, for programs; undefined for a bug, whose stack trace is then printed. */
export function faultOf(fault: unknown): ApiFault | undefined {
  if (fault instanceof ConfigError) return { message: fault.message };
  if (fault instanceof VotingServiceError) {
    const { status, code, reason, requestId, docUrl } = fault;
    const issues = fault.issues.length === 0 ? undefined : fault.issues;
    const message = [fault.message, cureOf(fault)].filter((part) => part !== undefined).join(' ');
    return { message, status, code, reason, issues, requestId, docUrl };
  }
  if (fault instanceof FileRefused)
    return { message: fault.message, ...(fault.issues.length > 0 ? { issues: fault.issues } : {}) };
  if (fault instanceof ConnectionError)
    return { message: `${fault.message}${causeOf(fault)}. Check VOTING_API, and that the service runs.` };
  const file = explainFileFault(fault);
  return file === undefined ? undefined : { message: `${file}.` };
}

/** The error as text, for the user of the command; undefined for a bug. */
export function wordsOf(fault: unknown): string | undefined {
  if (fault instanceof ConfigError) return fault.message;
  const found = faultOf(fault);
  if (found === undefined) return undefined;
  const { message, status, code, reason, issues = [], requestId, docUrl } = found;
  const named =
    status === undefined ? [] : [`${status} ${code}`, ...(reason === undefined ? [] : [`reason ${reason}`])];
  const lines = [
    `Refused: ${message}${named.length === 0 ? '' : ` (${named.join(', ')})`}`,
    ...(issues.length > 1 || (status === undefined && issues.length > 0)
      ? issues.map(({ field, message: words }) => `  ${field === '' ? 'the file' : field}: ${words}`)
      : []),
    ...(docUrl === undefined ? [] : [`See ${docUrl}${requestId === undefined ? '' : ` (request ${requestId})`}`]),
  ];
  return lines.join('\n');
}
