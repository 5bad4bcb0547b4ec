import type { JsonSchema } from '#src/reference/describe-schema.ts';

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

interface Method {
  readonly noun: string;
  readonly verb: string;
  /** `post /public/voting-events/{idOrCode}/ballot/cast` */
  readonly call: string;
  readonly reasons: readonly string[];
}

/** Segments of paths that name a thing and are no plural. */
const SINGULAR: Readonly<Record<string, string>> = { ballot: 'ballots', log: 'log', me: 'me' };

const lower = (word: string): string => word.charAt(0).toLowerCase() + word.slice(1);
const wordsOf = (name: string): string[] => name.split(/(?=[A-Z])|-/).map((word) => word.toLowerCase());
const camel = (words: readonly string[]): string =>
  lower(words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''));
/** `parties` is the plural of `party`, and `businesses` of `business`. */
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/(?<=ss)es$|(?<!s)s$/, '');

/** The things of a path, outermost first: `voting-events`, `voters`. */
const thingsOf = (path: string): string[] =>
  path.split('/').filter((part) => /^[^{].*(?<!s)s$/.test(part) || Object.hasOwn(SINGULAR, part));

/**
 * The method of an operation: the noun is the first thing below the event in its path or else in its name, the verb is what
 * its name says besides. `castBallot` is `ballots.cast`, `getResultsPdf` is `results.getPdf`.
 * @param things all things of all paths
 */
function nameMethod(path: string, operationId: string, things: readonly string[]): Pick<Method, 'noun' | 'verb'> {
  const [verb = '', ...object] = wordsOf(operationId);
  const says = (thing: string): boolean =>
    wordsOf(thing).every((word) => object.map(singular).includes(singular(word)));
  const [thing = 'voting-events'] = [
    ...thingsOf(path).filter((name) => name !== 'voting-events'),
    ...things.filter((name) => name !== 'voting-events' && name !== 'log' && says(name)),
  ];
  // The account has things of the same name as an event.
  const words = object[0] === 'account' ? ['account', ...wordsOf(thing)] : wordsOf(SINGULAR[thing] ?? thing);
  const known = words.map(singular);
  const rest = object.filter((word) => !known.includes(singular(word)));
  return { noun: thing === 'voting-events' ? 'events' : camel(words), verb: camel([verb, ...rest]) };
}

function listMethods({ paths, components }: Document): Method[] {
  const things = [...new Set(Object.keys(paths).flatMap(thingsOf))];
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security.length > 0)
      .map(([method, operation]) => ({ path, method, ...operation })),
  );
  const named = operations.map(({ path, method, operationId, responses }) => ({
    ...{ ...nameMethod(path, operationId, things), operationId, call: `${method} ${path}` },
    reasons: Object.values(responses).flatMap(
      ({ $ref, ...answer }) => (components.responses[$ref?.split('/').at(-1) ?? ''] ?? answer)['x-reasons'] ?? [],
    ),
  }));
  const keyOf = ({ noun, verb }: Pick<Method, 'noun' | 'verb'>): string => `${noun}.${verb}`;
  return named.map((one) => {
    const same = named.filter((other) => keyOf(other) === keyOf(one));
    // `createVoters` beside `createVoter`.
    if (same.length === 2 && one.operationId.endsWith('s')) return { ...one, verb: `${one.verb}Many` };
    if (same.length > 1 && !same.some(({ operationId }) => operationId.endsWith('s')))
      throw new Error(`several operations are ${keyOf(one)}`);
    return one;
  });
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
