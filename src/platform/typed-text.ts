/** As it was handed out: nothing of it has to be read differently. */
const AS_GIVEN = /^[0-9A-HJKMNP-TV-Z-]*$/;

/** Crockford's reading of what people type of base32: any case, no dashes or spaces, O is 0, I and L are 1. */
export function readTyped(text: string): string {
  if (AS_GIVEN.test(text)) return text.replaceAll('-', '');
  return text.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
}
