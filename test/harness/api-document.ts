import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import { errorCodes, errorReasons } from '#src/reference/reference-content.ts';

/** Where errors lead to: the paragraphs of the reference about codes and reasons. */
const PARAGRAPHS = new Set([...errorCodes(), ...errorReasons()].map(({ anchor }) => anchor));

/** An error leads its reader to a paragraph that is there. */
function docUrlFault(body: unknown): string | undefined {
  const { docUrl } = (body as { readonly error: { readonly docUrl?: string } }).error;
  const anchor = docUrl?.split('/errors#')[1];
  return PARAGRAPHS.has(anchor) ? undefined : `${docUrl} leads to no paragraph of the reference`;
}

type Json = Readonly<Record<string, unknown>>;

interface AnswerDocument {
  readonly content?: Readonly<Record<string, { readonly schema?: Json }>>;
  readonly headers?: Json;
  readonly 'x-codes'?: readonly string[];
  readonly 'x-reasons'?: readonly string[];
}

export interface OperationDocument {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<
        string,
        {
          readonly schema: Json;
          readonly example?: unknown;
          readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
        }
      >
    >;
  };
  readonly responses: Readonly<Record<string, AnswerDocument | { readonly $ref: string }>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationDocument>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>;
    readonly responses: Readonly<Record<string, AnswerDocument>>;
  };
  readonly webhooks: Readonly<Record<string, { readonly post: OperationDocument }>>;
}

/** An answer to be held against the document. */
export interface SentAnswer {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** In tests answers may hold nothing that the document does not name. */
function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (!isJson(value)) return value;
  const closed = Object.fromEntries(
    // Parts of an `allOf` name what is theirs: the whole holds what the others name.
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'examples' || key === 'allOf' ? item : closeObjects(item),
    ]),
  );
  const open = isJson(value['properties']) && !('additionalProperties' in value);
  return open ? { ...closed, additionalProperties: false } : closed;
}

/** The paths of requests that a path of the document stands for. */
function patternOf(template: string, document: ApiDocument): RegExp {
  const operations = Object.values(document.paths[template] ?? {});
  const parameters = operations.flatMap((operation) => operation.parameters ?? []);
  const rest = parameters.find((parameter) => parameter['x-rest-of-path'] === true)?.['name'];
  const source = template
    .replaceAll('.', '\\.')
    .replaceAll(/\{(\w+)\}/g, (_match, name: string) => (name === rest ? '.+' : '[^/]+'));
  return new RegExp(`^${source}$`);
}

/** Holds answers against the API document. Compiled schemas are kept for the whole file of tests. */
export class ApiContract {
  readonly document: ApiDocument;
  readonly #ajv: Ajv2020;
  readonly #paths: readonly { readonly template: string; readonly pattern: RegExp }[];

  constructor(document: ApiDocument) {
    this.document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    formatsModule.default(this.#ajv);
    this.#ajv.addSchema(closeObjects(document) as Json, 'api');
    // Fixed parts before parameters, as the router has it.
    this.#paths = Object.keys(document.paths)
      .sort((left, right) => (left.replaceAll('{', '\uffff') < right.replaceAll('{', '\uffff') ? -1 : 1))
      .map((template) => ({ template, pattern: patternOf(template, document) }));
  }

  /** What is wrong with an answer, or undefined. */
  faultOf(answer: SentAnswer): string | undefined {
    const template = this.templateOf(answer.target);
    const operation = template === undefined ? undefined : this.#operation(template, answer.method);
    const name = `${answer.method} ${template ?? answer.target} answered ${answer.status}`;
    if (template === undefined || operation === undefined) {
      const fault =
        this.#schemaFault(['components', 'schemas', 'ErrorEnvelope'], answer.body) ?? docUrlFault(answer.body);
      return fault === undefined ? undefined : `${name}, no route: ${fault}`;
    }
    const documented = this.#resolve(operation.responses[String(answer.status)]);
    const body = typeof answer.body === 'string' ? answer.body.slice(0, 200) : JSON.stringify(answer.body);
    if (documented === undefined) return `${name}, which its route does not declare: ${body}`;
    const fault =
      answer.status >= 400 && documented['x-codes'] !== undefined
        ? this.#refusalFault(documented, answer.body)
        : this.#bodyFault(template, answer, documented);
    return fault === undefined ? undefined : `${name}: ${fault} in ${body}`;
  }

  /** The path of the document that a request's path belongs to. */
  templateOf(target: string): string | undefined {
    const path = target.split('?')[0] ?? '';
    return this.#paths.find(({ pattern }) => pattern.test(path))?.template;
  }

  /** What is wrong with a request's body, or undefined. */
  requestFault(template: string, method: string, body: unknown): string | undefined {
    return this.#schemaFault(
      ['paths', template, method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema'],
      body,
    );
  }

  /** What is wrong with a message to a webhook endpoint, or undefined. */
  messageFault(type: string, body: unknown): string | undefined {
    return this.#schemaFault(['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'], body);
  }

  #operation(template: string, method: string): OperationDocument | undefined {
    return this.document.paths[template]?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  }

  #resolve(answer: AnswerDocument | { readonly $ref: string } | undefined): AnswerDocument | undefined {
    if (answer === undefined || !('$ref' in answer)) return answer;
    return this.document.components.responses[answer.$ref.slice(answer.$ref.lastIndexOf('/') + 1)];
  }

  #refusalFault(documented: AnswerDocument, body: unknown): string | undefined {
    const fault = this.#schemaFault(['components', 'schemas', 'ErrorEnvelope'], body);
    if (fault !== undefined) return fault;
    const misled = docUrlFault(body);
    if (misled !== undefined) return misled;
    const { code, details } = (body as { error: { code: string; details?: { reason?: string } } }).error;
    if (documented['x-codes']?.includes(code) !== true) return `the code ${code} is not declared`;
    const reason = details?.reason;
    if (reason === undefined || documented['x-reasons']?.includes(reason) === true) return undefined;
    return `the reason ${reason} is not declared: add it to the route's refusals`;
  }

  #bodyFault(template: string, answer: SentAnswer, documented: AnswerDocument): string | undefined {
    const contentTypes = Object.keys(documented.content ?? {});
    if (answer.method === 'HEAD') return undefined;
    if (contentTypes.length === 0) return answer.body === '' ? undefined : 'there should be no body';
    const sent = answer.headers.get('content-type')?.split(';')[0];
    if (sent === undefined || !contentTypes.includes(sent)) return `expected ${contentTypes.join(' or ')}, got ${sent}`;
    // A file may be JSON of a shape that is not ours.
    if (sent !== 'application/json' || documented.content?.[sent]?.schema === undefined) return undefined;
    const place = ['paths', template, answer.method.toLowerCase(), 'responses', String(answer.status)];
    return this.#schemaFault([...place, 'content', sent, 'schema'], answer.body);
  }

  #schemaFault(place: readonly string[], value: unknown): string | undefined {
    const pointer = place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate: ValidateFunction | undefined = this.#ajv.getSchema(`api#/${pointer}`);
    if (validate === undefined) return `there is no schema at ${place.join(' ')}`;
    if (validate(value) === true) return undefined;
    const faults = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    return faults.slice(0, 5).join('; ');
  }
}

/** The API document, as the service under test gives it: every answer of every test is held against it. */
export async function readContract(port: number): Promise<ApiContract> {
  const response = await fetch(`http://127.0.0.1:${port}/openapi.json`);
  return new ApiContract((await response.json()) as ApiDocument);
}
