import { expect } from 'vitest';
import type { Requests, TestAnswer } from './test-service.ts';

/** The data of an answer that must have a status. */
export function demand(answer: TestAnswer, status: number): TestAnswer['body'] {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body.data;
}

/** What a request was refused with: its status, and the reason, or the code where that says it all. */
export const refusalOf = ({ status, body }: TestAnswer): [number, string | undefined] => [
  status,
  body.error?.details?.reason ?? body.error?.code,
];

/** The status of a refused request, and the first field that it was refused for. */
export const fieldOf = ({ status, body }: TestAnswer): [number, string | undefined] => [
  status,
  body.error?.details?.field,
];

/** The fields that a request was refused for. */
export const issuesOf = ({ body }: TestAnswer): string[] =>
  body.error.details.issues.map(({ field }: { field: string }) => field);

/** One field of each row. */
export const valuesOf = (rows: TestAnswer['body'], field: string): TestAnswer['body'][] =>
  rows.map((row: Readonly<Record<string, unknown>>) => row[field]);

/** Expects that each of some bodies is refused for a field. */
export async function expectFields(
  account: Pick<Requests, 'post'>,
  target: string,
  bodies: readonly (readonly [body: unknown, field: string])[],
): Promise<void> {
  for (const [body, field] of bodies) {
    const answer = await account.post(target, body);
    const { code, details } = answer.body.error;
    expect([answer.status, code, details.field]).toEqual([422, 'validation_error', field]);
  }
}
