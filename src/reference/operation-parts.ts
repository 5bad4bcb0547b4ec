import { caseOf } from '#src/http/refusals.ts';
import {
  type ContentShape,
  follow,
  type OperationShape,
  type ParameterShape,
  type ReferenceDocument,
  type ResponseShape,
} from './document-shape.ts';

export interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationShape;
}

export const pretty = (value: unknown): string => JSON.stringify(value, null, 2);

export const parametersOf = ({ operation }: PlacedOperation, document: ReferenceDocument): ParameterShape[] =>
  (operation.parameters ?? []).flatMap((parameter) => follow(parameter, document.components.parameters) ?? []);

const responsesOf = (operation: OperationShape, document: ReferenceDocument): [string, ResponseShape][] =>
  Object.entries(operation.responses).flatMap(([status, response]): [string, ResponseShape][] => {
    const found = follow(response, document.components.responses);
    return found === undefined ? [] : [[status, found]];
  });

/** The answers of an operation that are no refusals, by status. */
export const answersOf = (operation: OperationShape, document: ReferenceDocument): [string, ResponseShape][] =>
  responsesOf(operation, document).filter(
    ([status, response]) => response['x-codes'] === undefined && status !== 'default',
  );

export interface Refusals {
  /** Those with a reason of their own. */
  readonly reasons: readonly {
    readonly status: string;
    readonly code: string;
    readonly reason: string;
    readonly when: string;
  }[];
  /** Every code with its status. */
  readonly codes: readonly { readonly status: string; readonly code: string }[];
}

export function refusalsIn(operation: OperationShape, document: ReferenceDocument): Refusals {
  const refusals = responsesOf(operation, document).filter(([, response]) => response['x-codes'] !== undefined);
  return {
    reasons: refusals.flatMap(([status, response]) =>
      (response['x-reasons'] ?? []).map((reason) => {
        const { code = '', when = '' } = caseOf(reason, Number(status)) ?? {};
        return { status, code, reason, when };
      }),
    ),
    codes: refusals.flatMap(([status, response]) => (response['x-codes'] ?? []).map((code) => ({ status, code }))),
  };
}

export const bodyOf = ({ requestBody }: OperationShape): ContentShape | undefined =>
  requestBody?.content['application/json'];

/** The variable that holds a key in examples. */
function keyVariable(operation: OperationShape): string {
  const [scope] = [operation['x-required-scope'] ?? []].flat();
  if (scope === 'vote') return '$VOTE_KEY';
  return scope === 'write' ? '$WRITE_KEY' : '$READ_KEY';
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A call as it can be pasted into a shell. */
function callText(placed: PlacedOperation, body: unknown, document: ReferenceDocument): string {
  const { method, path, operation } = placed;
  const parameters = parametersOf(placed, document);
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.example;
    return example === undefined ? whole : String(example);
  });
  const needed = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, example = '…' }) => `${name}=${encodeURIComponent(example)}`);
  const query = needed.length === 0 ? '' : `?${needed.join('&')}`;
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$API${filled}${query}"`,
    ...(operation.security.length > 0 ? [`-H "Authorization: Bearer ${keyVariable(operation)}"`] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quote(pretty(body))}`]),
  ];
  return lines.join(' \\\n  ');
}

export interface Call {
  /** How it differs from the other calls, where there are several. */
  readonly summary: string | undefined;
  readonly text: string;
}

/** A call for every kind of body that an operation takes. */
export function callsOf(placed: PlacedOperation, document: ReferenceDocument): Call[] {
  const content = bodyOf(placed.operation);
  const bodies = Object.values(content?.examples ?? {});
  if (bodies.length === 0) return [{ summary: undefined, text: callText(placed, content?.example, document) }];
  return bodies.map(({ summary, value }) => ({ summary, text: callText(placed, value, document) }));
}
