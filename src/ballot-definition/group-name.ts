/** Two names that people cannot distinguish are one. */
export function nameKeyOf(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
