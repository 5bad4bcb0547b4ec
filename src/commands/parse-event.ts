import { InvalidArgumentError } from 'commander';

/** Whether a text can be the ID or the code of an event: then it can stand in a path. */
export const isReference = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

export function parseEvent(text: string): string {
  if (isReference(text.trim())) return text.trim();
  throw new InvalidArgumentError('must be the ID or the code of an event');
}
