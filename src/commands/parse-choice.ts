import { InvalidArgumentError } from 'commander';

/** Reads an option that is one of some words. */
export const parseChoice =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((known) => known === text);
    if (word === undefined) throw new InvalidArgumentError(`must be one of ${words.join(', ')}`);
    return word;
  };
