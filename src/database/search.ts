import { or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { isShortSearch } from '#src/platform/text.ts';

/**
 * The condition of a list's `search` (completions 3), in the form that `fold_text` gives both sides: anywhere in one of the columns, or below three
 * characters at the beginning of a word. Undefined where nothing is looked for.
 */
export function holdsText(search: string | undefined, ...columns: readonly SQLWrapper[]): SQL | undefined {
  if (search === undefined || search === '') return undefined;
  if (!isShortSearch(search)) {
    const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return or(...columns.map((column) => sql`fold_text(${column}) LIKE fold_text(${pattern})`));
  }
  const word = `(^|[^[:alnum:]])${search.replace(/[^\p{L}\p{N}\s]/gu, '\\$&')}`;
  return or(...columns.map((column) => sql`fold_text(${column}) ~ fold_text(${word})`));
}
