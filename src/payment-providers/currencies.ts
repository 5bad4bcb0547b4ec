/** Decimals of the currencies for which ISO 4217 defines another number than two. */
const OTHER_DECIMALS: ReadonlyMap<string, number> = new Map([
  ...currencyList('bif clp djf gnf isk jpy kmf krw pyg rwf ugx uyi vnd vuv xaf xof xpf').map(
    (one) => [one, 0] as const,
  ),
  ...currencyList('bhd iqd jod kwd lyd omr tnd').map((one) => [one, 3] as const),
  ...currencyList('clf uyw').map((one) => [one, 4] as const),
]);

function currencyList(text: string): string[] {
  return text.split(' ');
}

/** Decimals of a lowercase currency code in ISO 4217. They define the unit of every `amountMinor`. @throws RangeError */
export function currencyDecimals(currency: string): number {
  if (!/^[a-z]{3}$/.test(currency)) throw new RangeError('a currency is three lowercase letters');
  return OTHER_DECIMALS.get(currency) ?? 2;
}

/** `(1500, 'usd')` → `"15.00"`, `(1500, 'kwd')` → `"1.500"`, `(1500, 'jpy')` → `"1500"`. */
export function amountText(amountMinor: number, currency: string): string {
  if (!Number.isSafeInteger(amountMinor)) throw new RangeError('an amount is a whole number of the smallest unit');
  const decimals = currencyDecimals(currency);
  const sign = amountMinor < 0 ? '-' : '';
  const digits = String(Math.abs(amountMinor)).padStart(decimals + 1, '0');
  return decimals === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** The `amount` of a payment-required body: `(199, 'usd')` → `1.99`. Parsed from decimal text, because a division could be inexact. */
export function amountInMainUnit(amountMinor: number, currency: string): number {
  return Number(amountText(amountMinor, currency));
}

/** A provider's rules for one currency. Amounts are in the provider's own unit, which can differ from that of ISO 4217. */
interface ProviderCurrency {
  readonly decimals: number;
  /** Every amount is a multiple of this. */
  readonly step: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** A provider's rules of money. They check each new price, and convert the amounts sent to and received from the provider. */
export interface MoneyRules {
  readonly currencies: readonly string[];
  /** What is wrong with a price; null if the provider accepts it. */
  checkPrice(currency: string, amountMinor: number): string | null;
  /** A price in the provider's unit. @throws RangeError if `checkPrice` rejects the price */
  toProviderAmount(currency: string, amountMinor: number): number;
  /** A part of a price in the provider's unit; the minimum does not apply to parts. @throws RangeError if not whole in that unit */
  toProviderPart(currency: string, amountMinor: number): number;
  /**
   * Converts a provider's amount to the currency's smallest unit. Null if the amount is missing or not whole in that unit, or if the
   * currency is unknown. @param currency in upper or lower case
   */
  fromProviderAmount(currency: string | null | undefined, providerAmount: number | null | undefined): number | null;
}

/** Multiplies an amount by 10^places, because a provider's decimals can differ from ISO 4217. Null if the result is no safe integer. */
function shiftDecimals(amount: number, places: number): number | null {
  const factor = 10 ** Math.abs(places);
  if (places < 0 && amount % factor !== 0) return null;
  const shifted = places < 0 ? amount / factor : amount * factor;
  return Number.isSafeInteger(shifted) ? shifted : null;
}

/** @param table by lowercase currency code */
export function createMoneyRules(table: ReadonlyMap<string, ProviderCurrency>): MoneyRules {
  function place(currency: string): { rule: ProviderCurrency; places: number } | undefined {
    const rule = table.get(currency);
    return rule && { rule, places: rule.decimals - currencyDecimals(currency) };
  }

  function checkPrice(currency: string, amountMinor: number): string | null {
    const found = place(currency);
    if (found === undefined) return 'is not a currency that this payment provider takes';
    if (!Number.isSafeInteger(amountMinor) || amountMinor < 1) return 'must be a whole number above 0';
    const { rule, places } = found;
    const amount = shiftDecimals(amountMinor, places);
    if (amount === null || amount % rule.step !== 0) {
      return `must be a multiple of ${Math.max(1, inMinor(rule.step, places, Math.ceil))} in ${currency}`;
    }
    // The minimum is rounded up and the maximum down, so that the amount in the message is itself accepted.
    if (amount < rule.minimum) return bound('at least', inMinor(rule.minimum, places, Math.ceil), currency);
    if (amount > rule.maximum) return bound('at most', inMinor(rule.maximum, places, Math.floor), currency);
    return null;
  }

  function toProviderPart(currency: string, amountMinor: number): number {
    const found = place(currency);
    const amount = found && shiftDecimals(amountMinor, found.places);
    if (amount === undefined || amount === null) throw new RangeError(`${amountMinor} ${currency} is no amount there`);
    return amount;
  }

  return {
    currencies: [...table.keys()].sort(),
    checkPrice,
    toProviderPart,
    toProviderAmount(currency, amountMinor) {
      const fault = checkPrice(currency, amountMinor);
      if (fault !== null) throw new RangeError(`the price ${fault}`);
      return toProviderPart(currency, amountMinor);
    },
    fromProviderAmount(currency, providerAmount) {
      const found = place(currency?.toLowerCase() ?? '');
      const amount = providerAmount ?? Number.NaN;
      return found === undefined || !Number.isSafeInteger(amount) ? null : shiftDecimals(amount, -found.places);
    },
  };
}

function bound(words: string, amountMinor: number, currency: string): string {
  return `must be ${words} ${amountMinor} (${amountText(amountMinor, currency)} ${currency})`;
}

function inMinor(providerAmount: number, places: number, round: (value: number) => number): number {
  return places >= 0 ? round(providerAmount / 10 ** places) : providerAmount * 10 ** -places;
}

/** Minima that provider_a publishes, in its own unit. It sets the minimum of any other currency at checkout, by the exchange rate. */
const PROVIDER_A_MINIMA: ReadonlyMap<string, number> = new Map([
  ['aed', 200],
  ['aud', 50],
  ['bgn', 100],
  ['brl', 50],
  ['cad', 50],
  ['chf', 50],
  ['czk', 1_500],
  ['dkk', 250],
  ['eur', 50],
  ['gbp', 30],
  ['hkd', 400],
  ['huf', 17_500],
  ['inr', 50],
  ['jpy', 50],
  ['mxn', 1_000],
  ['myr', 200],
  ['nok', 300],
  ['nzd', 50],
  ['pln', 200],
  ['ron', 200],
  ['sek', 300],
  ['sgd', 50],
  ['thb', 1_000],
  ['usd', 50],
]);
const PROVIDER_A_TWO_DECIMALS = currencyList(
  'aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bmd bnd bob brl bsd bwp byn bzd cad cdf chf cny cop crc ' +
    'cve czk dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gtq gyd hkd hnl htg huf idr ils inr jmd kes kgs khr kyd ' +
    'kzt lak lbp lkr lrd lsl mad mdl mkd mmk mnt mop mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php ' +
    'pkr pln qar ron rsd rub sar sbd scr sek sgd shp sle sos srd szl thb tjs top try ttd twd tzs uah usd uyu uzs wst ' +
    'xcd xcg yer zar zmw',
);
/** Currencies without decimals at provider_a. ISO 4217 gives mga two. */
const PROVIDER_A_ZERO_DECIMALS = currencyList('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf');
/** Currencies without decimals in ISO 4217. provider_a wants two decimals for them, which must be `00`. */
const PROVIDER_A_HOLLOW_DECIMALS = currencyList('isk ugx');
/** Currencies with three decimals. provider_a requires the last decimal to be 0. */
const PROVIDER_A_THREE_DECIMALS = currencyList('bhd jod kwd omr tnd');
/** The largest amount of eight digits in the provider's unit, for every currency. */
const PROVIDER_A_MAXIMUM = 99_999_999;

function providerACurrency(currency: string, decimals: number, step: number): readonly [string, ProviderCurrency] {
  const minimum = PROVIDER_A_MINIMA.get(currency) ?? step;
  return [currency, { decimals, step, minimum, maximum: PROVIDER_A_MAXIMUM }];
}

export const PROVIDER_A_MONEY: MoneyRules = createMoneyRules(
  new Map([
    ...PROVIDER_A_TWO_DECIMALS.map((currency) => providerACurrency(currency, 2, 1)),
    ...PROVIDER_A_ZERO_DECIMALS.map((currency) => providerACurrency(currency, 0, 1)),
    ...PROVIDER_A_HOLLOW_DECIMALS.map((currency) => providerACurrency(currency, 2, 100)),
    ...PROVIDER_A_THREE_DECIMALS.map((currency) => providerACurrency(currency, 3, 10)),
  ]),
);

/** provider_b counts in hundredths, even for currencies without decimals. Without a published minimum, one main unit is the minimum. */
const PROVIDER_B_MINIMA: readonly (readonly [string, number])[] = [
  ['egp', 100],
  ['ghs', 10],
  ['kes', 300],
  ['ngn', 5_000],
  ['rwf', 100],
  ['usd', 200],
  ['xof', 100],
  ['zar', 100],
];
/** provider_b publishes no maximum. This limit, ten million main units, catches typing errors in prices. */
const PROVIDER_B_MAXIMUM = 1_000_000_000;

export const PROVIDER_B_MONEY: MoneyRules = createMoneyRules(
  new Map(
    PROVIDER_B_MINIMA.map(([currency, minimum]) => {
      const step = currencyDecimals(currency) === 0 ? 100 : 1;
      return [currency, { decimals: 2, step, minimum, maximum: PROVIDER_B_MAXIMUM }];
    }),
  ),
);
