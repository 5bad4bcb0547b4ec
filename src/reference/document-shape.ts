import type { JsonSchema } from './describe-schema.ts';

export interface ReferenceDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationShape>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: OperationShape }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseShape>>;
    readonly parameters: Readonly<Record<string, ParameterShape>>;
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
  };
}

export interface OperationShape {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly unknown[];
  readonly 'x-required-scope'?: string | readonly string[];
  readonly parameters?: readonly (ParameterShape | Reference)[];
  readonly requestBody?: { readonly content: Readonly<Record<string, ContentShape>> };
  readonly responses: Readonly<Record<string, ResponseShape | Reference>>;
}

export interface ParameterShape {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: string | number;
}

export interface ContentShape {
  readonly schema?: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

export interface ResponseShape {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, ContentShape>>;
  readonly 'x-codes'?: readonly string[];
  readonly 'x-reasons'?: readonly string[];
}

interface Reference {
  readonly $ref: string;
}

/** The component of the document to which a `$ref` refers. */
export function follow<Shape extends object>(
  value: Shape | Reference,
  components: Readonly<Record<string, Shape>>,
): Shape | undefined {
  return '$ref' in value ? components[nameOfReference(value.$ref)] : value;
}

/** `#/components/schemas/Voter` → `Voter` */
export const nameOfReference = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);
