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

/** The answers of an operation by status, without refusals. */
export const answersOf = (operation: OperationShape, document: ReferenceDocument): [string, ResponseShape][] =>
  responsesOf(operation, document).filter(
    ([status, response]) => response['x-codes'] === undefined && status !== 'default',
  );

export function refusalsIn(operation: OperationShape, document: ReferenceDocument) {
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
