import type { JsonSchema } from '#src/reference/describe-schema.ts';
import { type SdkMethod, sdkMethodOf } from '#src/reference/sdk-methods.ts';

interface Answer {
  readonly 'x-reasons'?: readonly string[];
}
interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly responses: Readonly<Record<string, Answer & { readonly $ref?: string }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Answer>> };
}

interface Method extends SdkMethod {
  /** `post /public/voting-events/{idOrCode}/ballot/cast` */
  readonly call: string;
  readonly reasons: readonly string[];
}

function listMethods({ paths, components }: Document): Method[] {
  const methods = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security.length > 0)
      .map(([method, { operationId, responses }]) => ({
        ...{ ...sdkMethodOf(path, operationId, paths), call: `${method} ${path}` },
        reasons: Object.values(responses).flatMap(
          ({ $ref, ...answer }) => (components.responses[$ref?.split('/').at(-1) ?? ''] ?? answer)['x-reasons'] ?? [],
        ),
      })),
  );
  const names = methods.map(({ noun, verb }) => `${noun}.${verb}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`several operations are ${twice}`);
  return methods;
}

/** The operations by noun and verb, as a module of the SDK. */
export function makeSdkOperations(apiDocument: JsonSchema): string {
  const methods = listMethods(JSON.parse(JSON.stringify(apiDocument)) as Document);
  const nouns = [...new Set(methods.map(({ noun }) => noun))].toSorted();
  const write = (one: (method: Method) => string): string =>
    nouns
      .map(
        (noun) =>
          `  ${noun}: {\n${methods
            .filter((method) => method.noun === noun)
            .map(one)
            .join('')}  },\n`,
      )
      .join('');
  const union = (reasons: readonly string[]): string =>
    [...new Set(reasons)]
      .toSorted()
      .map((reason) => `'${reason}'`)
      .join(' | ') || 'never';
  return `// Made from the API document. Do not edit.

/** Every operation that takes a key, by noun and verb. */
export const OPERATIONS = {
${write(({ verb, call }) => `    ${verb}: '${call}',\n`)}} as const;

/** Why an operation refuses: \`Reasons['ballots']['cast']\`. A newer service may have more reasons. */
export interface Reasons {
${write(({ verb, reasons }) => `    ${verb}: ${union(reasons)};\n`)}}

export type Reason = ${union(methods.flatMap(({ reasons }) => reasons))};
`;
}
