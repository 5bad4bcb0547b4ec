import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type RawAnswer, sendRaw } from './raw-http.ts';

interface Step {
  readonly method: string;
  readonly path: string;
  /** A header of null is left out. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body?: unknown;
  readonly rawBody?: string;
  readonly rawBodyEncoding?: 'base64';
  /** The whole request as it goes over the wire, one character a byte, and then our side is closed. */
  readonly rawRequest?: string;
}

/** One hostile request and the one right answer to it. */
export interface BadInput extends Step {
  readonly name: string;
  readonly before?: readonly Step[];
  readonly expectStatus: number;
  readonly expectCode: string;
  /** Null where no one field is at fault. */
  readonly expectField?: string | null;
  readonly why: string;
}

/** What the names in double braces stand for. */
type BadInputValues = Readonly<Record<string, string>>;

const FILE = path.resolve(import.meta.dirname, '../../../shared/cases/bad-inputs.json');
const REPEAT = /\{\{repeat:([\s\S]*?):(\d+)\}\}/g;
const NAME = /\{\{(\w+)\}\}/g;

/** The shared cases, or undefined where the folder is absent; says which on the console. */
export function readBadInputs(): BadInput[] | undefined {
  if (!existsSync(FILE)) {
    console.info('bad inputs: the shared cases are absent, passed over');
    return undefined;
  }
  const inputs: BadInput[] = JSON.parse(readFileSync(FILE, 'utf8'));
  console.info(`bad inputs: ${inputs.length} shared cases`);
  return inputs;
}

/** Puts values in for `{{name}}` and text in for `{{repeat:TEXT:N}}`. @throws Error for a name without a value */
export function fillIn(template: string, values: BadInputValues): string {
  return template
    .replace(REPEAT, (_match, text: string, times: string) => text.repeat(Number(times)))
    .replace(NAME, (_match, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`no value for {{${name}}}`);
      return value;
    });
}

/** The names in a case that have no value. */
export function unknownNames(input: BadInput, values: BadInputValues): string[] {
  const names = [...JSON.stringify(input).matchAll(NAME)].map((match) => match[1] ?? '');
  return names.filter((name) => !Object.hasOwn(values, name));
}

function fillInDeep(value: unknown, values: BadInputValues): unknown {
  if (typeof value === 'string') return fillIn(value, values);
  if (Array.isArray(value)) return value.map((item) => fillInDeep(item, values));
  if (typeof value !== 'object' || value === null) return value;
  // Through a list of entries, so that a field named __proto__ stays a field.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillInDeep(item, values)]));
}

function bodyOf(step: Step, values: BadInputValues): Buffer | undefined {
  if (step.rawBody !== undefined) {
    if (step.rawBodyEncoding === 'base64') return Buffer.from(step.rawBody, 'base64');
    return Buffer.from(fillIn(step.rawBody, values));
  }
  return step.body === undefined ? undefined : Buffer.from(JSON.stringify(fillInDeep(step.body, values)));
}

/** The bytes of one request. */
function composeRequest(step: Step, values: BadInputValues): Buffer {
  if (step.rawRequest !== undefined) return Buffer.from(fillIn(step.rawRequest, values), 'latin1');
  const body = bodyOf(step, values);
  const lines = [`${step.method} ${fillIn(step.path, values)} HTTP/1.1`, 'Host: localhost', 'Connection: close'];
  for (const [name, value] of Object.entries(step.headers)) {
    if (value !== null) lines.push(`${name}: ${fillIn(value, values)}`);
  }
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
}

interface Envelope {
  readonly error?: {
    readonly code?: string;
    readonly requestId?: string;
    readonly details?: { readonly field?: string; readonly issues?: readonly { readonly field: string }[] };
  };
}

function parseEnvelope(answer: RawAnswer): Envelope {
  try {
    return JSON.parse(answer.body);
  } catch {
    return {};
  }
}

/** What is wrong with a refusal beside its status, code and field: each wears the same dress. */
function dressFaults({ headers }: RawAnswer, { error }: Envelope): string[] {
  const faults: string[] = [];
  if (!headers['content-type']?.startsWith('application/json')) faults.push('not JSON');
  if (headers['cache-control'] !== 'no-store') faults.push('may be cached');
  if (headers['x-content-type-options'] !== 'nosniff') faults.push('may be sniffed');
  if (headers['x-request-id'] === undefined) faults.push('no request ID');
  if (error?.requestId !== headers['x-request-id']) faults.push('another request ID in the body');
  if ('server' in headers || 'x-powered-by' in headers) faults.push('names its software');
  return faults;
}

function faultsOf({ expectStatus, expectCode, expectField }: BadInput, answer: RawAnswer): string[] {
  if (answer.status !== expectStatus) return [`${answer.status}, not ${expectStatus}: ${answer.body.slice(0, 200)}`];
  // Some look bad and are good: their answer has no error.
  if (answer.status < 400) return [];
  const envelope = parseEnvelope(answer);
  const { code, details } = envelope.error ?? {};
  const fields = details?.issues?.map(({ field }) => field) ?? [details?.field];
  const faults = dressFaults(answer, envelope);
  if (code !== expectCode) faults.push(`${code}, not ${expectCode}`);
  if (expectField != null && !fields.includes(expectField)) faults.push(`about ${fields.join()}, not ${expectField}`);
  return faults;
}

async function send(port: number, step: Step, values: BadInputValues): Promise<RawAnswer> {
  return sendRaw(port, composeRequest(step, values), { halfClose: step.rawRequest !== undefined, timeoutMs: 15_000 });
}

/**
 * Sends cases one after the other, with what has to come before each, over raw connections of their own.
 * @returns the inputs with a wrong answer, and why the right answer matters
 */
export async function runBadInputs(
  port: number,
  inputs: readonly BadInput[],
  values: BadInputValues,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const input of inputs) {
    let faults: string[];
    try {
      for (const step of input.before ?? []) await send(port, step, values);
      faults = faultsOf(input, await send(port, input, values));
    } catch (fault) {
      faults = [String(fault)];
    }
    if (faults.length > 0) wrong.push(`${input.name}: ${faults.join(', ')} (${input.why})`);
  }
  return wrong;
}
