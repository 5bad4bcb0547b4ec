import { reasonAnchor } from '#src/http/errors.ts';
import { hasReason, REFUSALS, type RefusalCase, reasonOf } from '#src/http/refusals.ts';
import { type ErrorCode, STATUS_BY_CODE } from '#src/platform/errors.ts';
import { CODE_WORDS } from './describe-operation.ts';
import type { ReferenceDocument } from './document-shape.ts';
import { slugOf } from './html.ts';
import type { PlacedOperation } from './operation-parts.ts';

const WEBHOOKS_TAG = 'Webhooks';

export const MESSAGES = {
  name: 'webhook-messages',
  title: 'Webhook messages',
  summary: 'What is sent to webhook endpoints, with the body of each type.',
} as const;

export type Section = ReturnType<typeof sectionsOf>[number];

export function sectionsOf(document: ReferenceDocument) {
  const placed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): PlacedOperation => ({ method: method.toUpperCase(), path, operation }),
    ),
  );
  return document.tags
    .filter(({ name }) => name !== WEBHOOKS_TAG)
    .map(({ name, description }) => ({
      name: slugOf(name),
      title: name,
      description,
      operations: placed.filter(({ operation }) => operation.tags.includes(name)),
    }));
}

/** A row of a table below the guide to errors. */
export interface ErrorRow {
  readonly status: number;
  /** A code or a reason. */
  readonly word: string;
  /** Inline Markdown. */
  readonly when: string;
  /** The anchor of the row; undefined if an earlier row has it already. */
  readonly anchor: string | undefined;
}

const isCode = (code: string): code is ErrorCode => code in STATUS_BY_CODE;

export const errorCodes = (): ErrorRow[] =>
  Object.entries(STATUS_BY_CODE).map(([code, status]) => ({
    status,
    word: code,
    anchor: code,
    when: isCode(code) ? CODE_WORDS[code] : '',
  }));

export function errorReasons(): ErrorRow[] {
  const named = new Set<string>();
  return Object.entries(REFUSALS)
    .filter(([name]) => hasReason(name as RefusalCase))
    .map(([name, { code, when }]) => {
      const [word, status] = [reasonOf(name as RefusalCase), STATUS_BY_CODE[code]];
      const anchor = reasonAnchor(word, status);
      // Two rules may have the same reason and status: links lead to the first row.
      const isFirst = !named.has(anchor);
      named.add(anchor);
      return { status, word, when, anchor: isFirst ? anchor : undefined };
    });
}
