import { expect, test } from 'vitest';
import { splitHosts, withoutPassword } from '#src/database/writer.ts';

test.each([
  ['postgres://u:p@one/d', ['postgres://u:p@one/d']],
  ['postgres://u:p@one:5432,two:5433/d?x=1', ['postgres://u:p@one:5432/d?x=1', 'postgres://u:p@two:5433/d?x=1']],
  ['postgresql://one,two/d', ['postgresql://one/d', 'postgresql://two/d']],
  // A comma is no second host where it stands in the password, even beside an @ that is not escaped.
  ['postgres://u:p,q@one/d', ['postgres://u:p,q@one/d']],
  ['postgres://u:p@ss,x@one/d', ['postgres://u:p@ss,x@one/d']],
])('%s names %j', (url, hosts) => {
  expect(splitHosts(url)).toEqual(hosts);
});

test.each([
  ['postgres://u:p@one/d', 'postgres://u@one/d', 'p'],
  ['postgres://u:p%40q@one:5432,two:5433/d?x=1', 'postgres://u@one:5432,two:5433/d?x=1', 'p@q'],
  ['postgres://u:p@ss,x@one/d', 'postgres://u@one/d', 'p@ss,x'],
  ['postgres://u:100%@one/d', 'postgres://u@one/d', '100%'],
  ['postgres://u@one/d?password=p', 'postgres://u@one/d', 'p'],
  ['postgres://one/d?user=u&password=p%26q&x=1', 'postgres://one/d?user=u&x=1', 'p&q'],
  ['postgres://u:old@one/d?password=p&x=1', 'postgres://u@one/d?x=1', 'p'],
  ['postgres://u@one/d', 'postgres://u@one/d', undefined],
  ['postgresql://one:5432,two/d', 'postgresql://one:5432,two/d', undefined],
])('%s is %s for a program whose arguments everybody can read', (url, address, password) => {
  expect(withoutPassword(url)).toEqual({ address, password });
});
