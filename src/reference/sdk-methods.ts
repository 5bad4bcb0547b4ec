type NamedPaths = Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;

export type SdkMethod = ReturnType<typeof sdkMethodOf>;

/** Path segments that name a resource without being a plural, and the SDK's words for them. */
const SINGULAR: Readonly<Record<string, string>> = { ballot: 'ballots', log: 'log', me: 'me' };

const wordsOf = (name: string): string[] => name.split(/(?=[A-Z])|-/).map((word) => word.toLowerCase());
const camel = (words: readonly string[]): string =>
  words.map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join('');
/** Turns `parties` into `party`, and `businesses` into `business`. */
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/(?<=ss)es$|(?<!s)s$/, '');

/** The resources of a path, outermost first: `voting-events`, `voters`. */
const thingsOf = (path: string): string[] =>
  path.split('/').filter((part) => /^[^{].*(?<!s)s$/.test(part) || Object.hasOwn(SINGULAR, part));

/**
 * The SDK method of an operation. Its noun is the first resource below the event in the path, or else the one in the operation ID; its
 * verb is the rest of the operation ID: `castBallot` is `ballots.cast`, `getResultsPdf` is `results.getPdf`.
 */
export function sdkMethodOf(path: string, operationId: string, paths: NamedPaths) {
  const [verb = '', ...object] = wordsOf(operationId);
  const says = (thing: string): boolean =>
    wordsOf(thing).every((word) => object.map(singular).includes(singular(word)));
  const [thing = 'voting-events'] = [
    ...thingsOf(path).filter((name) => name !== 'voting-events'),
    ...Object.keys(paths)
      .flatMap(thingsOf)
      .filter((name) => name !== 'voting-events' && name !== 'log' && says(name)),
  ];
  // An account and an event have resources of the same name: those of the account get a prefix.
  const words = object[0] === 'account' ? ['account', ...wordsOf(thing)] : wordsOf(SINGULAR[thing] ?? thing);
  const known = words.map(singular);
  const rest = object.filter((word) => !known.includes(singular(word)));
  // `createVoters` creates a batch, because there is a `createVoter`, too.
  const isBatch = Object.values(paths).some((methods) =>
    Object.values(methods).some((other) => `${other.operationId}s` === operationId),
  );
  return {
    noun: thing === 'voting-events' ? 'events' : camel(words),
    verb: camel([verb, ...rest, ...(isBatch ? ['many'] : [])]),
  };
}
