import { readFileSync } from 'node:fs';
import { code as findCurrency } from 'currency-codes';
import { describe, expect, test } from 'vitest';
import {
  amountInMainUnit,
  amountText,
  currencyDecimals,
  PROVIDER_A_MONEY,
  PROVIDER_B_MONEY,
} from '#src/payment-providers/currencies.ts';

describe('money', () => {
  test('has the decimals of ISO 4217 for every currency that a provider takes', () => {
    let compared = 0;
    for (const currency of new Set([...PROVIDER_A_MONEY.currencies, ...PROVIDER_B_MONEY.currencies])) {
      // The list of the comparison ends before the newest currencies.
      const known = findCurrency(currency);
      if (known === undefined) continue;
      compared += 1;
      expect([currency, currencyDecimals(currency)]).toEqual([currency, known.digits]);
    }
    expect(compared).toBeGreaterThan(100);
  });

  test('is shown by the example page as it is charged', () => {
    const page = readFileSync(new URL('../../../examples/voting-page/page.js', import.meta.url), 'utf8');
    const [text = ''] = /^const WHOLE[\s\S]*?^\}/m.exec(page) ?? [];
    const money = new Function(`${text} return money;`)() as (amountMinor: number, currency: string) => string;
    for (const currency of new Set([...PROVIDER_A_MONEY.currencies, ...PROVIDER_B_MONEY.currencies])) {
      const shown = Number(/\d[\d.,]*/.exec(money(123_000, currency))?.[0].replaceAll(',', ''));
      expect([currency, shown]).toEqual([currency, amountInMainUnit(123_000, currency)]);
    }
  });

  test.each([
    [500, 'usd', '5.00', 5],
    [199, 'usd', '1.99', 1.99],
    [1, 'eur', '0.01', 0.01],
    [500, 'jpy', '500', 500],
    [1_500, 'kwd', '1.500', 1.5],
    [99_999_999, 'usd', '999999.99', 999_999.99],
  ])('%i of the smallest unit of %s is %s', (minor, currency, text, amount) => {
    expect(amountText(minor, currency)).toBe(text);
    expect(amountInMainUnit(minor, currency)).toBe(amount);
  });

  test('shows every amount to the last unit, which dividing would not', () => {
    for (let minor = 1; minor <= 20_000; minor += 1) {
      expect(String(amountInMainUnit(minor, 'usd'))).toBe(
        String(Number(`${Math.floor(minor / 100)}.${String(minor % 100).padStart(2, '0')}`)),
      );
    }
  });

  test('is counted as each provider counts it, and comes back the same', () => {
    for (const money of [PROVIDER_A_MONEY, PROVIDER_B_MONEY]) {
      for (const currency of money.currencies) {
        const decimals = currencyDecimals(currency);
        const price = 10 ** (decimals + 4);
        if (money.checkPrice(currency, price) !== null) continue;
        expect([currency, money.fromProviderAmount(currency, money.toProviderAmount(currency, price))]).toEqual([
          currency,
          price,
        ]);
      }
    }
  });

  test('of provider_a: isk and ugx are sent with two decimals, three-decimal amounts end in 0', () => {
    expect(PROVIDER_A_MONEY.toProviderAmount('isk', 500)).toBe(50_000);
    expect(PROVIDER_A_MONEY.toProviderAmount('ugx', 5_000)).toBe(500_000);
    expect(PROVIDER_A_MONEY.checkPrice('kwd', 1_505)).not.toBeNull();
    expect(PROVIDER_A_MONEY.toProviderAmount('kwd', 1_500)).toBe(1_500);
    expect(PROVIDER_A_MONEY.toProviderAmount('jpy', 500)).toBe(500);
  });

  test('refuses prices below a minimum, above a maximum, in a currency that nobody takes, or not whole', () => {
    expect(PROVIDER_A_MONEY.checkPrice('usd', 49)).toContain('at least');
    expect(PROVIDER_A_MONEY.checkPrice('usd', 50)).toBeNull();
    expect(PROVIDER_A_MONEY.checkPrice('usd', 99_999_999_999)).toContain('at most');
    expect(PROVIDER_A_MONEY.checkPrice('xxx', 500)).not.toBeNull();
    expect(PROVIDER_B_MONEY.checkPrice('eur', 500)).not.toBeNull();
    expect(PROVIDER_A_MONEY.checkPrice('usd', 1.5)).not.toBeNull();
  });
});
