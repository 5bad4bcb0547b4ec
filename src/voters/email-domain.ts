import { Resolver } from 'node:dns/promises';

export type DomainCheck = (address: string) => Promise<boolean>;

const TIMEOUT_MS = 2_000;
/** What a name server answers when it knows that there is nothing; everything else is a passing trouble, which accepts. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA']);

function codeOf(fault: unknown): string {
  return fault instanceof Error ? String(Reflect.get(fault, 'code')) : '';
}

/** Whether a domain can accept mail: an MX record that is not the null MX (RFC 7505), or an address. Temporary failures accept. */
export const canReceiveMail: DomainCheck = async (address) => {
  const domain = address.slice(address.lastIndexOf('@') + 1);
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  try {
    const records = await resolver.resolveMx(domain);
    return records.some((record) => record.exchange !== '');
  } catch (fault) {
    if (!NOTHING.has(codeOf(fault))) return true;
  }
  const looks = await Promise.allSettled([resolver.resolve4(domain), resolver.resolve6(domain)]);
  return looks.some((look) =>
    look.status === 'fulfilled' ? look.value.length > 0 : !NOTHING.has(codeOf(look.reason)),
  );
};

/** For settings without the look-up. */
export const acceptEveryDomain: DomainCheck = async () => true;
