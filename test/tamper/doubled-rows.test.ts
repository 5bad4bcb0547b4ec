import { expect, test } from 'vitest';
import { sealBallots } from '#test/harness/elections.ts';
import { useForgedElections } from './forged-election.ts';

// SQL takes primary keys, unique indexes and triggers away, and puts rows twice, or into a table that inherits from the one that is read.

const { service, account, sql, openElection, member, vote, pathOf, bySql, check } = await useForgedElections();

/** The primary key of a table goes, and comes back at the end. */
async function withoutKey(table: string, work: () => Promise<void>): Promise<void> {
  const { rows } = await sql.query(
    `SELECT conname AS name, pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'p'`,
    [table],
  );
  const [{ name, text }] = rows;
  const { rows: unique } = await sql.query(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS text FROM pg_index
     WHERE indrelid = $1::regclass AND indisunique AND NOT indisprimary`,
    [table],
  );
  await sql.query(`ALTER TABLE ${table} DROP CONSTRAINT "${name}" CASCADE`);
  for (const index of unique) await sql.query(`DROP INDEX ${index.name}`);
  try {
    await work();
  } finally {
    await sql.query(`DELETE FROM ${table} a USING ${table} b WHERE a.ctid < b.ctid AND a = b`);
    await sql.query(`ALTER TABLE ${table} ADD CONSTRAINT "${name}" ${text}`);
    for (const index of unique) await sql.query(index.text);
  }
}

test('a voter who votes again, with the first participation in a table that inherits, is found', async () => {
  const election = await openElection();
  const [one, other] = [member(election, 0), member(election, 1)];
  await vote(election, other);
  await vote(election, one);
  const own = [election.event.id, one.id];
  await sql.query('CREATE TABLE participation_more () INHERITS (participation)');
  try {
    const moved = await sql.query(
      'DELETE FROM ONLY participation WHERE voting_event_id = $1 AND participant = $2 RETURNING *',
      own,
    );
    await vote(election, one);
    await sql.query('INSERT INTO participation_more SELECT (jsonb_populate_record(NULL::participation, $1)).*', [
      { ...moved.rows[0], tag: `\\x${moved.rows[0].tag.toString('hex')}` },
    ]);
    expect(await check(election)).toBe('there are more ballots than participants');
  } finally {
    await sql.query('DROP TABLE participation_more');
  }
});

test('a voter who stands on the roll twice is found', async () => {
  const election = await openElection();
  await sealBallots(service, election.event.id, 1);
  expect(await check(election)).toBeUndefined();
  await withoutKey('voters', async () => {
    await bySql(
      election,
      'INSERT INTO voters SELECT * FROM voters WHERE voting_event_id = $1 AND id = $2',
      member(election, 0).id,
    );
    expect(await check(election)).toBe(`the voter ${member(election, 0).id} stands on the roll twice`);
  });
});

test('a ballot that is sealed twice is found', async () => {
  const election = await openElection();
  for (const place of [0, 1, 2]) await vote(election, member(election, place));
  const inEvent = 'WHERE voting_event_id = $1';
  await sql.query('ALTER TABLE ballot_blocks DISABLE TRIGGER ballot_blocks_checked');
  try {
    await withoutKey('ballot_queue', async () => {
      // In the place of another one: every number agrees.
      await bySql(
        election,
        `DELETE FROM ballot_queue ${inEvent} AND id = (SELECT max(id) FROM ballot_queue ${inEvent})`,
      );
      await bySql(election, `INSERT INTO ballot_queue SELECT * FROM ballot_queue ${inEvent} LIMIT 1`);
      await sealBallots(service, election.event.id, 1);
    });
    expect(await check(election)).toBe('a ballot stands in the log twice');
  } finally {
    await sql.query('ALTER TABLE ballot_blocks ENABLE TRIGGER ballot_blocks_checked');
  }
});

test('differences of the roll show no part of a voter, of which others could be made', async () => {
  const election = await openElection();
  const path = `${pathOf(election)}/voters/${member(election, 0).id}`;
  const stored = async (weight: number): Promise<bigint> => {
    const known = (await sql.query('SELECT id FROM roll_sums')).rows.map(({ id }) => id);
    await account.change(path, { weight });
    const { rows } = await sql.query('SELECT sum FROM roll_sums WHERE id <> ALL ($1)', [known]);
    expect(rows).toHaveLength(1);
    return BigInt(`0x${rows[0].sum.toString('hex')}`);
  };
  const [up, down] = [await stored(2), await stored(1)];
  // There and back is nothing.
  expect((up + down) % (1n << 128n)).not.toBe(0n);
});
