import { existsSync, readFileSync } from 'node:fs';

/** Classes of differences that are counted only. A line may hold `*` for any words. */
export function readKnown(file: string | undefined): (kind: string) => boolean {
  const lines =
    file !== undefined && existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '' && !line.startsWith('//'))
      : [];
  return (kind) =>
    lines.some((line) => {
      let at = 0;
      const found = line.split('*').every((part, index) => {
        const place = kind.indexOf(part, at);
        at = place + part.length;
        return place !== -1 && (index > 0 || place === 0);
      });
      return found && (line.endsWith('*') || at === kind.length);
    });
}
