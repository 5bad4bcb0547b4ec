import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { JsonSchema } from '#src/reference/describe-schema.ts';

// openapi-typescript prints with TypeScript 5; the project compiles with 7, which has no such interface. oazapfts brings one.
const { resolve } = createRequire(import.meta.url);
const neighbour = pathToFileURL(resolve('oazapfts')).href;
registerHooks({
  resolve: (name, context, next) => next(name, name === 'typescript' ? { ...context, parentURL: neighbour } : context),
});
const { astToString, default: openapiTS } = await import('openapi-typescript');

interface Operation {
  security: readonly object[];
  parameters?: unknown;
  responses: Record<string, { headers?: unknown }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: Record<string, unknown>;
}

/** What the client's types need: operations that take a key, and what they answer where they do not refuse. */
function trim({ paths, webhooks, components, ...rest }: Document): Document {
  const { schemas, parameters } = components;
  const answers = ({ responses }: Operation): Operation['responses'] =>
    Object.fromEntries(
      Object.entries(responses)
        .filter(([status]) => Number(status) < 400 || status === '402')
        .map(([status, { headers, ...answer }]) => [status, answer]),
    );
  const keyed = (methods: Record<string, Operation>) =>
    Object.entries(methods)
      .filter(([, { security }]) => security.length > 0)
      .map(([method, operation]) => [method, { ...operation, responses: answers(operation) }]);
  const messages = Object.entries(webhooks).map(([type, { post }]) => [
    type,
    { post: { ...post, parameters: [], responses: {} } },
  ]);
  return {
    ...rest,
    paths: Object.fromEntries(
      Object.entries(paths)
        .map(([path, methods]) => [path, Object.fromEntries(keyed(methods))])
        .filter(([, methods]) => Object.keys(methods ?? {}).length > 0),
    ),
    webhooks: Object.fromEntries(messages),
    components: { schemas, parameters },
  };
}

// Examples stand in the reference; here they would be half of the text.
const withoutExamples = (name: string, value: unknown): unknown =>
  name === 'examples' || name === 'example' ? undefined : value;

/** The types of the API document in TypeScript. */
export async function makeSdkTypes(apiDocument: JsonSchema): Promise<string> {
  const document: Document = JSON.parse(JSON.stringify(apiDocument), withoutExamples);
  const types = astToString(await openapiTS(JSON.stringify(trim(document)), { defaultNonNullable: false }));
  return `// Made from the API document. Do not edit.\n\n${types}`;
}
