import { expect, test } from 'vitest';
import { splitHosts } from '#src/database/writer.ts';

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
