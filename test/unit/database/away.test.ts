import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { databaseErrorCode, isAway } from '#src/database/client.ts';

const withCode = (code: string): Error => Object.assign(new Error(`a fault of ${code}`), { code });

describe('a fault says that the database is away', () => {
  test.each(['EPIPE', 'ECONNRESET', '57P01', '57P03', '08006', '25006'])('%s', (code) => {
    expect(isAway(new Error('a statement failed', { cause: withCode(code) }))).toBe(true);
  });

  test.each(['55P03', '57014', '42501', '53300', '40001'])('not %s', (code) => {
    expect(isAway(withCode(code))).toBe(false);
    expect(databaseErrorCode(withCode(code))).toBe(code);
  });

  test('by a code of PostgreSQL alone, which no name of the system is', () => {
    expect(databaseErrorCode(withCode('EPIPE'))).toBeUndefined();
    expect(
      databaseErrorCode(
        new Error('above', { cause: Object.assign(new pg.DatabaseError('x', 1, 'error'), { code: 'XX000' }) }),
      ),
    ).toBe('XX000');
  });
});
