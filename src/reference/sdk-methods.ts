type NamedPaths = Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;

export interface SdkMethod {
  readonly noun: string;
  readonly verb: string;
}

/** Segments of paths that name a thing and are no plural. */
const SINGULAR: Readonly<Record<string, string>> = { ballot: 'ballots', log: 'log', me: 'me' };

const wordsOf = (name: string): string[] => name.split(/(?=[A-Z])|-/).map((word) => word.toLowerCase());
const camel = (words: readonly string[]): string =>
  words.map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join('');
/** `parties` is the plural of `party`, and `businesses` of `business`. */
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/(?<=ss)es$|(?<!s)s$/, '');

/** The things of a path, outermost first: `voting-events`, `voters`. */
const thingsOf = (path: string): string[] =>
  path.split('/').filter((part) => /^[^{].*(?<!s)s$/.test(part) || Object.hasOwn(SINGULAR, part));

/**
 * The method of an operation in the SDK: the noun is the first thing below the event in its path or else in its name, the verb
 * is what its name says besides. `castBallot` is `ballots.cast`, `getResultsPdf` is `results.getPdf`.
 */
export function sdkMethodOf(path: string, operationId: string, paths: NamedPaths): SdkMethod {
  const [verb = '', ...object] = wordsOf(operationId);
  const says = (thing: string): boolean =>
    wordsOf(thing).every((word) => object.map(singular).includes(singular(word)));
  const [thing = 'voting-events'] = [
    ...thingsOf(path).filter((name) => name !== 'voting-events'),
    ...Object.keys(paths)
      .flatMap(thingsOf)
      .filter((name) => name !== 'voting-events' && name !== 'log' && says(name)),
  ];
  // The account has things of the same name as an event.
  const words = object[0] === 'account' ? ['account', ...wordsOf(thing)] : wordsOf(SINGULAR[thing] ?? thing);
  const known = words.map(singular);
  const rest = object.filter((word) => !known.includes(singular(word)));
  // `createVoters` beside `createVoter`.
  const isBatch = Object.values(paths).some((methods) =>
    Object.values(methods).some((other) => `${other.operationId}s` === operationId),
  );
  return {
    noun: thing === 'voting-events' ? 'events' : camel(words),
    verb: camel([verb, ...rest, ...(isBatch ? ['many'] : [])]),
  };
}
