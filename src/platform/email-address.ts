export const MAX_EMAIL_LENGTH = 320;

const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN_LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
/** Top-level domains that never exist (RFC 6761): an address in them is always a mistake. */
const REFUSED_TOP_LEVEL = new Set(['invalid', 'localhost']);

/** The fault of an e-mail address in words (completions 1.4); undefined for a valid address. */
export function emailFault(address: string): string | undefined {
  if (address.length > MAX_EMAIL_LENGTH) return `must have at most ${MAX_EMAIL_LENGTH} characters`;
  const at = address.indexOf('@');
  if (at < 1 || at !== address.lastIndexOf('@')) return 'must be an e-mail address such as name@example.org';
  const local = address.slice(0, at);
  const domain = address.slice(at + 1);
  if (!LOCAL_PART.test(local)) return 'must have a plain ASCII name before the @';
  const labels = domain.split('.');
  const last = labels.at(-1) ?? '';
  if (labels.length < 2 || !labels.every((label) => DOMAIN_LABEL.test(label))) {
    return 'must have an ASCII domain with a dot after the @ (write other scripts as xn--…)';
  }
  if (/^\d+$/.test(last)) return 'must have a domain name after the @, not an IP address';
  if (REFUSED_TOP_LEVEL.has(last.toLowerCase())) return `must not end in .${last.toLowerCase()}`;
  return undefined;
}

/** The key of an address. Two addresses are the same if their keys are equal; no other code compares addresses. */
export function emailKey(address: string): string {
  return address.normalize('NFKC').toLowerCase();
}

export type MaskParts = ReturnType<typeof maskPartsOf>;

/** The only parts of an address that a mask shows: first letter of the local part, first letter and last label of the domain. */
export function maskPartsOf(address: string) {
  const [local = '', domain = ''] = address.split('@');
  return { name: local.charAt(0), domain: domain.charAt(0), ending: domain.slice(domain.lastIndexOf('.') + 1) };
}

export function writeMask({ name, domain, ending }: MaskParts): string {
  return `${name}***@${domain}***.${ending}`;
}

/** `jane@example.com` → `j***@e***.com`: enough to recognise one's own address, not enough to learn another's. */
export function maskEmail(address: string): string {
  return writeMask(maskPartsOf(address));
}
